"""False alarms and finds of the check that control and originals come from one population.

Run with the number of splits, and the folder of public tables where it is there:
`python docs/measurements/control.py 1000 $DATA`
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

from cvpl.evaluation.control_likeness import ControlTests, control_likeness
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.tables.columns import ColumnSpec, Labels, Table
from cvpl.tables.in_memory import pair_of
from cvpl.tables.pair import read_inputs

SIMULATED = {
    "age": "numeric",
    "gender": "category",
    "region": "category",
    "brand_product": "category",
    "purchase_place": "category",
    "purchase_time": "datetime",
    "days_after_ad": "numeric",
    "ad_channel": "category",
}
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
SIZES = ((60, 60), (200, 200), (2_000, 500), (5_000, 5_000))
LARGE = 5_000
"""Splits of so many rows are made a tenth as often."""


def simulated() -> Table:
    """Simulated people, with some values missing."""
    frame = Touchpoints(20_000, missing_rate=0.02).draw(stream(7, "measured people"))
    specs = [ColumnSpec(name, "attribute", kind) for name, kind in SIMULATED.items()]
    return pair_of([frame, frame], specs).original


def adult(data: Path) -> Table:
    """The training people of the Adult study."""
    file = data / "adult_study_2021" / "trn.csv.gz"
    with gzip.open(file, "rt") as text:
        header = text.readline().strip().split(",")
    specs = [ColumnSpec(item, "attribute", "numeric" if item in NUMBERS else "category") for item in header]
    return read_inputs(file, file, specs).pair.original


def false_alarms(name: str, table: Table, splits: int) -> None:
    """Random splits of one table, in which any alarm is false."""
    for n, m in SIZES:
        made = splits // 10 if n >= LARGE else splits
        alarms = {"column": 0, "joint": 0, "copies": 0, "any": 0}
        scaled = []
        for at in range(made):
            rng = stream(at, f"split {name} {n} {m}")
            rows = rng.permutation(table.rows)[: n + m]
            found = control_likeness(table.take(rows[:n]), table.take(rows[n:]), rng)
            alarms["column"] += any(column.differs for column in found.figures.columns)
            alarms["joint"] += found.joint.differs
            alarms["copies"] += found.copies.suspicious
            alarms["any"] += not found.figures.alike
            if found.joint.standard_error:
                scaled.append((found.joint.area - 0.5) / found.joint.standard_error)
        print(  # noqa: T201 - a table for the docs
            f"| {name} | {n:,} and {m:,} | {made:,} | {alarms['column']} | {alarms['joint']} | {alarms['copies']} "
            f"| {alarms['any']} | {np.mean(scaled):+.2f} ± {np.std(scaled):.2f} |",
            flush=True,
        )


def describe(name: str, found: ControlTests) -> None:
    """One line of what is found."""
    columns = found.figures.columns
    far = max(columns, key=lambda item: item.distance)
    print(  # noqa: T201
        f"| {name} | {sum(column.differs for column in columns)} of {len(columns)} | {far.distance:.2f} "
        f"| {found.joint.area:.2f}{' !' if found.joint.differs else ''} | {found.copies.control_share:.3f} against "
        f"{found.copies.original_share:.3f}{' !' if found.copies.suspicious else ''} |",
        flush=True,
    )


def finds(table: Table, name: str) -> None:
    """Controls that are none."""
    rng = stream(1, f"finds {name}")
    rows = rng.permutation(table.rows)
    half, other = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    mine = table.take(half)
    describe(f"{name}, a random half", control_likeness(mine, table.take(other), rng))
    small = rng.permutation(other)[:1_000]
    describe(f"{name}, 1,000 at random", control_likeness(mine, table.take(small), rng))
    for share in (0.02, 0.05, 0.2):
        mixed = np.concatenate([small[: int(1_000 * (1 - share))], half[: int(1_000 * share)]])
        describe(f"{name}, 1,000 with {share:.0%} originals", control_likeness(mine, table.take(mixed), rng))
    there = table.take(other)
    each = {spec.name: there.columns[spec.name].take(rng.permutation(there.rows)) for spec in table.specs}
    loose = Table("control", there.rows, table.specs, each)
    describe(f"{name}, columns drawn independently", control_likeness(mine, loose, rng))
    for column in ("sex", "gender"):
        data = table.columns.get(column)
        if isinstance(data, Labels):
            apart = [table.take(np.flatnonzero(data.codes == code)) for code in (0, 1)]
            describe(f"{name}, one {column} against the other", control_likeness(*apart, rng))
            only = tuple(spec.name for spec in table.specs if spec.name != column)
            describe(
                f"{name}, the same without that column", control_likeness(*(item.only(only) for item in apart), rng)
            )
    ages = table.columns["age"].values
    older = ages + rng.normal(0, 30, len(ages)) > np.nanmedian(ages)
    apart = [table.take(np.flatnonzero(side)) for side in (older, ~older)]
    describe(f"{name}, older against younger", control_likeness(*apart, rng))


if __name__ == "__main__":
    count = int(sys.argv[1])
    tables = {"simulated": simulated()}
    if len(sys.argv) > 2:
        tables["Adult"] = adult(Path(sys.argv[2]))
    for key, people in tables.items():
        finds(people, key)
    for key, people in tables.items():
        false_alarms(key, people, count)
