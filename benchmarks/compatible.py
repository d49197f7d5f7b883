"""Blocking by compatible keys on a Mondrian release, against blocking by equality on the coarsest granularity.

    python benchmarks/compatible.py FOLDER [RECORDS ...]

Simulated people, k = 10 over age, gender, region and time, nobody removed and nothing suppressed. Under `compatible`
all four columns are keys, and a person's candidates are the classes that hold the person's values. Under equality only
keys that no class cuts through keep true pairs together: Mondrian cuts ages and times anywhere, so what is left are the
columns, or the levels of them, that every class has whole. Both are whole audits by the paper's attacker, files to
result; the times stand as a ratio in one run, each the lesser of two.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import cvpl
from cvpl.frame import Frame
from cvpl.protection.mondrian import Mondrian
from cvpl.simulation import Touchpoints

KEYS = ("age", "gender", "region", "purchase_time")
COLUMNS = {
    "person_id": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "gender": {"role": "quasi_identifier", "type": "category"},
    "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "purchase_time": {"role": "quasi_identifier", "type": "datetime", "features": ["hour", "day_of_week"]},
    "days_after_ad": {"role": "attribute", "type": "numeric"},
    "ad_channel": {"role": "attribute", "type": "category"},
    "purchase_place": {"role": "attribute", "type": "category"},
    "brand_product": {"role": "attribute", "type": "category"},
    "income": {"role": "sensitive"},
}


def released(people: Frame) -> Frame:
    """The Mondrian release; a region that a class does not share is written as its first level, or as a star."""
    paths = {"region": lambda label: tuple(label.split("/"))}
    written = {"region": lambda path: path[0] + "/*"}
    return Mondrian(10, KEYS, paths, written).protect(people, np.random.default_rng(2))


def coarsest(release: Frame) -> list[dict[str, object]]:
    """The keys that every class has whole: gender unless some class mixes it, region at the level that all keep."""
    gender, region = (release.category(name).labels for name in ("gender", "region"))
    keys: list[dict[str, object]] = []
    if not any(label.startswith("{") for label in gender):
        keys.append({"gender": "exact"})
    if "*" not in region:
        keys.append({"region": {"level": 1 if any(label.endswith("/*") for label in region) else 2}})
    return keys


def measure(folder: Path, records: int) -> str:
    """One line of the table."""
    place = folder / f"mondrian_{records}"
    place.mkdir(parents=True, exist_ok=True)
    people = Touchpoints(records=records).draw(np.random.default_rng(1))
    release = released(people)
    files = place / "original.parquet", place / "mondrian.parquet"
    for table, file in zip((people, release), files, strict=True):
        table.write(file)
    blockings = {
        "compatible": {"match": "compatible", "any_of": [[{name: "exact"} for name in KEYS]]},
        "equality": {"match": "equality", "any_of": [coarsest(release)]},
    }
    times: dict[str, list[float]] = {name: [] for name in blockings}
    found = {}
    for name in (*blockings, *blockings):
        config = {"columns": COLUMNS, "attacker": {"blocking": blockings[name]}, "seed": 42}
        start = time.perf_counter()
        found[name] = cvpl.audit(*files, config)
        times[name].append(time.perf_counter() - start)
    ratio = min(times["compatible"]) / min(times["equality"])
    cells = [f"{records:,}"]
    for name, result in found.items():
        assert result.truth is not None  # noqa: S101 - the ids are there
        cells += [f"{min(times[name]):.1f}", f"{result.blocks.pairs:,}", f"{result.truth.blocking_recall:.3f}"]
        cells.append(f"{result.truth.top1_hit_rate:.3f}")
    return " | ".join(["", *cells, f"{ratio:.2f}", ""]).strip()


def main() -> None:
    """Print the table."""
    folder, *sizes = sys.argv[1:]
    figures = [f"{kind}, {it}" for kind in ("compatible", "equal") for it in ("s", "pairs", "recall", "top-1")]
    print(f"| records | {' | '.join(figures)} | ratio of times |\n|{'---|' * (len(figures) + 2)}")
    for records in map(int, sizes or ["100000", "1000000"]):
        print(measure(Path(folder), records), flush=True)


if __name__ == "__main__":
    main()
