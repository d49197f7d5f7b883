"""The tests of a package, run on some of its mutants."""

from __future__ import annotations

import ast
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba

from .draw import ROOT, SOURCE, Mutant, files_of
from .forks import fork
from .functions import Loaded, file_of_test, module_name, runs_in_python
from .loading import OneModule, forget, uncompile
from .places import changed
from .session import Session, collected
from .sound import SoundRun, fingerprint, sound_run
from .uncompiled import widened

PATIENCE = 60
"""Seconds by the clock, besides ten times those of its tests on the sound code, until a mutant counts as noticed: it
hangs, as threads do that wait for each other."""
SOUND_PATIENCE = 12_000
"""The same for the tests on the sound code."""
ONE_TEST = 30
"""Seconds of computing that a test may take on a mutant, besides five times those on the sound code."""


def run(package: str, wanted: Sequence[Mutant], tests: Sequence[Path], plain: bool, budget: float, out: Path) -> None:
    """Run the tests of a package on some of its mutants, uncompiled or not."""

    def write(line: str) -> None:
        with out.open("a", encoding="utf-8") as file:
            file.write(line)

    def serve(session: Session) -> None:
        told["error"] = "a run on a mutant failed"
        kept = out.with_suffix(f".{package}.{fingerprint(tests)}{'.plain' * plain}.json")
        if not kept.exists():
            done = fork(lambda _: sound_run(files_of(package), plain, session), SOUND_PATIENCE)
            kept.write_text(json.dumps(done), encoding="utf-8")
        told.update(json.loads(kept.read_text(encoding="utf-8")))
        if told["failed"] and not plain:
            told["error"] = f"{package}: a test fails without a mutant: {told['failed'][0]}"
            return
        sound = SoundRun(told["seconds"], told["calls"], plain, budget)
        for file in {mutant.file for mutant in wanted}:  # some are loaded only when a test needs them
            importlib.import_module(module_name(file))
        for mutant in wanted:
            if runs_in_python(mutant, plain):
                try:
                    write(_line(mutant, sound, lambda _, mutant=mutant: _changed_in_place(session, mutant, sound)))
                except LookupError:
                    told["left"].append(mutant.key)
        del told["error"]

    def with_tests(scratch: str) -> dict[str, Any]:
        if plain:
            uncompile()
        collected(tests, plain, scratch, serve)
        return told

    told: dict[str, Any] = {"left": [], "error": "the tests did not load", "kind": ""}
    told = fork(with_tests, 1e6)
    sound = SoundRun(told["seconds"], told["calls"], plain, budget)
    for mutant in wanted:
        if not runs_in_python(mutant, plain) or mutant.key in told["left"]:
            write(_line(mutant, sound, lambda scratch, mutant=mutant: _loaded_again(mutant, sound, scratch)))


def _judged(session: Session, mutant: Mutant, sound: SoundRun) -> dict[str, Any]:
    """In a fork with the tests, whose package has a fault: whether they notice it."""
    order = sound.order(mutant)
    session.limits = {test: ONE_TEST + 5 * sound.seconds[test] for test in order}
    session.test(order)
    return {"dead": bool(session.failed), "by": session.failed[0] if session.failed else "", "tests": len(order)}


def _changed_in_place(session: Session, mutant: Mutant, sound: SoundRun) -> dict[str, Any]:
    """In a fork with the tests: change the function, and run them."""
    file = SOURCE / mutant.file
    tree = changed(ast.parse(file.read_text(encoding="utf-8")), mutant.place)
    if not Loaded().change(file, widened(tree) if sound.plain else tree):
        raise LookupError("no loaded function has the fault")
    return _judged(session, mutant, sound)


def _loaded_again(mutant: Mutant, sound: SoundRun, scratch: str) -> dict[str, Any]:
    """In a fork without the tests: load the module with its fault, load the tests, and run them."""
    file = SOURCE / mutant.file
    source = file.read_text(encoding="utf-8")
    tree = changed(ast.parse(source), mutant.place)
    if sound.plain:
        uncompile()
        tree = widened(tree)
    elif "njit" in source:  # functions that call a compiled one contain its code
        os.environ["NUMBA_CACHE_DIR"] = numba.core.config.CACHE_DIR = scratch
    forget([file])
    sys.meta_path.insert(0, OneModule(module_name(mutant.file), file, tree))
    told = {"dead": True, "by": "does not load", "tests": 0}
    files = dict.fromkeys(ROOT / file_of_test(test) for test in sound.order(mutant))
    collected(files, sound.plain, scratch, lambda session: told.update(_judged(session, mutant, sound)))
    return told


def _line(mutant: Mutant, sound: SoundRun, work: Callable[[str], dict[str, Any]]) -> str:
    """A line of the output: whether the tests notice a mutant, by which test, and after how many seconds."""
    begin = time.monotonic()
    told = fork(work, PATIENCE + 10 * sum(sound.seconds[test] for test in sound.order(mutant)))
    about = {name: getattr(mutant, name) for name in ("package", "file", "place", "line", "what", "source")}
    return json.dumps(about | told | {"plain": sound.plain, "seconds": round(time.monotonic() - begin, 1)}) + "\n"
