"""Writes that fail: every call of the system that changes an output fails in turn, for want of space or for a fault.

A small library is preloaded into a process, so that the writes of Python, DuckDB and everything else are met alike. The
process loads all commands once, and a copy of it runs each call.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples import TIMES
from writing_commands import NAMES, SOME

COMPILER = shutil.which("cc")
SOURCE = Path(__file__).parents[1] / "fixtures" / "failing_writes.c"

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or COMPILER is None, reason="a C compiler preloads a library on Linux"
)

SERVER = """
import ctypes, json, os, shutil, sys, tempfile
from pathlib import Path
from writing_commands import call, make_light, make_tables, state
from cvpl.cli.main import run

library, tables, place = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
make_light()

def copied(work):
    '''What a copy of this process returns, its exit code and what it says.'''
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as told:
        child = os.fork()
        if not child:
            code = 99
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(said.fileno(), 2)
                code = work()
                told.write(str(library.counted()))
                told.flush()
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        told.seek(0)
        return code, said.read(), told.read()

def tried(name, old, at, error):
    '''A call whose write number `at` fails, in a folder that is empty or holds old files.'''
    out = place / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for file, content in old.items():
        (out / file).write_bytes(content.encode("latin-1"))
    def work():
        library.watch(str(out).encode(), at, error)
        return run(call(name, tables, out))
    code, said, count = copied(work)
    litter = [file.name for file in out.rglob(".cvpl-*")]
    return [code, said, int(count or 0), state(out), litter]

make_tables(tables)
held = ["--config", f"{tables}/audit.yaml", "--control", f"{tables}/control.csv"]
audited = ["audit", f"{tables}/original.csv", f"{tables}/low.csv", *held, "--out", str(place / "audited")]
assert copied(lambda: run(audited))[0] == 0
shutil.copy(place / "audited" / "result.json", tables / "result.json")
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(tried(*json.loads(line))), flush=True)
"""


@pytest.fixture(scope="module")
def attempt(tmp_path_factory):
    """Runs a call, with the number of the write that fails (0 for none) and how it fails."""
    folder = tmp_path_factory.mktemp("writes")
    library, tables, temporary = folder / "failing.so", folder / "tables", folder / "temporary"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)  # noqa: S603
    for item in (tables, temporary):
        item.mkdir()
    names = os.pathsep.join(filter(None, map(str, sys.path)))
    told = {**os.environ, "LD_PRELOAD": str(library), "TMPDIR": str(temporary), "PYTHONPATH": names}
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", SERVER, library, tables, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=told,
    ) as server:
        assert server.stdout.readline() == "ready\n"

        def asked(name, old, at=0, error=0):
            server.stdin.write(json.dumps([name, old, at, error]) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield asked
        server.stdin.close()


def older(name, files):
    """An old set of these files, where a command replaces one."""
    if name in ("demo", "reproduce"):  # a demo replaces only its own files, and a journal is no output
        return {}
    return {file: "old" for file in files if "/" not in file}


@pytest.mark.parametrize(("number", "name"), [(at, name) for at, name in enumerate(NAMES) if TIMES > 1 or name in SOME])
def test_a_write_that_fails_leaves_files_that_are_old_or_new_and_says_which_failed(attempt, number, name):
    code, said, count, new, _ = attempt(name, {})
    assert (code, count > 3) == (0, True), said
    old = older(name, new)
    before = {file: hashlib.sha256(content.encode()).hexdigest() for file, content in old.items()}
    rng = np.random.default_rng(number)
    steps = range(1, count + 1) if TIMES > 1 else rng.choice(count, 1) + 1
    for step in map(int, steps):
        for error in (errno.ENOSPC, errno.EIO) if TIMES > 1 else (rng.choice([errno.ENOSPC, errno.EIO]),):
            there = old if step % 2 else {}
            code, said, done, after, litter = attempt(name, there, step, int(error))
            if done < step:  # DuckDB does not always write in as many pieces
                assert code == 0
                continue
            if code == 0:  # a benchmark tries whether its folder can be written, and has a second way to try it
                assert name == "benchmark" and step <= 3 and after.keys() == new.keys()
                continue
            place = f"{name}, write {step} of {count}, {errno.errorcode[error]}"
            assert code == (4 if error == errno.ENOSPC else 2) or (code == 2 and "projection was not saved" in said), (
                place, code, said,
            )  # fmt: skip
            assert "Traceback" not in said and "Internal error" not in said, place
            sentences = [line for line in said.splitlines() if os.strerror(error) in line or "/out" in line]
            assert sentences and "/out" in sentences[0], (place, said)
            assert not litter and ".cvpl-" not in said, (place, said)
            for file, digest in after.items():
                part = name == "reproduce" and "journal" in file
                kept = "/" in file or "timings" in file or part
                assert kept or digest in (new.get(file), before.get(file)), (place, file)
