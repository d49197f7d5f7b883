"""Ctrl-C and SIGTERM end a run within five seconds, with exit code 5, whatever the run is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import duckdb
import numpy as np
import pytest

import cvpl
from benchmark_folders import CONFIG, two_data_sets
from cvpl.cli.main import run
from cvpl.interruption import is_interruption
from cvpl.operators.similarity import AgreementScorer
from cvpl.operators.similarity.agreement import AgreementWeights
from cvpl.search.blocks import Partition
from cvpl.search.machine import Budget
from cvpl.search.rare_values import log_means as densities
from cvpl.workflows.benchmark import benchmark as benchmarking

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as on a POSIX system")

NOTHING = "Interrupted; no result was written. Run the same command to start again.\n"
BUSY = """
import sys, time
from importlib import import_module
from cvpl.__main__ import main
from cvpl.cli import stopping
from cvpl.files import private_folder

stopping._GRACE = 0.3

def compiled_code():
    '''A long call that no signal interrupts: the join of a thread that is itself in one.'''
    import threading
    thread = threading.Thread(target=time.sleep, args=(60,))
    thread.start()
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt:
            pass

def working(*_, **__):
    with private_folder() as folder:
        (folder / "cells.csv").write_text("cells")
        print("ready", flush=True)
        compiled_code()

import_module("cvpl.workflows.audit").audit = working
main()
"""


def ended(call, place, number, *, group=False):
    """The exit code, what was said and the seconds of a process that gets a signal once it is ready."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, *call],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(place)},
    ) as process:
        assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        (os.killpg if group else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=30)
        return process.returncode, said, time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_stops_also_while_compiled_code_runs_and_leaves_no_temporary_file(tmp_path, number):
    config = tmp_path / "audit.yaml"
    config.write_text("columns: {}\n")
    place = tmp_path / "temporary"
    place.mkdir()
    code, said, seconds = ended(["-c", BUSY, "audit", "a.csv", "b.csv", "-c", str(config)], place, number)
    assert (code, said) == (5, NOTHING)
    assert seconds < 3
    assert not list(place.iterdir())


EARLY = """
import sys
from importlib import abc
from cvpl.__main__ import main

class Slow(abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "cvpl.cli.main":
            import time
            print("ready", flush=True)
            time.sleep(20)

sys.meta_path.insert(0, Slow())
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_program_is_loaded_is_an_interruption(tmp_path, number):
    assert ended(["-c", EARLY], tmp_path, number)[:2] == (5, "Interrupted; nothing was done.\n")


LOADING = """
import os, sys, time
if __name__ == "__mp_main__":
    os.write(1, b"ready\\n")  # in one piece, since two workers say it
    time.sleep(0.7)
    sys.exit()
from dataclasses import dataclass
from pathlib import Path
from cvpl_paper.journal import Journal
from cvpl_paper.running import run_all

@dataclass(frozen=True)
class Cell:
    key: str
    def run(self):
        return {}

if __name__ == "__main__":
    try:
        run_all([Cell("a"), Cell("b")], Journal(Path(sys.argv[1]), {}), workers=2)
    except KeyboardInterrupt:
        sys.exit(5)
"""


def test_workers_that_are_still_loading_say_nothing_of_an_interruption(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOADING)
    code, said, _ = ended([str(script), str(tmp_path)], tmp_path, signal.SIGINT, group=True)
    assert code == 5
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return two_data_sets(tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second"))[0]


@pytest.mark.parametrize(
    "error", [duckdb.InterruptException("Interrupted!"), RuntimeError("Query interrupted")], ids=["one", "other"]
)
def test_an_interruption_inside_duckdb_ends_a_benchmark(folder, error, monkeypatch):
    """It is no failure of one release."""

    def interrupted(*_, **__):
        raise error

    monkeypatch.setattr(benchmarking, "audit", interrupted)
    assert run(["benchmark", str(folder)]) == 5


def test_an_interruption_of_a_mechanism_is_no_failure_of_it(folder):
    def mechanism(strength):
        raise duckdb.InterruptException("Interrupted!")

    with pytest.raises(KeyboardInterrupt):
        cvpl.surface(folder / "original.csv", mechanism, [1, 2], CONFIG)


def test_an_error_on_the_way_out_is_an_interruption():
    error = ValueError("a cell")
    error.__context__ = KeyboardInterrupt()
    assert is_interruption(error) and not is_interruption(ValueError("a cell"))


def test_work_that_has_not_begun_is_dropped(monkeypatch):
    """Of many pieces of work, an interruption waits for those that run."""
    begun = []

    def slow(*_):
        begun.append(1)
        time.sleep(0.05)
        raise KeyboardInterrupt

    codes, zero = np.zeros((200, 1), dtype=np.int32), np.zeros(1, dtype=np.int32)
    weights = AgreementWeights(np.array([0, 1]), zero, zero, np.ones(1), np.zeros(1))
    everybody = np.zeros(200, dtype=np.int64)
    monkeypatch.setattr(densities, "log_sums_in_tiles", slow)
    monkeypatch.setattr(densities, "QUERIES_AT_ONCE", 1)
    with pytest.raises(KeyboardInterrupt):
        densities.log_means(AgreementScorer(codes, codes, weights), Partition(everybody, everybody), Budget(threads=2))
    assert len(begun) < 10
