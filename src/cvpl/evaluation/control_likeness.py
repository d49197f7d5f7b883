"""Whether a control can serve as one: drawn from the same people as the originals, and none of them in the release.

Three looks: at each column, at all of them together, and at rows that stand in both tables. An alarm needs a difference
that chance hardly makes and that is large enough to matter, so that millions of rows raise none for nothing. Rows are
taken as independent draws: where a person has many rows, an alarm may be about few people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.classifier_test import classifier_test
from cvpl.evaluation.intervals.shares import wilson_bounds
from cvpl.evaluation.two_samples import kolmogorov_smirnov, total_variation
from cvpl.tables.columns import ColumnData, Labels, Table
from cvpl.tables.row_keys import row_keys

ALPHA = 1e-5
"""The chance of a false alarm that all looks together may have by their laws; the docs have the measured one."""
FAR_COLUMN = 0.05
"""A distance of a column's distributions beyond this: the share of any event in it may differ by as much."""
FAR_AREA = 0.53
"""An area under the curve beyond this."""
FAR_COPIES = 0.01
"""Control rows that are copies of originals, beyond chance: so large a share of the attributable rate they may hide."""
TOO_ALIKE = 0.9
"""Where so many originals have a double, copies in the control tell nothing."""
FEWEST_RECORDS = 50
"""Fewer controls than this tell nothing of what they are like."""
MOST_ROWS = 100_000
"""More rows of a table than this are sampled for the look at columns, ..."""
MOST_JOINT = 5_000
"""... and more than this for the look at all columns together: limits of size are reached long before."""


@dataclass(frozen=True)
class ColumnLikeness:
    """How far a column's distributions are apart in the two tables.

    `distance` is the Kolmogorov-Smirnov distance of numbers and times and the total variation of labels, among known
    values; `missing` is the difference of the shares of missing ones. `p_value` is the smaller one of the two looks.
    """

    column: str
    distance: float
    missing: float
    p_value: float
    differs: bool
    message: str


@dataclass(frozen=True)
class JointLikeness:
    """How well the tables' rows are told apart by all columns together: an area under the curve, 0.5 for chance."""

    area: float
    standard_error: float | None
    differs: bool
    message: str


@dataclass(frozen=True)
class Copies:
    """The share of controls whose whole row is an original's, and that of originals whose whole row is another's.

    `beyond_chance` is (control - original) / (1 - original): the share of the control that had to be copied.
    """

    control_share: float
    original_share: float
    beyond_chance: float
    suspicious: bool
    message: str


@dataclass(frozen=True)
class ControlLikeness:
    """What speaks against a control; `alarms` holds a sentence for each, and no cell."""

    columns: tuple[ColumnLikeness, ...]
    joint: JointLikeness
    copies: Copies
    enough: bool

    @property
    def alarms(self) -> tuple[str, ...]:
        """The sentences of the looks that found something."""
        looks: tuple[ColumnLikeness | JointLikeness, ...] = (*self.columns, self.joint)
        found = [look.message for look in looks if look.differs]
        return (*found, self.copies.message) if self.copies.suspicious else tuple(found)

    @property
    def alike(self) -> bool:
        """Whether no look found anything."""
        return not self.alarms


def control_likeness(original: Table, control: Table, rng: np.random.Generator) -> ControlLikeness:
    """Compare a control with the originals, column by column, as a whole, and by rows that stand in both.

    The tables have the same columns, and labels one meaning. ALPHA is shared out evenly over the three looks, and among
    columns evenly again. With fewer than 50 records in a table nothing is called different.
    """
    enough = min(original.rows, control.rows) >= FEWEST_RECORDS
    level = ALPHA / 3
    copies = _copies(original, control, level, rng, enough=enough)
    mine, others = (_sample(table, MOST_ROWS, rng) for table in (original, control))
    names = [spec.name for spec in mine.specs]
    columns = tuple(
        _column(name, mine.columns[name], others.columns[name], level / len(names), enough=enough) for name in names
    )
    mine, others = (_sample(table, MOST_JOINT, rng) for table in (mine, others))
    found, error = classifier_test(mine, others, rng)
    limit = max(FAR_AREA, 0.5 - error * NormalDist().inv_cdf(level))
    differs = enough and found > limit
    joint = JointLikeness(found, error if math.isfinite(error) else None, differs, _joint_message(found, differs))
    return ControlLikeness(columns, joint, copies, enough)


def _joint_message(found: float, differs: bool) -> str:
    if differs:
        return (
            f"all columns together tell the control from the originals (area under the curve {found:.2f}, chance is "
            "0.50): the control is drawn from other people, and its rate is not the originals' base rate"
        )
    return f"all columns together do not tell the control from the originals (area under the curve {found:.2f})"


def _sample(table: Table, most: int, rng: np.random.Generator) -> Table:
    if table.rows <= most:
        return table
    return table.take(np.sort(rng.choice(table.rows, most, replace=False)).astype(np.intp))


def _column(name: str, first: ColumnData, second: ColumnData, level: float, *, enough: bool) -> ColumnLikeness:
    known = first.known(), second.known()
    distance, p_value = _known_distance(first, second, name)
    missing, p_missing = total_variation(*(np.bincount(item.astype(np.int64), minlength=2) for item in known))
    apart = [distance > FAR_COLUMN and p_value < level / 2, missing > FAR_COLUMN and p_missing < level / 2]
    differs = enough and any(apart)
    message = f"column '{name}' is spread alike in the control and the originals"
    if differs:
        kind = "values" if apart[0] else "missing values"
        message = (
            f"column '{name}': {kind} are spread otherwise in the control than in the originals (distance "
            f"{distance if apart[0] else missing:.2f}): the control is drawn from other people"
        )
    return ColumnLikeness(name, distance, missing, min(p_value, p_missing), differs, message)


@singledispatch
def _known_distance(first: ColumnData, second: ColumnData, name: str) -> tuple[float, float]:
    """How far the distributions of the known values are apart, and how often chance alone sets them so far apart."""
    return kolmogorov_smirnov(*(column.ordinal()[column.known()] for column in (first, second)))


@_known_distance.register(Labels)
def _label_distance(first: Labels, second: Labels, name: str) -> tuple[float, float]:
    if first.labels != second.labels:
        raise ValueError(f"column {name!r}: the two tables' labels have different codes")
    return total_variation(first.counts(), second.counts())


def _copies(original: Table, control: Table, level: float, rng: np.random.Generator, *, enough: bool) -> Copies:
    keys, others = row_keys(original), row_keys(control)
    ordered = np.sort(keys)
    asked = keys if len(keys) <= MOST_ROWS else rng.choice(keys, MOST_ROWS, replace=False)
    strangers = others if len(others) <= MOST_ROWS else rng.choice(others, MOST_ROWS, replace=False)
    base = float((_times(ordered, asked) > 1).mean())
    share = float((_times(ordered, strangers) > 0).mean())
    beyond = 0.0 if base >= 1 else max(0.0, (share - base) / (1 - base))
    # A double is a property of two originals, so their share varies up to twice as much as that of independent rows.
    far = -NormalDist().inv_cdf(level)
    above = share - wilson_bounds(share, len(strangers), far)[0]
    below = wilson_bounds(base, len(asked) / 4, far)[1] - base
    is_far = share - base > max(FAR_COPIES * (1 - base), math.hypot(above, below))  # Newcombe's interval
    suspicious = enough and base < TOO_ALIKE and is_far
    if suspicious:
        message = (
            f"{share:.1%} of the control's rows are exact copies of originals, where {base:.1%} are expected: about "
            f"{beyond:.1%} of the control seem to be people of the release, and its rate is too high"
        )
    elif base >= TOO_ALIKE:
        message = f"{base:.1%} of the originals have a double: rows do not tell whether the control holds originals"
    else:
        message = f"{share:.1%} of the control's rows are copies of originals, and {base:.1%} are expected"
    return Copies(share, base, beyond, suspicious, message)


def _times(ordered: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.searchsorted(ordered, keys, "right") - np.searchsorted(ordered, keys, "left")
    return found
