"""What a quick look takes beyond reading the tables, by the command line.

    python benchmarks/quick_time.py FOLDER RECORDS [--runs 3]

The tables are those of `family.py`. Each run is a process of its own, from its start to its end with the page written;
"reading" is the phase of that name in the command's own progress.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from family import RELEASE, make

TIMED = """
import sys, time
from cvpl.assessment.planning.progress import Phase, WholeProgress
from cvpl.cli.main import main
began, tell = {}, WholeProgress.__call__
def noted(self, phase, share):
    began.setdefault(phase, time.perf_counter())
    tell(self, phase, share)
WholeProgress.__call__ = noted
try:
    main()
finally:
    print(began[Phase.CHECKING] - began[Phase.READING], file=sys.stderr)
"""


def main() -> None:
    """Print a row for each run; the first one, which may compile, is not counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=int)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    place = make(given.folder, given.records)
    files = [str(place / f"{name}.parquet") for name in ("original", RELEASE)]
    more = ["--config", str(place / "default.yaml"), "--control", str(place / "control.parquet"), "--quick"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    print("| whole | reading | beyond reading |\n|---|---|---|")
    for run in range(given.runs + 1):
        with tempfile.TemporaryDirectory() as out:
            call = [sys.executable, "-c", TIMED, "audit", *files, *more, "--out", out]
            start = time.perf_counter()
            done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
            whole = time.perf_counter() - start
        reading = float(done.stderr.split()[-1])
        if run:
            print(f"| {whole:.1f} s | {reading:.1f} s | {whole - reading:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
