"""How much more often the release has the single values of a record than other people have.

    score(x) = sum over columns of log f_release(x_c) - log f_others(x_c)

    f_release(v) = (n_release(v) + 0.05) / n_release        f_others(v) = (n_others(v) + 1) / n_others

The others are originals and controls together, without x itself. A release that keeps exact values and draws each
column on its own links nobody by whole records, but still says whose values are in it. A missing value counts 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]

UNSEEN = 0.05
"""A value that the release lacks counts as this many records: that it is not there tells much."""
USUAL = 1.0
"""What is added to the number of other people with a value."""


def value_ratios(people: Table, released: Table, known: list[Table], columns: Sequence[str]) -> Floats:
    """The score of each record by these columns; `known` are all people, the record's own table among them."""
    total = np.zeros(people.rows)
    size = max(1, sum(table.rows for table in known))
    for name in columns:
        asked, there = people.columns[name], released.columns[name]
        others = [table.columns[name] for table in known]
        plain = all(column.plain for column in (asked, there, *others))
        keys, codes = asked.distinct(plain=plain)
        own = sum(_counts(keys, column, plain=plain) for column in others) - 1
        found = np.log((_counts(keys, there, plain=plain) + UNSEEN) / max(1, released.rows))
        total += np.append(found - np.log((own + USUAL) / size), 0.0)[codes]
    return total


def _counts(keys: NDArray[Any], column: ColumnData, *, plain: bool) -> Floats:
    """The number of records that have each key."""
    known, codes = column.distinct(plain=plain)
    counts = np.append(np.bincount(codes[codes >= 0], minlength=len(known)), 0).astype(np.float64)
    place = np.searchsorted(known, keys)
    has = np.zeros(len(keys), dtype=bool)
    inside = place < len(known)
    has[inside] = known[place[inside]] == keys[inside]
    return counts[np.where(has, place, len(known))]
