"""How many cores each phase of the default audit keeps busy, and what a second audit at the same time costs.

    python benchmarks/cores.py FOLDER RECORDS

The tables are those of `family.py`. Phases that take less than a second are left out. The second table has the seconds
of the command alone, and of two of them that start together.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cvpl
from family import RELEASE, make

LONG = 1.0


def phases(place: Path) -> dict[str, tuple[float, float]]:
    """Seconds and processor seconds of each phase of an audit in this process."""
    found: dict[str, tuple[float, float]] = {}
    now = ["", time.perf_counter(), time.process_time()]

    def note(phase: str, _: float | None) -> None:
        if phase != now[0]:
            wall, processor = time.perf_counter(), time.process_time()
            before = found.get(now[0], (0.0, 0.0))
            found[now[0]] = before[0] + wall - now[1], before[1] + processor - now[2]
            now[:] = [phase, wall, processor]

    files = [place / f"{name}.parquet" for name in ("original", RELEASE)]
    cvpl.audit(*files, place / "default.yaml", control=place / "control.parquet", progress=note)
    note("", None)
    return found


def together(place: Path, commands: int) -> list[float]:
    """The seconds of so many equal commands that start together."""
    files = [str(place / f"{name}.parquet") for name in ("original", RELEASE)]
    more = ["--config", str(place / "default.yaml"), "--control", str(place / "control.parquet")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    with tempfile.TemporaryDirectory() as out:
        start, running, seconds = time.perf_counter(), [], []
        for number in range(commands):
            call = [sys.executable, "-m", "cvpl", "audit", *files, *more, "--out", f"{out}/{number}"]
            running.append(
                subprocess.Popen(call, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        for process in running:
            if process.wait():
                raise SystemExit(f"the audit of {place} failed")
            seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=int)
    given = parser.parse_args()
    place = make(given.folder, given.records)
    together(place, 1)  # compiles
    print("| phase | seconds | cores busy |\n|---|---|---|")
    for phase, (seconds, processor) in phases(place).items():
        if seconds >= LONG:
            print(f"| {phase or 'loading'} | {seconds:.1f} | {processor / seconds:.2f} |", flush=True)
    alone, both = together(place, 1)[0], max(together(place, 2))
    print(f"\n| alone | two at once | ratio |\n|---|---|---|\n| {alone:.1f} s | {both:.1f} s | {both / alone:.2f} |")


if __name__ == "__main__":
    main()
