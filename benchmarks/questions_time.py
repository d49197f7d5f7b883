"""The time of singling out, formal criteria and inference, beside the plan's and the linkage audit's.

    python benchmarks/questions_time.py FOLDER SIZE... [--attackers NAME ...]

FOLDER keeps the tables of `tables.py`; the release is perturbed at its lowest level, with as many controls as
originals, and `brand_product` is sensitive. Printed are processor seconds by phase, which hardly change where other
programs use the cores, as planned and as measured. Everything that is not a question is the linkage audit: reading,
attackers, canaries and diagnostics. With `--attackers` only some of the family run, so it is less.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import tables
from cvpl.assessment.planning.progress import Phase
from cvpl.assessment.planning.work import Work
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.audit import audit
from cvpl.workflows.reading import read_plan
from plan import SIMULATED

INFERRED = "brand_product"
QUESTIONS = (Phase.SINGLING_OUT, Phase.CRITERIA, Phase.INFERENCE)


class Clock:
    """Processor seconds of every phase, from the calls of an audit's progress."""

    def __init__(self) -> None:
        self.phase, self.start = "", time.process_time()
        self.seconds: dict[str, float] = defaultdict(float)

    def __call__(self, phase: str, share: float | None) -> None:
        """End the phase that was, and begin another."""
        now = time.process_time()
        self.seconds[self.phase] += now - self.start
        self.phase, self.start = phase, now


def row(folder: Path, records: int, attackers: list[str] | None) -> str:
    """One row of the table."""
    place = tables.make(folder, records, ("low",))
    control = place / "control.parquet"
    if not control.exists():
        Touchpoints(records=records).draw(np.random.default_rng(9)).write(control)
    columns = SIMULATED["columns"] | {INFERRED: {"role": "sensitive", "type": "category"}}
    config = {**SIMULATED, "columns": columns, "attacker": "default"}
    files = place / "original.parquet", place / "low.parquet"
    resolved, inputs = read_plan(*files, config, control, None, attackers=attackers)
    planned = {step.phase: step.processor for step in Work(resolved, inputs).audit()}
    del inputs
    clock = Clock()
    audit(*files, config, control=control, attackers=attackers, progress=clock)
    clock("", 1.0)
    found = {phase: clock.seconds.get(phase, 0.0) for phase in QUESTIONS}
    together, linkage = sum(found.values()), sum(clock.seconds.values()) - sum(found.values())
    cells = [f"{planned.get(phase, 0.0):.1f}, {found[phase]:.1f}" for phase in QUESTIONS]
    return f"| {records:,} | {' | '.join(cells)} | {together:.1f} | {linkage:.1f} |"


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--attackers", nargs="+")
    given = parser.parse_args()
    heads = " | ".join(f"{phase}: planned, measured" for phase in QUESTIONS)
    print(f"| records | {heads} | together | linkage |\n{'|---' * (len(QUESTIONS) + 3)}|", flush=True)
    for size in given.sizes:
        print(row(given.folder, size, given.attackers), flush=True)


if __name__ == "__main__":
    main()
