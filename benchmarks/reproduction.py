"""The whole of `cvpl reproduce` in a fresh folder: how long it takes, and the cells.

python benchmarks/reproduction.py FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

PAPER = "19 min for 95 cells on eight cores"


def main(folder: Path) -> None:
    """Print a row."""
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    call = [str(Path(sys.executable).with_name("cvpl")), "reproduce", "--out", str(folder)]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    minutes = (time.perf_counter() - start) / 60
    cells = [json.loads(line) for line in (folder / "timings.jsonl").read_text().splitlines()]
    grid = [cell["seconds"] for cell in cells if cell["key"].startswith("grid/")]
    print("| cells of the grid | other cells | cores | minutes | seconds a cell of the grid | the paper |")
    print("|---|---|---|---|---|---|")
    row = [len(grid), len(cells) - len(grid), os.cpu_count(), f"{minutes:.1f}", f"{sum(grid) / len(grid):.2f}", PAPER]
    print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
