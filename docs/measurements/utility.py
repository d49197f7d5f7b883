# ruff: noqa: T201 - this script prints its tables
"""How the utility figures read on releases whose strength is known.

Run from the top of the project; prints the tables of docs/concepts/utility.md:

    python docs/measurements/utility.py

10,000 people of the simulator, columns as in `cvpl demo`, five seeds a row (the figures are means over the seeds).
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.randomness import stream
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.evaluation_only.identity import IdentityKeys
from cvpl.tables.pair import read_inputs
from cvpl.utility import Utility, utility

SEEDS = range(5)
PEOPLE = 10_000
SPECS = (
    ColumnSpec("age", "quasi_identifier", "numeric"),
    ColumnSpec("gender", "quasi_identifier", "category"),
    ColumnSpec("region", "quasi_identifier", "category", "/"),
    ColumnSpec("brand_product", "attribute", "category"),
    ColumnSpec("purchase_place", "attribute", "category"),
    ColumnSpec("purchase_time", "attribute", "datetime"),
    ColumnSpec("days_after_ad", "attribute", "numeric"),
    ColumnSpec("ad_channel", "attribute", "category"),
)
VECTORIZATION = Vectorization(columns={"purchase_time": ColumnChoice(features=("hour", "day_of_week"))})


class Unchanged:
    """The originals themselves, in another order."""

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The same rows, shuffled."""
        return table.take(rng.permutation(len(table)))


class OtherPeople:
    """As good as synthetic data can be: other people from the same population."""

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """A table of the same size."""
        return Touchpoints(records=len(table)).draw(rng)


MECHANISMS: dict[str, Any] = {
    "unchanged": Unchanged(),
    "noise, low": Perturbation("low"),
    "noise, medium": Perturbation("medium"),
    "noise, high": Perturbation("high"),
    "rounding: age 5, region kept, hour": Rounding(5, 2, "hour"),
    "rounding: age 10, region level 1, day": Rounding(10, 1, "day"),
    "rounding: age 10, region level 1, month": Rounding(10, 1, "month"),
    "other people": OtherPeople(),
    "synthetic rows (copula, 0.95)": GaussianCopula(0.95),
    "columns drawn independently": GaussianCopula(0.0),
}


def measure(mechanism: Any, seed: int, folder: Path) -> tuple[Utility, float]:
    """The utility of one release, and the seconds it took."""
    people = Touchpoints(records=PEOPLE).draw(stream(seed, "people"))
    people.write(folder / "original.parquet")
    mechanism.protect(people, stream(seed, "release")).write(folder / "released.parquet")
    files = folder / "original.parquet", folder / "released.parquet"
    keys = IdentityKeys("person_id", "person_id")
    read = read_inputs(*files, SPECS, identity=None if isinstance(mechanism, OtherPeople) else keys)
    matches = None if read.matches is None else (read.matches.original, read.matches.protected)
    start = time.perf_counter()
    found = utility(read.pair, stream(seed, "utility"), vectorization=VECTORIZATION, matches=matches)
    return found, time.perf_counter() - start


def main() -> None:
    """Print both tables and the time."""
    figures, accuracies, seconds = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, mechanism in MECHANISMS.items():
            found, took = zip(*(measure(mechanism, seed, Path(folder)) for seed in SEEDS), strict=True)
            seconds.extend(took)
            rows = [[*one.figures.values(), one.mean] for one in found]
            means = " | ".join(f"{value:.3f}" for value in np.mean(np.array(rows, dtype=float), axis=0))
            figures.append(f"| {name} | {means} | `{found[0].distance.basis}` |")
            parts = [[one.downstream.original, one.downstream.protected, one.downstream.ratio] for one in found]
            means = " | ".join(f"{value:.3f}" for value in np.mean(np.array(parts, dtype=float), axis=0))
            accuracies.append(f"| {name} | {means} |")
        guessing = np.mean([one.downstream.commonest or 0.0 for one in found])
    print("| release | correlation | marginal | downstream | distance | mean | distances of |\n" + "|---" * 7 + "|")
    print("\n".join(figures))
    print(f"\nalways guessing the commonest label: {guessing:.3f}")
    print("\n| release | Acc(original) | Acc(release) | ratio |\n|---|---|---|---|")
    print("\n".join(accuracies))
    print(f"\nseconds: median {np.median(seconds):.2f}, largest {max(seconds):.2f}")


if __name__ == "__main__":
    main()
