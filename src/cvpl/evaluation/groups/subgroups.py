"""Rates by subgroup and the largest of them, without disclosing small groups.

An average may be low while one group is linked nearly always. But the largest of many rates is large by chance too. So
all intervals hold simultaneously, at 95% over all rows of all tables (Bonferroni), and the maximum has its row's.

Rows of one cluster (a household, an account, a person with several rows) are drawn together.

The tail: the most exposed tenth and hundredth of people, beside the mean. Who is most exposed is settled before the
attack, by rarity: how few others share a person's values. Choosing those who were linked would only repeat the result.
`rarity_deciles` has the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.groups.suppression import hidden_shares, pooled_rows, published_ranges
from cvpl.evaluation.intervals.bounds import Component, sampling_design, wilson_bounds
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import attributable_rate
from cvpl.result import TailShare
from cvpl.result.publishing import SUPPRESS_BELOW, RoundingGrid, grid_of, rounded_count
from cvpl.tables.columns import ColumnData, Labels, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


Bools = NDArray[np.bool_]
Ends = Callable[[float], tuple[float, float]]

NO_VALUE = "(no value)"
_ROUNDING = 1e-12
"""Shares that differ by less are equal; one record among everyone on earth differs by more."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """A way to group people: its name, the groups' labels, and the group of each original and each control.

    A code of -1 is a record without a value; such records form their own group.
    """

    name: str
    labels: tuple[str, ...]
    original: Ints
    control: Ints | None = None


@dataclass(frozen=True)
class GroupRow:
    """A group's rates; `groups` is how many groups the row pools, and its label is None where it pools several.

    `linked` is null if it is hidden. Then `at_least` and `at_most` together are a range that contains it, one of them
    alone is a bound, and neither means that nothing may be disclosed. Readers can compute the range from the table's
    shown rows, the bounds and the average. `low` and `high` are the ends of a Wilson interval that holds for all rows
    simultaneously: for `linked`, or `low` for `at_least` and `high` for `at_most` if these are given. `control` and
    `attributable` are null if they are hidden, or if there is no control.
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
    """The rows of one grouping: groups in their order, then the pooled ones."""

    name: str
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True)
class Maximum:
    """The largest rate over `rows` groups, of which `untold` have no known rate.

    `estimate` is the largest `linked`, or `at_least` if that is larger, and `table` and `label` name its row. If no
    hidden row may exceed it, `low` and `high` are those of that row. `at_least` means that the estimate is only a lower
    bound: a hidden row may exceed it, since its `at_most` (1 if absent) is larger. Then `high` is the largest upper end
    over the rows that may be the largest, and 1 for a row without one.

    The largest rate is never below the average. If all known rates are, the estimate is the average itself, `at_least`
    is true, `table` and `label` are None, and `low` is the lower end of the average. If the average is 0, every row is
    0 and the estimate is exact.
    """

    estimate: float
    low: float
    high: float
    table: str | None
    label: str | None
    rows: int
    untold: int
    at_least: bool = False


@dataclass(frozen=True)
class Subgroups:
    """All tables, the average, and the maximum over them, for the linked share and the attributable rate.

    `maximum_attributable` is the largest `attributable` of a row; it may be negative, and a hidden row may have more.
    `controlled` says whether there is a control to compare groups with: if not, `control` is null in every row.
    """

    tables: tuple[GroupTable, ...]
    average: float
    maximum: Maximum
    maximum_attributable: float | None
    controlled: bool = False

    @property
    def highest(self) -> float:
        """The largest upper interval end over all rows; the true rates of all groups lie below it at 95%."""
        return max(_upper_end(row) for table in self.tables for row in table.rows)


def subgroups(
    groupings: Sequence[Grouping],
    linked: Floats,
    control_linked: Floats | None = None,
    suppress_below: int = SUPPRESS_BELOW,
    cluster: Ints | None = None,
) -> Subgroups:
    """Rates by group for every grouping of the same people.

    `linked` is each original's link (0 or 1, or a share if candidates tie), `control_linked` the same for each control.
    `cluster` numbers the originals that belong together; None if each row is its own cluster.
    attributable = (linked - control) / (1 - control), null if control is 1. `suppression` explains what is hidden and
    why. Raises ValueError without a record, or with codes of another length.
    """
    if not len(linked) or not groupings:
        raise ValueError("rates by group need at least one record and one grouping")
    mine = [_codes_from_zero(item.original, len(item.labels), len(linked)) for item in groupings]
    place = pooled_rows(mine, suppress_below)
    rows = [place_of[codes] for place_of, codes in zip(place, mine, strict=True)]
    hidden = hidden_shares(rows, linked, suppress_below)
    controls = _control_shares(groupings, place, control_linked, suppress_below)
    count = sum(len(np.unique(row)) for row in rows)
    spread = ShareSpread(linked, cluster, (1 - CONFIDENCE) / count)
    tables = []
    for at, grouping in enumerate(groupings):
        sizes = np.bincount(rows[at])
        found = np.bincount(rows[at], weights=linked).astype(np.float64)
        members = np.split(np.argsort(rows[at], kind="stable"), np.cumsum(sizes)[:-1])
        ranges = published_ranges(found, sizes.astype(np.float64), hidden[at], suppress_below)
        shown = [
            _row(
                _label(grouping, place[at], row),
                int((place[at] == row).sum()),
                int(sizes[row]),
                float(found[row]),
                ranges.get(int(row)),
                None if controls is None else controls[at].get(int(row)),
                spread.of(members[row], hidden=int(row) in ranges),
            )
            for row in [*np.flatnonzero(sizes[1:]) + 1, *([0] if sizes[0] else [])]
        ]
        tables.append(GroupTable(grouping.name, tuple(shown)))
    known = [row.attributable for table in tables for row in table.rows if row.attributable is not None]
    average = float(linked.mean())
    maximum = largest_rate(tables, average, spread.of(np.arange(len(linked)))(average)[0])
    return Subgroups(tuple(tables), average, maximum, max(known, default=None), controls is not None)


@dataclass(frozen=True, eq=False)
class ShareSpread:
    """How far the shares of some people may be off, but for an `error`: by clusters, where rows belong together."""

    linked: Floats
    cluster: Ints | None
    error: float

    def of(self, people: NDArray[np.intp], *, hidden: bool = False) -> Ends:
        """What gives the ends of an interval about a share of these people.

        Of a row that is hidden the ends may show sizes alone, and not who is linked: its clusters count as if their
        records stood or fell together, which is as far as a share can be off.
        """
        size = len(people)
        if self.cluster is None:
            z = NormalDist().inv_cdf(1 - self.error / 2)
            return lambda share: wilson_bounds(share, size, z)
        cluster = np.unique(self.cluster[people], return_inverse=True)[1].reshape(-1).astype(np.int64)
        success = np.zeros(size) if hidden else self.linked[people]
        drawn = sampling_design([Component(success, cluster)], least=1.0, alike=True)
        return lambda share: drawn.ends(share, size, 1 - self.error)


def _codes_from_zero(codes: Ints, labels: int, records: int) -> Ints:
    """Codes from 0; records without a value come after the last label."""
    if len(codes) != records or codes.max(initial=-1) >= labels or codes.min(initial=-1) < -1:
        raise ValueError("every record needs the code of a label, or -1")
    return np.where(codes < 0, labels, codes).astype(np.int64)


def _control_shares(
    groupings: Sequence[Grouping], place: Sequence[Ints], linked: Floats | None, k: int
) -> list[dict[int, float]] | None:
    """The control's share for every row where it may be shown; control groups without originals have no row."""
    if linked is None or not len(linked) or any(item.control is None for item in groupings):
        return None
    rows = []
    for grouping, place_of in zip(groupings, place, strict=True):
        codes = _codes_from_zero(np.asarray(grouping.control), len(grouping.labels), len(linked))
        full = np.full(len(grouping.labels) + 1, -1, dtype=np.int64)
        full[: len(place_of)] = place_of
        # Row 0 and one row each for the rest: control groups without originals share one more row, never shown.
        nowhere = int(place_of.max()) + 1
        rows.append(np.where(full[codes] < 0, nowhere, full[codes]))
    hidden = hidden_shares(rows, linked, k)
    shares = []
    for row, mask in zip(rows, hidden, strict=True):
        sizes, found = np.bincount(row), np.bincount(row, weights=linked)
        shares.append({int(item): float(found[item] / sizes[item]) for item in np.flatnonzero(sizes) if not mask[item]})
    return shares


def _label(grouping: Grouping, place: Ints, row: int) -> str | None:
    groups = np.flatnonzero(place == row)
    if len(groups) != 1:
        return None
    return NO_VALUE if groups[0] == len(grouping.labels) else grouping.labels[int(groups[0])]


def _row(
    label: str | None,
    groups: int,
    size: int,
    found: float,
    hidden: tuple[float, float] | None,
    base: float | None,
    ends: Ends,
) -> GroupRow:
    """A group's row; `hidden` is the range published instead of `found` if that is hidden."""
    if hidden is None:
        share = found / size
        beyond = None if base is None else attributable_rate(share, base)
        return GroupRow(label, groups, size, share, None, None, *ends(share), base, beyond)
    fewest, most = hidden
    at_least = fewest / size if fewest > size * _ROUNDING else None
    at_most = most / size if most < size * (1 - _ROUNDING) else None
    low = None if at_least is None else ends(at_least)[0]
    high = None if at_most is None else ends(at_most)[1]
    return GroupRow(label, groups, size, None, at_most, at_least, low, high, base, None)


def largest_rate(tables: Sequence[GroupTable], average: float, average_low: float) -> Maximum:
    """The largest rate; `average_low` is the lower interval end of the average."""
    rows = [(table.name, row) for table in tables for row in table.rows]
    hidden = [row for _, row in rows if row.linked is None]
    untold = sum(row.at_least is None and row.at_most is None for row in hidden)
    name, top = max(rows, key=lambda named: (_least(named[1]), named[1].linked is not None))
    known = top.linked is not None or top.at_least is not None
    if not known or _least(top) < average - _ROUNDING:
        ends = [_upper_end(row) for row in hidden if _largest_share(row) >= average - _ROUNDING]
        low, high = min(average_low, average), max([average, *ends])
        return Maximum(average, low, high, None, None, len(rows), untold, at_least=average > 0)
    estimate = max(_least(top), average)
    larger = [row for row in hidden if _largest_share(row) > estimate + _ROUNDING]
    high = max(_upper_end(row) for row in [top, *larger])
    return Maximum(estimate, top.low or 0.0, high, name, top.label, len(rows), untold, bool(larger))


def _least(row: GroupRow) -> float:
    """The smallest share that a row may have, given what is published."""
    return row.linked if row.linked is not None else (row.at_least or 0.0)


def _largest_share(row: GroupRow) -> float:
    """The largest share that a row may have, given what is published."""
    if row.linked is not None:
        return row.linked
    return 1.0 if row.at_most is None else row.at_most


def _upper_end(row: GroupRow) -> float:
    return 1.0 if row.high is None else row.high


QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
BY_RARITY = "rarity, by tenths"


def groups_by_columns(
    columns: Mapping[str, tuple[ColumnData, ColumnData | None]], people: Ints, control_rows: Ints
) -> list[Grouping]:
    """A grouping for each column: by label, or by the originals' quartiles for numbers and times."""
    found = []
    for name, (mine, theirs) in columns.items():
        names, group = _groups(mine)
        others = None if theirs is None else group(theirs.take(control_rows))
        found.append(Grouping(name, names, group(mine.take(people)), others))
    return found


@singledispatch
def _groups(originals: ColumnData) -> tuple[tuple[str, ...], Callable[[Any], Ints]]:
    """The group names derived from the originals' values, and a function from records to groups; -1 is none."""
    known = originals.ordinal()[originals.known()]
    edges = np.quantile(known, [0.25, 0.5, 0.75]) if len(known) else np.zeros(3)
    return QUARTERS, partial(_quarters, edges=edges)


@_groups.register(Labels)
def _label_groups(originals: Labels) -> tuple[tuple[str, ...], Callable[[Any], Ints]]:
    return originals.labels, lambda column: column.codes.astype(np.int64)


def groups_by_rarity(original: Table, control: Table | None) -> Grouping:
    """Tenths of the originals from the most common to the rarest, and the tenths that controls would fall into."""
    own, others = rarity(original, control)
    return Grouping(BY_RARITY, LABELS, deciles(own), None if others is None else deciles(own, others))


def _quarters(column: ColumnData, edges: NDArray[np.float64]) -> Ints:
    return np.where(column.known(), np.searchsorted(edges, column.ordinal(), side="right"), -1).astype(np.int64)


DECILES = 10
DISTINCT_SHARE = 0.5
"""Number and time columns with more than this share of distinct values are binned: frequencies mean little there."""

LABELS = ("1 (commonest)", *(str(number) for number in range(2, DECILES)), f"{DECILES} (rarest)")


def rarity(original: Table, control: Table | None = None) -> tuple[Floats, Floats | None]:
    """Σ over the columns of log(1 / frequency of the record's value among the originals), for originals and controls.

    A missing value counts as a value. Numbers and times that are mostly distinct count by their decile. A control is
    counted as if it were one more original, so that its rarity has the same meaning and is finite: it has
    log((n + 1) / (count + 1)) where an original has log(n / count).
    """
    own = np.zeros(original.rows)
    other = None if control is None else np.zeros(control.rows)
    for spec in original.specs:
        column = original.columns[spec.name]
        edges = _edges(column)
        values, counts = np.unique(_value(column, edges), return_counts=True)
        place = np.searchsorted(values, _value(column, edges))
        own += np.log(original.rows / counts[place])
        if control is not None and other is not None:
            asked = _value(control.columns[spec.name], edges)
            place = np.minimum(np.searchsorted(values, asked), len(values) - 1)
            found = np.where(values[place] == asked, counts[place], 0)
            other += np.log((original.rows + 1) / (found + 1))
    return _round_sums(own), None if other is None else _round_sums(other)


def deciles(own: Floats, asked: Floats | None = None) -> Ints:
    """The group of each of `asked` (default: the originals), 0 for the most common tenth, 9 for the rarest.

    floor(10 x originals that are less rare / originals): equal rarities are in one group, so groups may be uneven.
    """
    ordered = np.sort(own)
    below = np.searchsorted(ordered, own if asked is None else asked, side="left")
    return np.minimum(below * DECILES // len(own), DECILES - 1).astype(np.int64)


def _edges(column: ColumnData) -> Floats | None:
    """The inner decile edges of a column that is mostly distinct."""
    if not column.ordered:
        return None
    known = column.ordinal()[column.known()]
    if not len(known) or len(np.unique(known)) <= DISTINCT_SHARE * len(known):
        return None
    return np.quantile(known, np.arange(1, DECILES) / DECILES)


def _value(column: ColumnData, edges: Floats | None) -> Floats:
    """A number for each value, -inf for a missing one."""
    values = column.ordinal()
    known = ~np.isnan(values)
    if edges is not None:
        values = np.searchsorted(edges, values, side="right").astype(np.float64)
    return np.where(known, values, -np.inf)


def _round_sums(values: Floats) -> Floats:
    """Round so that sums that differ only in the order of their terms are equal."""
    return np.round(values, 9)


def rounded_rates(found: Subgroups, k: int) -> Subgroups:
    """The rates with every row rounded by its own number of people; exact with k = 1.

    Lower bounds are rounded down and upper ones up, so a range never gets narrower.
    """
    if k <= 1:
        return found
    tables = tuple(GroupTable(table.name, tuple(_rounded_row(row, k) for row in table.rows)) for table in found.tables)
    people = sum(row.records for row in found.tables[0].rows)
    whole = grid_of(people, k)
    average = whole.nearest(found.average)
    known = [row.attributable for table in tables for row in table.rows if row.attributable is not None]
    return replace(
        found,
        tables=tables,
        average=average,
        maximum=_maximum(found, tables, average, whole),
        maximum_attributable=max(known, default=None),
    )


def _rounded_row(row: GroupRow, k: int) -> GroupRow:
    grid = grid_of(row.records, k)
    # A lower bound of 0, or an upper one of 1, says nothing.
    at_least = None if row.at_least is None else grid.down(row.at_least) or None
    at_most = None if row.at_most is None or grid.up(row.at_most) >= 1 else grid.up(row.at_most)
    return replace(
        row,
        records=rounded_count(row.records, k),
        linked=None if row.linked is None else grid.nearest(row.linked),
        at_least=at_least,
        at_most=at_most,
        low=None if row.low is None or (row.linked is None and at_least is None) else grid.down(row.low),
        high=None if row.high is None or (row.linked is None and at_most is None) else grid.up(row.high),
        control=None if row.control is None else grid.nearest(row.control),
        attributable=None if row.attributable is None else grid.nearest(row.attributable),
    )


def _maximum(found: Subgroups, tables: tuple[GroupTable, ...], average: float, whole: RoundingGrid) -> Maximum:
    """The largest rate, with the figures of its row as that is published, and never below the average."""
    most = found.maximum
    pairs = [
        (name.name, row, new)
        for name, table in zip(found.tables, tables, strict=True)
        for row, new in zip(name.rows, table.rows, strict=True)
    ]
    estimate = average
    for name, row, new in pairs:
        if most.table is not None and (name, row.label) == (most.table, most.label):
            estimate = max(average, new.linked if new.linked is not None else new.at_least or 0.0)
    low = next((new.low for _, row, new in pairs if row.low == most.low and new.low is not None), whole.down(most.low))
    high = next((new.high for _, row, new in pairs if row.high == most.high), whole.up(most.high))
    return replace(most, estimate=estimate, low=min(low, estimate), high=1.0 if high is None else max(high, estimate))


SHARES = (0.01, 0.1, 1.0)
"""The rarest hundredth, the rarest tenth, everybody."""
FEWEST_PEOPLE = 20
"""The fewest people of a row."""


def tail(measured: Measurement) -> list[TailShare]:
    """The rarest hundredth and tenth, and everybody; empty if links are not defined."""
    linked = measured.linked
    if linked is None:
        return []
    done, truth = measured.attack, measured.truth
    own, _ = rarity(done.held)
    hit = None if truth is None else np.where(truth.has_match, truth.hit, np.nan)
    originals = measured.spread.originals
    cluster = originals.cluster if originals.alike else None
    return tail_rows(own, linked[0], hit, cluster)


def tail_rows(rare: Floats, linked: Floats, hit: Floats | None = None, cluster: Ints | None = None) -> list[TailShare]:
    """The rows of the tail; a share of fewer than 20 people has none.

    The rarest share p are the ⌈p n⌉ people with the highest rarity `rare`, and all who are as rare as the last of them.
    `hit` is NaN for people without a known match. The interval is Wilson's at 95%; `right` is null if fewer than 20 of
    them have one.
    """
    found = []
    for share in SHARES:
        count = int(np.ceil(share * len(rare) - 1e-9))
        if count < FEWEST_PEOPLE:
            continue
        inside = rare >= np.partition(rare, len(rare) - count)[len(rare) - count]
        values = linked[inside]
        rate = float(values.mean())
        own = None if cluster is None else cluster[inside]
        design = sampling_design([Component(values, own)], least=1.0, alike=cluster is not None)
        known = np.zeros(0) if hit is None else hit[inside & ~np.isnan(hit)]
        right = float(known.mean()) if len(known) >= FEWEST_PEOPLE else None
        low, high = design.cautious_ends(rate, len(values), CONFIDENCE)
        people = int(inside.sum())
        found.append(TailShare(share=share, people=people, linked=rate, low=low, high=high, right=right))
    return found
