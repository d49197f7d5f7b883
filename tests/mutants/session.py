"""Tests that are loaded once, and run in forks."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import Phase

from .draw import ROOT, SOURCE

_PHASES = ("explicit", "reuse", "generate")
"""What hypothesis does: it does not look for a simpler example once a test has failed."""


class Session:
    """A plugin of pytest that runs tests in forks, times them, and remembers those that failed."""

    def __init__(self, work: Callable[[Session], None]) -> None:
        self.work = work
        self.items: dict[str, Any] = {}
        self.limits: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of the tests: what is to be done with them."""
        self.items = {item.nodeid: item for item in session.items}
        self.work(self)
        return True

    def test(self, tests: Iterable[str], go_on: bool = False) -> None:
        """Run tests in their order, until one fails."""
        items = [self.items[test] for test in tests if test in self.items]
        for at, item in enumerate(items):
            after = items[at + 1] if at + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.failed and not go_on:
                return

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """A test that takes too long ends the process, or calls what was set to be called instead."""
        signal.setitimer(signal.ITIMER_VIRTUAL, self.limits.get(item.nodeid, self.limits.get("", 0)))
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid} (does not load)")


def collected(files: Iterable[Path], plain: bool, scratch: str, work: Callable[[Session], None]) -> int:
    """Load tests, and do something with them."""
    hypothesis.settings.register_profile("mutants", phases=[phase for phase in Phase if phase.name in _PHASES])
    hypothesis.settings.load_profile("mutants")
    folders = [str(folder) for folder in (SOURCE, ROOT / "tests", ROOT / "tests" / "support")]
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join(folders)
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.chdir(ROOT)
    options = ["-q", "-s", "--assert=plain", f"--basetemp={scratch}/tests"]
    options += ["-p", "no:cacheprovider", "-p", "no:randomly"]
    options += ["-W", "ignore::RuntimeWarning"] if plain else []  # integers overflow silently if compiled
    session = Session(work)
    return int(pytest.main([*options, *(str(file) for file in files if file.exists())], plugins=[session]))
