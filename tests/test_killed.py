"""Runs that are killed: the target is absent, old or complete, and the next run leaves nothing of the dead one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from cvpl.workflows.simulate import CONFIG
from examples import examples

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are forked and killed as on a POSIX system")

KILLS = examples(10)
"""So many kills in all; a full run has 200."""

KILLER = """
import hashlib, json, os, random, signal, sys, time
from pathlib import Path
import duckdb, numpy
from cvpl.cli.main import run
import cvpl.workflows.protect, cvpl.workflows.split, cvpl.reports.releases, cvpl.laboratory.mechanisms

def start(call):
    child = os.fork()
    if not child:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os._exit(run(call))
    return child

def state(folder):
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(Path(folder).rglob("*")) if file.is_file()
    }

call, folder, place, kills, seed = json.loads(sys.argv[1])
rng, states = random.Random(seed), []
begin = time.perf_counter()
codes = [os.waitpid(start(call), 0)[1]]
lasts = time.perf_counter() - begin
states.append(state(folder))
for number in range(kills):
    if number % 2:
        for file in Path(folder).iterdir():
            if file.is_file():
                file.unlink()
    child = start(call)
    time.sleep(lasts * rng.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    states.append(state(folder))
codes.append(os.waitpid(start(call), 0)[1])
states.append(state(folder))
print(json.dumps([codes, states, os.listdir(place)]))
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table and its configuration."""
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(5)
    lines = [f"{row},{rng.integers(18, 90)},north/{rng.integers(9)},{rng.integers(2)}" for row in range(30_000)]
    (folder / "people.csv").write_text("person_id,age,region,gender\n" + "\n".join(lines) + "\n")
    columns = [line for line in CONFIG.splitlines() if line.split(":")[0].strip() in ("person_id", "age", "region")]
    (folder / "audit.yaml").write_text("\n".join(["columns:", *columns, "attacker: paper", ""]))
    return folder


CALLS = {
    "split": lambda people, out: ["split", f"{people}/people.csv", "--out", str(out), "--overwrite"],
    "protect": lambda people, out: [
        *("protect", f"{people}/people.csv", "--config", f"{people}/audit.yaml", "--out", str(out)),
        *("--method", "mondrian", "--strength", "10", "--overwrite"),
    ],
    "simulate": lambda people, out: ["simulate", str(out / "new.csv"), "--records", "60000", "--overwrite"],
}


@pytest.mark.parametrize(("number", "name"), list(enumerate(CALLS)))
def test_a_killed_run_leaves_whole_files_and_the_next_one_nothing_else(people, tmp_path, number, name):
    out, place = tmp_path / "out", tmp_path / "temporary"
    out.mkdir()
    place.mkdir()
    told = json.dumps([CALLS[name](people, out), str(out), str(place), -(-KILLS // len(CALLS)), number])
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", KILLER, told],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(place)},
    )
    codes, states, left = json.loads(done.stdout)
    assert codes == [0, 0] and not left
    whole = states[0]
    assert states[-1] == whole
    for state in states:
        in_place = {file: digest for file, digest in state.items() if "/" not in file}
        assert in_place.items() <= whole.items()


WAITING = """
import sys, time
from importlib import import_module
from cvpl.cli.main import main
from cvpl.files import private_folder

def waiting(*_, **__):
    with private_folder() as folder:
        (folder / "cells.csv").write_text("cells")
        print("ready", flush=True)
        time.sleep(60)

import_module("cvpl.workflows.audit").audit = waiting
main()
"""


@pytest.mark.parametrize(("signal", "times"), [("SIGTERM", 2), ("SIGHUP", 1)])
def test_a_signal_that_ends_a_run_is_an_interruption(people, tmp_path, signal, times):
    import signal as signals  # noqa: PLC0415 - the name is the parameter's

    call = [sys.executable, "-c", WAITING, "audit", *[str(people / "people.csv")] * 2, "-c", str(people / "audit.yaml")]
    with subprocess.Popen(  # noqa: S603 - our own program
        call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as process:
        assert process.stdout.readline() == "ready\n"
        assert len(list(tmp_path.rglob("cells.csv"))) == 1
        for _ in range(times):
            process.send_signal(getattr(signals, signal))
            time.sleep(0.002)
        _, message = process.communicate(timeout=30)
    assert (process.returncode, message) == (
        5,
        "Interrupted; no result was written. Run the same command to start again.\n",
    )
    assert not list(tmp_path.iterdir())
