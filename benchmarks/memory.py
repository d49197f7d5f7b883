"""Whole audits under ever smaller budgets, from Parquet to result.json: where tables are kept, time, peak memory.

    python benchmarks/memory.py FOLDER RECORDS SIZE...

A size is what `--memory` takes, such as 1GB.
"""

from __future__ import annotations

import sys
from pathlib import Path

import growth
import tables
from cvpl.config.sizes import parse_size
from cvpl.workflows.audit import plan_audit


def main(folder: Path, records: int, sizes: list[str]) -> None:
    """Print a row for each budget."""
    place = tables.make(folder, records, ("low",))
    files = [place / name for name in ("original.parquet", "low.parquet", "audit.yaml")]
    print("| records | allowed | tables | audit | peak memory |")
    print("|---|---|---|---|---|")
    for size in sizes:
        kept = "in memory" if plan_audit(*files, memory=parse_size(size)).disk is None else "on disk"
        seconds, used = growth.audit(place, "low", "--memory", size)
        print(f"| {records:,} | {size} | {kept} | {seconds:.1f} s | {used:.2f} GB |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
