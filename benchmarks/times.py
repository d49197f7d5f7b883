"""How long commands and searches take, and how much memory they need: one table for each case.

    python benchmarks/times.py CASE FOLDER [RECORDS ...] [--before CHECKOUT] [--memory SIZE ...]

start         how long a newcomer waits: start of Python, imports, and a small audit by the command line
growth        whole audits, from Parquet to result.json, as the tables grow
family        the default audit and a quick look beside the paper's attacker alone
members       what each member that sees through changes adds to an audit
memory        audits under ever smaller budgets: where tables are kept
phases        seconds, processor seconds and busy cores of each phase of the default audit
reproduction  the whole of `cvpl reproduce` in a fresh folder
search, rare_values, cells, compatible    searches by themselves (`search_times.py`)

Tables are those of `tables.py`, made in FOLDER once. Commands run in processes of their own. What is compared stands
in one run, since other programs are felt: with `--before`, the paper's attacker alone runs in another checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cvpl
import search_times
import tables
from cvpl.config.written import parse_size
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.audit import plan_audit

HERE = Path(__file__).parents[1]
RELEASE = "low"
RUNS = 5
LONG = 1.0
"""Phases that take fewer seconds are left out."""
SIZES = (10_000, 100_000, 1_000_000)
PAPER = {1_000: "11 s", 5_000: "51 s", 10_000: "12 s, 2 GB", 100_000: "25 min, 12 GB"}
"""The paper's optimized times (its table of improvements), and its single configurations (its table of resources)."""
THROUGH_CHANGES = (
    "ranks",
    "ranks_reference",
    "ranks_fellegi_sunter",
    "differences",
    "ratios",
    "between",
    "words",
    "single_values",
)
"""The members that find people through a change of the columns."""
Row = tuple[object, ...]


@dataclass(frozen=True, order=True)
class Used:
    """What a process took: seconds, processor seconds and gigabytes at its peak."""

    seconds: float
    processor: float
    memory: float


@dataclass(frozen=True)
class Given:
    """The folder of the tables, their sizes, another checkout, and limits of memory."""

    folder: Path
    sizes: Sequence[int]
    before: Path
    memory: Sequence[str]


@dataclass(frozen=True)
class Case:
    """A table: its columns, and the rows as they are measured."""

    columns: tuple[str, ...]
    rows: Callable[[Given], Iterator[Row]]
    sizes: tuple[int, ...] = SIZES


def used(call: Sequence[str], checkout: Path = HERE) -> Used:
    """What a Python command took, in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(checkout / "src")
    sink = os.open(os.devnull, os.O_WRONLY)
    start = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_DUP2, sink, place) for place in (1, 2)]
    pid = os.posix_spawn(sys.executable, [sys.executable, *call], environment, file_actions=quiet)
    _, status, own = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    os.close(sink)
    if status:
        raise SystemExit(f"failed: {' '.join(call)}")
    return Used(seconds, own.ru_utime + own.ru_stime, own.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9)


def audit(place: Path, release: str, *options: str, checkout: Path = HERE) -> Used:
    """What an audit by the command line took, by the paper's attacker unless an option says otherwise."""
    files = [str(place / f"{name}.parquet") for name in ("original", release)]
    config = [] if "--config" in options else ["--config", str(place / "audit.yaml")]
    with tempfile.TemporaryDirectory() as out:
        return used(["-m", "cvpl", "audit", *files, *config, "--out", out, *options], checkout)


def family_tables(folder: Path, records: int) -> tuple[Path, list[str]]:
    """The tables of so many people with as many controls, and the options of an audit by the family."""
    place = tables.make(folder, records, (RELEASE,))
    control, config = place / "control.parquet", place / "default.yaml"
    if not control.exists():
        Touchpoints(records=records).draw(np.random.default_rng(9)).write(control)
    config.write_text(tables.CONFIG.replace("attacker: paper", "attacker: default"), encoding="utf-8")
    return place, ["--config", str(config), "--control", str(control)]


def start(_: Given) -> Iterator[Row]:
    """The best and the median of several runs, after one that leaves compiled modules behind."""
    with tempfile.TemporaryDirectory() as folder:
        used(["-m", "cvpl", "demo", "--out", folder, "--records", "10000"])
        config = Path(folder) / "audit.yaml"
        config.write_text(config.read_text().replace("attacker: default", "attacker: paper"))
        files = [str(Path(folder) / name) for name in ("original.csv", "released.csv")]
        call = ["-m", "cvpl", "audit", *files, "--config", str(config), "--out", folder, "--overwrite"]
        rows = {
            "python -c pass": ["-c", "pass"],
            "import numpy": ["-c", "import numpy"],
            "import cvpl": ["-c", "import cvpl"],
            "cvpl --help": ["-m", "cvpl", "--help"],
            "cvpl audit, 10,000 x 10,000": call,
            "cvpl audit, with 10,000 controls": [*call, "--control", str(Path(folder) / "holdout.csv")],
        }
        for name, command in rows.items():
            used(command)
            times = [used(command).seconds for _ in range(RUNS)]
            yield name, f"{min(times):.2f} s", f"{statistics.median(times):.2f} s"


def growth(given: Given) -> Iterator[Row]:
    """Every release of every size; the paper's own figures (8 cores, 32 GB) stand beside ours."""
    before: dict[str, tuple[int, float]] = {}
    audit(tables.make(given.folder, 1_000, (RELEASE,)), RELEASE)
    for size in given.sizes:
        place = tables.make(given.folder, size)
        for release in tables.RELEASES:
            found = min(audit(place, release) for _ in range(1 if size > 100_000 else 2))
            grown = "-"
            if release in before:
                smaller, earlier = before[release]
                grown = f"{found.seconds / earlier:.1f}x for {(size / smaller) ** 2:,.0f}x the pairs"
            before[release] = size, found.seconds
            paper = PAPER.get(size, "-") if release == RELEASE else ""
            yield f"{size:,}", release, f"{found.seconds:.1f} s", f"{found.memory:.2f} GB", grown, paper


def family(given: Given) -> Iterator[Row]:
    """The default audit; the ratio is that to the paper's attacker alone, in the checkout from before."""
    place, options = family_tables(given.folder, 1_000)
    audit(place, RELEASE, *options)
    audit(place, RELEASE, *options, "--attackers", "paper", checkout=given.before)
    for size in given.sizes:
        place, options = family_tables(given.folder, size)
        alone = audit(place, RELEASE, *options, "--attackers", "paper", checkout=given.before).seconds
        quick = audit(place, RELEASE, *options, "--quick").seconds
        whole = audit(place, RELEASE, *options)
        cells = (quick, whole.seconds, whole.processor)
        times = [f"{seconds:.1f} s" for seconds in cells]
        yield f"{size:,}", *times, f"{whole.memory:.2f} GB", f"{alone:.1f} s", f"{whole.seconds / alone:.1f}"


def members(given: Given) -> Iterator[Row]:
    """The processor seconds that a member adds to an audit by `nearest`, beside the default audit."""
    for size in given.sizes:
        place, options = family_tables(given.folder, size)
        whole = audit(place, RELEASE, *options).processor
        alone = audit(place, RELEASE, *options, "--attackers", "nearest").processor
        yield f"{size:,}", "default audit", f"{whole:.1f} s", "100%"
        for member in THROUGH_CHANGES:
            more = audit(place, RELEASE, *options, "--attackers", f"nearest,{member}").processor - alone
            yield f"{size:,}", f"`{member}`", f"{more:.1f} s", f"{more / whole:.0%}"


def memory(given: Given) -> Iterator[Row]:
    """An audit under each limit."""
    for size in given.sizes:
        place = tables.make(given.folder, size, (RELEASE,))
        files = [place / name for name in ("original.parquet", f"{RELEASE}.parquet", "audit.yaml")]
        for limit in given.memory:
            kept = "in memory" if plan_audit(*files, memory=parse_size(limit)).disk is None else "on disk"
            found = audit(place, RELEASE, "--memory", limit)
            yield f"{size:,}", limit, kept, f"{found.seconds:.1f} s", f"{found.memory:.2f} GB"


def phases(given: Given) -> Iterator[Row]:
    """Every phase of the default audit that takes a second or more, in this process."""
    for size in given.sizes:
        place, _ = family_tables(given.folder, size)
        found: dict[str, tuple[float, float]] = {}
        now = ("loading", time.perf_counter(), time.process_time())

        def note(phase: str, _: float | None, found: dict[str, tuple[float, float]] = found) -> None:
            nonlocal now
            if phase != now[0]:
                wall, processor = time.perf_counter(), time.process_time()
                before = found.get(now[0], (0.0, 0.0))
                found[now[0]] = before[0] + wall - now[1], before[1] + processor - now[2]
                now = (phase, wall, processor)

        files = [place / f"{name}.parquet" for name in ("original", RELEASE)]
        cvpl.audit(*files, place / "default.yaml", control=place / "control.parquet", progress=note)
        note("", None)
        for phase, (seconds, processor) in found.items():
            if seconds >= LONG:
                yield f"{size:,}", phase, f"{seconds:.1f}", f"{processor:.1f}", f"{processor / seconds:.2f}"


def reproduction(given: Given) -> Iterator[Row]:
    """One row for all experiments."""
    folder = given.folder / "reproduction_timed"
    shutil.rmtree(folder, ignore_errors=True)
    minutes = used(["-m", "cvpl", "reproduce", "--out", str(folder)]).seconds / 60
    cells = [json.loads(line) for line in (folder / "timings.jsonl").read_text().splitlines()]
    grid = [cell["seconds"] for cell in cells if cell["key"].startswith("grid/")]
    mean = f"{sum(grid) / len(grid):.2f}"
    yield (
        len(grid),
        len(cells) - len(grid),
        os.cpu_count(),
        f"{minutes:.1f}",
        mean,
        "19 min for 95 cells on eight cores",
    )


CASES = {
    "start": Case(("command", "best", "median"), start),
    "growth": Case(
        ("records", "release", "audit", "peak memory", "against the size before", "the paper"),
        growth,
        (1_000, 5_000, *SIZES),
    ),
    "family": Case(
        (
            "records",
            "quick look",
            "default audit",
            "processor",
            "peak memory",
            "paper alone",
            "default / paper alone",
        ),
        family,
    ),
    "members": Case(("records", "attacker", "processor", "of the default audit"), members, (10_000,)),
    "memory": Case(("records", "allowed", "tables", "audit", "peak memory"), memory, (1_000_000,)),
    "phases": Case(("records", "phase", "seconds", "processor", "cores busy"), phases, (10_000, 100_000)),
    "reproduction": Case(
        ("cells of the grid", "other cells", "cores", "minutes", "seconds a cell of the grid", "the paper"),
        reproduction,
    ),
    **{
        name: Case(columns, lambda given, rows=rows: rows(given.folder, given.sizes), sizes)
        for name, (columns, rows, sizes) in search_times.CASES.items()
    },
}


def main() -> None:
    """Print the table of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizes", type=int, nargs="*", metavar="RECORDS")
    parser.add_argument("--before", type=Path, default=HERE, metavar="CHECKOUT")
    parser.add_argument("--memory", nargs="+", default=("4GB", "1GB", "750MB"), metavar="SIZE")
    asked = parser.parse_args()
    case = CASES[asked.case]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(f"| {' | '.join(case.columns)} |\n{'|---' * len(case.columns)}|", flush=True)
    for row in case.rows(Given(asked.folder, asked.sizes or case.sizes, asked.before, asked.memory)):
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
