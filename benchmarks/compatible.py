"""Blocking by compatible keys on a Mondrian release, against blocking by equality.

    python benchmarks/compatible.py FOLDER [RECORDS ...]

Simulated people, k = 10 over age, gender, region and time, nobody removed and nothing suppressed. Four blockings:

    compatible   all four columns are keys; a person's candidates are the classes that hold the person's values
    finest       equality on the same keys: a range equals nobody's value
    coarsest     equality on keys that no class cuts through. Mondrian cuts ages and times anywhere, so what is left are
                 the columns, or the levels of them, that every class has whole
    usual        equality on age by tens, gender and the region's first level, as in the other benchmarks; classes cut
                 through its bins, so that some people are parted from their own record

All are whole audits by the paper's attacker, files to result, one after the other; times stand as ratios in one run.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import cvpl
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms.mondrian import Mondrian
from cvpl.laboratory.simulation import Touchpoints

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
    """The lines of one size."""
    place = folder / f"mondrian_{records}"
    place.mkdir(parents=True, exist_ok=True)
    people = Touchpoints(records=records).draw(np.random.default_rng(1))
    release = released(people)
    files = place / "original.parquet", place / "mondrian.parquet"
    for table, file in zip((people, release), files, strict=True):
        table.write(file)
    usual: list[dict[str, object]] = [{"age": {"bin": 10}}, {"gender": "exact"}, {"region": {"level": 1}}]
    blockings = {
        "compatible": {"match": "compatible", "any_of": [[{name: "exact"} for name in KEYS]]},
        "finest": {"any_of": [[{name: "exact"} for name in KEYS]]},
        "coarsest": {"any_of": [coarsest(release)]},
        "usual": {"any_of": [usual]},
    }
    lines, first = [], 0.0
    for name, blocking in blockings.items():
        config = {"columns": COLUMNS, "attacker": {"blocking": blocking}, "seed": 42}
        start = time.perf_counter()
        found = cvpl.audit(*files, config)
        seconds = time.perf_counter() - start
        first = first or seconds
        assert found.truth is not None  # noqa: S101 - the ids are there
        cells = [f"{records:,}", name, f"{found.blocks.pairs:,}", f"{found.truth.blocking_recall:.3f}"]
        cells += [f"{found.truth.top1_hit_rate:.3f}", f"{seconds:.1f}", f"{first / seconds:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    folder, *sizes = sys.argv[1:]
    print("| records | blocking | pairs | blocking recall | top-1 | seconds | compatible, in these times |")
    print("|---|---|---|---|---|---|---|")
    for records in map(int, sizes or ["100000", "1000000"]):
        print(measure(Path(folder), records), flush=True)


if __name__ == "__main__":
    main()
