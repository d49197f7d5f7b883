"""What the tests do on the sound code."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .draw import ROOT, SOURCE, VECTORS, Mutant
from .functions import Calls, file_of_test, function_around, module_name
from .loading import imported
from .session import Session

PLAIN_TEST = 1.5
"""Seconds of computing that a test may take uncompiled; it is left out if it takes longer."""


@dataclass(frozen=True)
class SoundRun:
    """What the tests do on the sound code, compiled or not: the seconds of each, and the functions it calls."""

    seconds: dict[str, float]
    calls: dict[str, list[str]]
    plain: bool = False
    budget: float = float("inf")

    def reaches(self, mutant: Mutant) -> list[str]:
        """The tests that call the changed function; outside of functions, uncompiled, any function of its file."""
        function = function_around(mutant, self.plain)
        if self.plain and not function:
            return [test for test in self.seconds if any(_file_of(one) == mutant.file for one in self.calls[test])]
        return [test for test in self.seconds if function in self.calls.get(test, [])]

    def order(self, mutant: Mutant) -> dict[str, int]:
        """The tests to run on a mutant, with their places: the quick first, and first those that import the module."""
        tests = self.reaches(mutant) or ([] if self.plain else list(self.seconds))
        module = module_name(mutant.file)
        tests.sort(key=lambda test: (module not in imported(ROOT / file_of_test(test)), self.seconds[test]))
        spent, order = 0.0, {}
        for test in tests:
            if spent + self.seconds[test] <= self.budget:
                spent += self.seconds[test]
                order[test] = len(order)
        return order


def _file_of(function: str) -> str:
    return function.split(":", maxsplit=1)[0]


def _too_slow(*_: object) -> None:
    raise RuntimeError("too slow uncompiled")


def sound_run(files: Sequence[Path], plain: bool, session: Session) -> dict[str, Any]:
    """In a fork with the tests: what they do on the sound code; uncompiled, slow tests fail."""
    calls = Calls()
    calls.watch([file for file in files if not plain or file != SOURCE / VECTORS], plain)
    if plain:
        session.limits = {"": PLAIN_TEST}
        signal.signal(signal.SIGVTALRM, _too_slow)
    next(iter(session.items.values())).config.pluginmanager.register(calls)
    session.test(session.items, go_on=plain)
    passed = {test: seconds for test, seconds in session.seconds.items() if test not in session.failed}
    return {"failed": session.failed, "seconds": passed, "calls": calls.calls()}


def fingerprint(tests: Iterable[Path]) -> str:
    """Of all modules of the package and some tests; what they do on the sound code is kept until one changes."""
    found = hashlib.sha256()
    for file in [*sorted(SOURCE.rglob("*.py")), *tests]:
        found.update(file.read_bytes())
    return found.hexdigest()[:12]
