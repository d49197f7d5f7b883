"""Files that are changed at random, given to an audit: it must end with a documented exit code and without a traceback.

    python tests/support/fuzz_files.py --minutes 60 --seed 1

Each file is a good one with some of its bytes changed. A child process audits it, so that a crash or a hang of the
child is found too. A CSV file that is accepted must be what a second reader reads, cell by cell.
"""

import argparse
import contextlib
import gzip
import io
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import second_reader
from workbooks import write_workbook

SECRET = "SECRETCELL"  # noqa: S105 - a cell that must not be shown
LONGEST = 120
"""An audit of so small a file that takes more seconds than this hangs; it takes one, and some twenty if others wait."""
CODES = (0, 2, 3, 4, 10)
"""The documented exit codes without an interruption (5) and a fault of the program (6)."""
SPECIAL = [
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b'"',
        b'""',
        b",",
        b"\n",
        b"\r",
        b"\r\n",
        b" ",
        b"\t",
        b"\\",
        b"'",
        b"\x80",
        b"\xc3",
    ),
    *(b"1e999", b"-0", b"NaN", b"9007199254740993", b"2024-02-30", b"0000-00-00", b"*", b"[1, 2)"),
    *(b"&a", b"*a", b"!!python", b"<<: ", b"{", b"}", b"---\n", b": "),
    *(b"\xff\xff\xff\x7f", b"PAR1", b"PK\x03\x04", b"\x1f\x8b"),
]
"""Bytes that mean something in one of the formats."""
WHOLE = 0.05
"""The share of files that are audited to the end; of the others the plan is made, which reads them."""
ROWS = 30
COLUMNS = {"n": "numeric", "c": "category", "t": "datetime", "s": "category"}
CONFIG = """# an audit
columns:
  n: {role: attribute, type: numeric}
  c: {role: quasi_identifier, type: category}
  t: {role: attribute, type: datetime, features: [hour, elapsed_days]}
  s: {role: attribute, type: category}
attacker: paper
reading: {strip: false, missing: ["", "?"], limits: {rows: 100000, expansion: 300}}
seed: 1
"""


def cells():
    """The columns of a small table."""
    rng = np.random.default_rng(0)
    return {
        "n": [f"{value:.2f}" for value in rng.normal(50, 10, ROWS)],
        "c": [("North", "South", 'say "x"', "a,b", "two\nlines", "")[number % 6] for number in range(ROWS)],
        "t": [f"2024-05-{number % 28 + 1:02} 10:{number:02}:00" for number in range(ROWS)],
        "s": [f"{SECRET}{number % 7}" if number > 2 else "plain" for number in range(ROWS)],
    }


def good_files(folder):
    """A good file of each kind, by its ending."""
    columns = cells()
    rows = list(zip(*columns.values(), strict=True))
    lines = [
        ",".join('"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\n') else cell for cell in row)
        for row in rows
    ]
    text = "\n".join([",".join(COLUMNS), *lines, ""]).encode()
    table = pa.table({"n": [float(cell) for cell in columns["n"]], **{name: columns[name] for name in "cts"}})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    sheet = write_workbook(folder / "good.xlsx", {"Sheet": [list(COLUMNS), *[[float(n), *more] for n, *more in rows]]})
    return {
        "csv": text,
        "tsv": text.replace(b",", b"\t"),
        "csv.gz": gzip.compress(text, mtime=0),
        "parquet": buffer.getvalue(),
        "xlsx": sheet.read_bytes(),
        "yaml": CONFIG.encode(),
    }


def mutated(content, rng):
    """The bytes with one to six changes."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 7))):
        size = len(changed)
        at = int(rng.integers(0, size + 1))
        length = int(min(rng.geometric(0.02), max(size, 1)))
        kind = int(rng.integers(7))
        if kind == 0 and size:
            changed[at % size] ^= 1 << int(rng.integers(8))
        elif kind == 1 and size:
            changed[at % size] = int(rng.integers(256))
        elif kind == 2:
            del changed[at : at + length]
        elif kind == 3 and rng.random() < 0.3:
            del changed[at:]
        elif kind == 4:
            other = int(rng.integers(0, size + 1))
            changed[at:at] = changed[other : other + length]
        elif kind == 5:
            other = int(rng.integers(0, size + 1))
            changed[at : at + length] = changed[other : other + length]
        else:
            changed[at:at] = SPECIAL[int(rng.integers(len(SPECIAL)))]
    return bytes(changed)


def changed_file(ending, good, rng):
    """A changed file of a kind; half of the gzip files have changed content and are good gzip."""
    if ending == "csv.gz" and rng.random() < 0.5:
        return gzip.compress(mutated(good["csv"], rng), mtime=0)
    return mutated(good[ending], rng)


def audited(folder, ending, content, how):
    """What is wrong with the audit of a changed file, its plan, or its reading alone; None if nothing is."""
    from cvpl.cli import main  # noqa: PLC0415 - in the child

    original, config = folder / "original.csv", folder / "audit.yaml"
    table = folder / f"p.{ending}"
    if ending == "yaml":
        config, table = folder / "changed.yaml", original
    (config if ending == "yaml" else table).write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if how == "read":
            code = read_only(original, table, config)
        else:
            more = ["--plan"] if how == "plan" else []
            code = main.run(["audit", str(original), str(table), "--config", str(config), *more])
    message = err.getvalue()
    if code not in CODES:
        return f"exit code {code}: {message}"
    if "Traceback" in message:
        return f"a traceback: {message}"
    if code and not message.strip():
        return f"exit code {code} without a sentence"
    return differing(table, message + out.getvalue()) if ending in ("csv", "tsv", "csv.gz") else None


def read_only(original, table, config):
    """Read the configuration and the tables as an audit does, and return its exit code."""
    from cvpl.config.loading import load  # noqa: PLC0415 - in the child
    from cvpl.errors import CvplError  # noqa: PLC0415 - in the child
    from cvpl.tables.pair import read_inputs  # noqa: PLC0415 - in the child

    try:
        resolved = load(config)
        read_inputs(original, table, resolved.specs, reading=resolved.reading, declared=resolved.declared)
    except CvplError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
    return 0


def differing(path, message):
    """How the reading of a CSV file differs from that of a second reader; None if it is refused or the same."""
    from cvpl.errors import CvplError  # noqa: PLC0415 - in the child
    from cvpl.tables.source.connection import connect  # noqa: PLC0415 - in the child
    from cvpl.tables.source.csv_file import load_csv  # noqa: PLC0415 - in the child
    from cvpl.tables.source.reading_settings import Reading  # noqa: PLC0415 - in the child

    delimiter = "\t" if ".tsv" in path.name else ","
    with contextlib.suppress(Exception):
        header = path.read_bytes() if path.suffix != ".gz" else gzip.decompress(path.read_bytes())
        if SECRET in message and SECRET.encode() not in b"".join(header.splitlines()[:1]):
            return "a cell in a message"
    with connect() as con:
        try:
            names = load_csv(con, path, "read", Reading(), path.name)
        except CvplError:
            return None
        read = [list(row) for row in con.execute('SELECT * FROM "read"').fetchall()]
    try:
        wanted = second_reader.records(second_reader.text_of(path), delimiter)
    except second_reader.NotCsvError:
        return "accepted, though a second reader does not take it for CSV"
    return None if [list(names), *read] == wanted else "accepted, and read otherwise than by a second reader"


def serve(pipe, folder):
    """The child: audit what comes through the pipe, and send back what is wrong."""
    while (task := pipe.recv()) is not None:
        try:
            pipe.send(audited(folder, *task))
        except Exception as error:
            pipe.send(f"{type(error).__name__} at {error.__traceback__.tb_lineno}: {error}")


class Auditor:
    """A child process that is started again after a crash or a hang."""

    def __init__(self, folder):
        self._folder, self._child = folder, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._child is not None:
            self._child.kill()
            self._child.join()

    def finding(self, *task):
        """What is wrong with a file; None if nothing is."""
        if self._child is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._child = context.Process(target=serve, args=(theirs, self._folder), daemon=True)
            self._child.start()
            theirs.close()
            self._pipe.send(("csv", b"", "plan"))
            self._pipe.poll(120)
            self._pipe.recv()
        self._pipe.send(task)
        try:
            if self._pipe.poll(LONGEST):
                return self._pipe.recv()
            found = f"no answer within {LONGEST} seconds"
        except (EOFError, ConnectionError):
            self._child.join()
            found = f"the process ended with {self._child.exitcode}"
        self.__exit__()
        self._child = None
        return found


def fuzz_here(folder, rng, ending, count):
    """Read changed files of one kind in this process, and return what was wrong."""
    good = prepared(folder)
    found = (audited(folder, ending, changed_file(ending, good, rng), "read") for _ in range(count))
    return [finding for finding in found if finding is not None]


def prepared(folder):
    """The good files, with the original table and the configuration in the folder."""
    good = good_files(folder)
    (folder / "original.csv").write_bytes(good["csv"])
    (folder / "audit.yaml").write_bytes(good["yaml"])
    return good


def fuzz(folder, seed, *, minutes, kept):
    """Audit changed files, and return how many of each kind there were, and what was wrong with which."""
    good = prepared(folder)
    rng = np.random.default_rng(seed)
    until = time.monotonic() + 60 * minutes
    tried, findings = Counter(), []
    with Auditor(folder) as auditor:
        while time.monotonic() < until:
            ending = list(good)[tried.total() % len(good)]
            content = changed_file(ending, good, rng)
            found = auditor.finding(ending, content, "audit" if rng.random() < WHOLE else "plan")
            tried[ending] += 1
            if found is not None:
                findings.append((ending, tried.total(), found))
                kept.mkdir(exist_ok=True, parents=True)
                (kept / f"{seed}-{tried.total()}.{ending}").write_bytes(content)
    return tried, findings


def main():
    """Fuzz for some minutes, keep the files that are findings, and print them."""
    parser = argparse.ArgumentParser(description="Audit files that are changed at random.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=Path("fuzz-findings"), help="Folder for files that are findings.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tried, findings = fuzz(Path(folder), options.seed, minutes=options.minutes, kept=options.kept)
    sys.stdout.write(json.dumps({"tried": tried, "findings": findings}, indent=1) + "\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
