"""The rarity of each record among the originals, and ten groups from the most common to the rarest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
    return _rounded(own), None if other is None else _rounded(other)


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


def _rounded(values: Floats) -> Floats:
    """Round so that sums that differ only in the order of their terms are equal."""
    return np.round(values, 9)
