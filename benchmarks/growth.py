"""Whole audits by the command line, from Parquet to result.json, as the tables grow: time and peak memory.

    python benchmarks/growth.py FOLDER RECORDS...

The first sizes are the paper's, whose own figures (8 cores, 32 GB) stand beside ours.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import tables

PAPER = {1_000: "11 s", 5_000: "51 s", 10_000: "12 s, 2 GB", 100_000: "25 min, 12 GB"}
"""The paper's optimized times (its table of improvements), and its single configurations (its table of resources)."""


def audit(place: Path, release: str, *options: str) -> tuple[float, float]:
    """Seconds and gigabytes of one audit in a process of its own."""
    cvpl = str(Path(sys.executable).parent / "cvpl")
    files = [str(place / f"{name}.parquet") for name in ("original", release)]
    user = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as out:
        arguments = [cvpl, "audit", *files, "--config", str(place / "audit.yaml"), "--out", out, *options]
        start = time.perf_counter()
        sink = os.open(os.devnull, os.O_WRONLY)
        pid = os.posix_spawn(cvpl, arguments, user, file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1)])
        _, status, used = os.wait4(pid, 0)
        os.close(sink)
        seconds = time.perf_counter() - start
        if status or not (Path(out) / "result.json").exists():
            raise SystemExit(f"the audit of {release} failed")
    return seconds, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def main(folder: Path, sizes: list[int]) -> None:
    """Print a row for each size and release."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| records | release | audit | peak memory | against the size before | the paper |")
    print("|---|---|---|---|---|---|")
    before: dict[str, tuple[int, float]] = {}
    audit(tables.make(folder, 1_000, ("low",)), "low")
    for size in sizes:
        place = tables.make(folder, size)
        for release in tables.RELEASES:
            seconds, memory = min(audit(place, release) for _ in range(1 if size > 100_000 else 2))
            growth = "-"
            if release in before:
                smaller, earlier = before[release]
                growth = f"{seconds / earlier:.1f}x for {(size / smaller) ** 2:,.0f}x the pairs"
            before[release] = size, seconds
            paper = PAPER.get(size, "-") if release == "low" else ""
            print(f"| {size:,} | {release} | {seconds:.1f} s | {memory:.2f} GB | {growth} | {paper} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(size) for size in sys.argv[2:]])
