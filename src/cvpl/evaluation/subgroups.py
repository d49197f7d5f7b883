"""Who is at risk: rates by subgroup and the largest of them, with nothing told of small groups.

An average may be low while one group is found nearly always. But the largest of many groups is large by chance too: so
all intervals hold together, at 95% over all rows of all tables (Bonferroni), and the maximum has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.control import attributable_rate
from cvpl.evaluation.shares import CONFIDENCE, wilson_ends
from cvpl.evaluation.suppression import bounds, hidden_shares, pooled_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SUPPRESS_BELOW = 10
NO_VALUE = "(no value)"


@dataclass(frozen=True, eq=False)
class Grouping:
    """A way to group people: its name, the groups' labels, and the group of each original and each control.

    A code of -1 is a record without a value; these are a group of their own.
    """

    name: str
    labels: tuple[str, ...]
    original: Ints
    control: Ints | None = None


@dataclass(frozen=True)
class GroupRow:
    """A group's rates; `groups` is how many groups the row pools, and its label is None where it pools several.

    `linked` is null where it must not be told: then `at_most` or `at_least` bounds it, or nothing does. `low` and
    `high` are the ends of a Wilson interval that holds for all rows together; for a bound the far end alone is given.
    `control` and `attributable` are null where the group's control must not be told, or is not there.
    """

    label: str | None
    groups: int
    records: int
    linked: float | None
    at_most: float | None
    at_least: float | None
    low: float | None
    high: float | None
    control: float | None
    attributable: float | None


@dataclass(frozen=True)
class GroupTable:
    """The rows of one grouping, groups in their order and the pooled ones last."""

    name: str
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True)
class Maximum:
    """The largest rate over the groups that are shown, of `rows` rows, of which `untold` cannot be told.

    The largest true rate lies between `low` and `high` with 95% confidence, however many groups there are. `table` and
    `label` are those of the largest estimate. Where a row cannot be told, or its share is only bounded from below,
    the estimate is `at_least` so much: some group has no less than the average, so neither has the largest; and
    nothing is known of how large it is at most.
    """

    estimate: float | None
    low: float | None
    high: float | None
    table: str | None
    label: str | None
    rows: int
    untold: int
    at_least: bool = False


@dataclass(frozen=True)
class Subgroups:
    """All tables, the average beside them, and the maximum over them, of the linked share and of the attributable."""

    tables: tuple[GroupTable, ...]
    average: float
    maximum: Maximum
    maximum_attributable: float | None


def subgroups(
    groupings: Sequence[Grouping],
    linked: Floats,
    control_linked: Floats | None = None,
    suppress_below: int = SUPPRESS_BELOW,
) -> Subgroups:
    """Rates by group for every grouping of the same people.

    `linked` says of each original whether it is linked (0 or 1, or a share where candidates tie), `control_linked` the
    same of each control. attributable = (linked - control) / (1 - control), null where control is 1. What is hidden,
    and why, stands in `suppression`. Without a record, or with codes of another length, a ValueError.
    """
    if not len(linked) or not groupings:
        raise ValueError("rates by group need at least one record and one grouping")
    mine = [_counted(it.original, len(it.labels), len(linked)) for it in groupings]
    place = pooled_rows(mine, suppress_below)
    rows = [place_of[codes] for place_of, codes in zip(place, mine, strict=True)]
    hidden = hidden_shares(rows, linked, suppress_below)
    controls = _control_shares(groupings, place, control_linked, suppress_below)
    count = sum(len(np.unique(row)) for row in rows)
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / (2 * count))
    tables = []
    for at, grouping in enumerate(groupings):
        sizes = np.bincount(rows[at])
        found = np.bincount(rows[at], weights=linked)
        told = [
            _row(
                _label(grouping, place[at], row),
                int((place[at] == row).sum()),
                int(sizes[row]),
                float(found[row]),
                bool(hidden[at][row]),
                None if controls is None else controls[at].get(int(row)),
                z,
                suppress_below,
            )
            for row in [*np.flatnonzero(sizes[1:]) + 1, *([0] if sizes[0] else [])]
        ]
        tables.append(GroupTable(grouping.name, tuple(told)))
    known = [row.attributable for table in tables for row in table.rows if row.attributable is not None]
    average = float(linked.mean())
    return Subgroups(tuple(tables), average, _maximum(tables, average), max(known, default=None))


def _counted(codes: Ints, labels: int, records: int) -> Ints:
    """Codes from 0, those without a value behind the last label."""
    if len(codes) != records or codes.max(initial=-1) >= labels or codes.min(initial=-1) < -1:
        raise ValueError("every record needs the code of a label, or -1")
    return np.where(codes < 0, labels, codes).astype(np.int64)


def _control_shares(
    groupings: Sequence[Grouping], place: Sequence[Ints], linked: Floats | None, k: int
) -> list[dict[int, float]] | None:
    """The control's share for every row in which it may be told. A control's group that has no original has no row."""
    if linked is None or not len(linked) or any(it.control is None for it in groupings):
        return None
    rows = []
    for grouping, place_of in zip(groupings, place, strict=True):
        codes = _counted(np.asarray(grouping.control), len(grouping.labels), len(linked))
        full = np.full(len(grouping.labels) + 1, -1, dtype=np.int64)
        full[: len(place_of)] = place_of
        # Row 0 and rows of their own for the rest: the strangers' groups are one more row, never shown.
        nowhere = int(place_of.max()) + 1
        rows.append(np.where(full[codes] < 0, nowhere, full[codes]))
    hidden = hidden_shares(rows, linked, k)
    shares = []
    for row, mask in zip(rows, hidden, strict=True):
        sizes, found = np.bincount(row), np.bincount(row, weights=linked)
        shares.append({int(it): float(found[it] / sizes[it]) for it in np.flatnonzero(sizes) if not mask[it]})
    return shares


def _label(grouping: Grouping, place: Ints, row: int) -> str | None:
    groups = np.flatnonzero(place == row)
    if len(groups) != 1:
        return None
    return NO_VALUE if groups[0] == len(grouping.labels) else grouping.labels[int(groups[0])]


def _row(
    label: str | None, groups: int, size: int, found: float, hidden: bool, base: float | None, z: float, k: int
) -> GroupRow:
    if not hidden:
        share = found / size
        beyond = None if base is None else attributable_rate(share, base)
        return GroupRow(label, groups, size, share, None, None, *wilson_ends(share, size, z), base, beyond)
    fewest, most = bounds(found, size, k)
    at_most = most / size if (fewest, most) == (0.0, k - 1.0) and most < size else None
    at_least = fewest / size if most == size and fewest > 0 else None
    low = None if at_least is None else wilson_ends(at_least, size, z)[0]
    high = None if at_most is None else wilson_ends(at_most, size, z)[1]
    return GroupRow(label, groups, size, None, at_most, at_least, low, high, base, None)


def _maximum(tables: Sequence[GroupTable], average: float) -> Maximum:
    rows = [(table.name, row) for table in tables for row in table.rows]
    told = [(name, row) for name, row in rows if row.linked is not None or row.at_least is not None]
    lows = [row.low for _, row in rows if row.low is not None]
    highs = [1.0 if row.at_least is not None else row.high for _, row in rows]
    known = [high for high in highs if high is not None]
    untold = len(highs) - len(known)
    top = max(told, key=lambda it: it[1].linked if it[1].linked is not None else (it[1].at_least or 0.0), default=None)
    name, row = (None, None) if top is None else top
    estimate = None if row is None else row.linked if row.linked is not None else row.at_least
    label = None if row is None else row.label
    high = 1.0 if untold else max(known, default=None)
    bounded = untold > 0 or (row is not None and row.linked is None)
    if untold and (estimate is None or estimate < average):
        estimate, name, label = average, None, None
    return Maximum(estimate, max(lows, default=None), high, name, label, len(rows), untold, bounded)
