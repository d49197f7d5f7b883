"""Runs that are killed: the target is absent, old or complete, and the next run leaves nothing of the dead one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from cvpl.workflows.made_tables import CONFIG
from examples import TIMES
from writing_commands import NAMES, SOME

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are forked and killed as on a POSIX system")

KILLS = 200 if TIMES > 1 else 2
"""So many kills of each command; 200 in a full run."""

KILLER = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
from writing_commands import call, make_light, make_tables, state
from cvpl.cli.main import run

tables, folder, place = (Path(item) for item in sys.argv[1:])
make_light()

def start(words):
    child = os.fork()
    if not child:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os._exit(run(words))
    return child

def ended(words):
    return os.waitstatus_to_exitcode(os.waitpid(start(words), 0)[1])

def large(name, out):
    '''A call on tables that take a while to write.'''
    people, into = str(tables / "people.csv"), ["--out", str(out), "--overwrite"]
    return {
        "split": ["split", people, *into],
        "protect": ["protect", people, "--config", str(tables / "people.yaml"), *into,
                    "--method", "mondrian", "--strength", "10"],
        "simulate": ["simulate", str(out / "new.csv"), "--records", "60000", "--overwrite"],
    }.get(name)

def killed(name, kills, seed):
    '''What is in the folder after a whole run, after each kill, and after a last run that nobody disturbs.'''
    out = folder / name.replace(" ", "_")
    out.mkdir()
    words = large(name, out) or call(name, tables, out)
    rng, states = random.Random(seed), []
    begin = time.perf_counter()
    codes = [ended(words)]
    lasts = time.perf_counter() - begin
    states.append(state(out))
    for number in range(kills):
        if number % 2:
            for item in out.iterdir():
                if item.is_file():
                    item.unlink()
                elif number % 4 == 3:
                    shutil.rmtree(item)
        child = start(words)
        time.sleep(lasts * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        states.append(state(out))
    codes.append(ended(words))
    states.append(state(out))
    left = [item.name for item in out.rglob(".cvpl-*")] + os.listdir(place)
    return codes, states, left

make_tables(tables)
held = ["--config", f"{tables}/audit.yaml", "--control", f"{tables}/control.csv"]
audited = ["audit", f"{tables}/original.csv", f"{tables}/low.csv", *held, "--out", str(folder / "audited")]
assert ended(audited) == 0
shutil.copy(folder / "audited" / "result.json", tables / "result.json")
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(killed(*json.loads(line))), flush=True)
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table and its configuration."""
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(5)
    lines = [f"{row},{rng.integers(18, 90)},north/{rng.integers(9)},{rng.integers(2)}" for row in range(30_000)]
    (folder / "people.csv").write_text("person_id,age,region,gender\n" + "\n".join(lines) + "\n")
    columns = [line for line in CONFIG.splitlines() if line.split(":")[0].strip() in ("person_id", "age", "region")]
    (folder / "people.yaml").write_text("\n".join(["columns:", *columns, "attacker: paper", ""]))
    return folder


@pytest.fixture(scope="module")
def kill(people, tmp_path_factory):
    """Runs and kills a command in copies of a process that has loaded all of them."""
    folder, place = tmp_path_factory.mktemp("killed"), tmp_path_factory.mktemp("temporary")
    names = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", KILLER, people, folder, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": names},
    ) as server:
        assert server.stdout.readline() == "ready\n"

        def killed(name, kills, seed):
            server.stdin.write(json.dumps([name, kills, seed]) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield killed
        server.stdin.close()


@pytest.mark.parametrize(("number", "name"), [(at, name) for at, name in enumerate(NAMES) if TIMES > 1 or name in SOME])
def test_a_killed_run_leaves_whole_files_and_the_next_one_nothing_else(kill, number, name):
    codes, states, left = kill(name, KILLS, number)
    assert codes == [0, 0] and not left

    def outputs(state):
        """The files in place; a journal grows, and durations are its own."""
        return {file: digest for file, digest in state.items() if ".cvpl-" not in file and not file.endswith(".jsonl")}

    whole = outputs(states[0])
    assert whole and outputs(states[-1]) == whole
    assert states[-1].keys() == states[0].keys()
    assert states[-1].get("journal.jsonl") == states[0].get("journal.jsonl")
    for state in states:
        assert outputs(state).items() <= whole.items()


WAITING = """
import signal, sys, time
from importlib import import_module
from cvpl.cli.main import main
from cvpl.files import private_folder

# As in a terminal, also if the tests run under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

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

    call = [
        sys.executable,
        "-c",
        WAITING,
        "audit",
        *[str(people / "people.csv")] * 2,
        "-c",
        str(people / "people.yaml"),
    ]
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
