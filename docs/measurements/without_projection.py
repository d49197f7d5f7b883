"""What the two members that measure distances without a projection add to the family, for docs/concepts/attackers.md.

    python docs/measurements/without_projection.py

Four draws of one setting of the test bench of the verdict (benchmarks/verdict_bench.py): a table of numbers and
categories, half of the people planted by interpolation between two people. For each draw it prints the largest risk
among the members that the family had before, and among all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import cvpl

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

from verdict_bench import Release
from verdict_worlds import Setting, config_of, draw

SETTING = Setting("mixed", 2_000, 2_000, 0.5, "smote", "independent")
DRAWS = 4
ADDED = ("nearest_unprojected", "nearest_unprojected_reference")


def main() -> None:
    """Print a line for each draw."""
    for repetition in range(DRAWS):
        release = Release(SETTING, repetition, canaries=False)
        world = draw(SETTING, np.random.default_rng(release.seed))
        original, released, control = (world.frame(name) for name in ("original", "protected", "control"))
        config = config_of(SETTING.kind, release.seed, canaries=False)
        result = cvpl.audit(original, released, config | {"report": {"suppress_below": 1}}, control=control)
        risks = {row.name: row.risk.estimate for row in result.attackers if row.risk is not None}
        before = max((name for name in risks if name not in ADDED), key=risks.__getitem__)
        strongest = max(risks, key=risks.__getitem__)
        print(  # noqa: T201
            f"{release.key}: true {world.distinguishable:.3f}, all {risks[strongest]:.3f} ({strongest}), "
            f"without the two {risks[before]:.3f} ({before})"
        )


if __name__ == "__main__":
    main()
