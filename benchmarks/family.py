"""The default audit beside `--attackers paper`, by the command line, with as many controls as originals.

    python benchmarks/family.py FOLDER RECORDS... [--before CHECKOUT]
    python benchmarks/family.py FOLDER RECORDS... --members    what each member that sees through changes costs

With `--before`, `--attackers paper` also runs in another checkout of the package, in the same run: the ratio is that of
the default audit here to it. Canaries and the sensitivity analyses are those of the configuration, the same for both.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tables
from cvpl.laboratory.simulation import Touchpoints

CONFIG = tables.CONFIG.replace("attacker: paper", "attacker: default")
RELEASE = "low"
THROUGH_CHANGES = (
    "ranks",
    "ranks_reference",
    "ranks_fellegi_sunter",
    "differences",
    "between",
    "words",
    "single_values",
)
"""The members that find people through a change of the columns."""


def make(folder: Path, records: int) -> Path:
    """The originals, a release, a control of the same size and the configuration."""
    place = tables.make(folder, records, (RELEASE,))
    control = place / "control.parquet"
    if not control.exists():
        Touchpoints(records=records).draw(np.random.default_rng(9)).write(control)
    (place / "default.yaml").write_text(CONFIG, encoding="utf-8")
    return place


def audit(place: Path, checkout: Path, *options: str) -> tuple[float, float, float]:
    """Seconds, processor seconds and gigabytes of one audit in a process of its own."""
    files = [str(place / f"{name}.parquet") for name in ("original", RELEASE)]
    more = ["--config", str(place / "default.yaml"), "--control", str(place / "control.parquet")]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory() as out:
        call = [sys.executable, "-m", "cvpl", "audit", *files, *more, "--out", out, *options]
        start = time.perf_counter()
        sink = os.open(os.devnull, os.O_WRONLY)
        pid = os.posix_spawn(sys.executable, call, environment, file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1)])
        _, status, used = os.wait4(pid, 0)
        os.close(sink)
        seconds = time.perf_counter() - start
        if status or not (Path(out) / "result.json").exists():
            raise SystemExit(f"the audit of {place} failed")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def members(place: Path, here: Path) -> None:
    """Print what a member adds to an audit by `nearest`, beside the default audit."""
    whole, alone = audit(place, here)[1], audit(place, here, "--attackers", "nearest")[1]
    print(f"| default audit | {whole:.1f} s | 100% |")
    for member in THROUGH_CHANGES:
        more = audit(place, here, "--attackers", f"nearest,{member}")[1] - alone
        print(f"| `{member}` | {more:.1f} s | {more / whole:.0%} |", flush=True)


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=int, nargs="+")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--members", action="store_true")
    given = parser.parse_args()
    here = Path(__file__).parents[1]
    if given.members:
        for size in given.records:
            print(f"{size:,} records\n\n| attacker | processor | of the default audit |\n|---|---|---|")
            members(make(given.folder, size), here)
        return
    before = given.before or here
    audit(make(given.folder, 1_000), here)
    audit(make(given.folder, 1_000), before, "--attackers", "paper")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| records | quick look | default audit | processor | peak memory | paper alone | default / paper alone |")
    print("|---|---|---|---|---|---|---|")
    for size in given.records:
        place = make(given.folder, size)
        alone, _, _ = audit(place, before, "--attackers", "paper")
        quick, _, _ = audit(place, here, "--quick")
        seconds, processor, memory = audit(place, here)
        print(
            f"| {size:,} | {quick:.1f} s | {seconds:.1f} s | {processor:.1f} s | {memory:.2f} GB | {alone:.1f} s | "
            f"{seconds / alone:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
