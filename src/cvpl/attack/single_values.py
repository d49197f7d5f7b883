"""How much more often the release has the single values of a record than people outside the release have.

    score(x) = sum over columns of log f_release(x_c) - log f_reference(x_c),    f(v) = (1 + n(v)) / (1 + n)

A release that keeps exact values and draws each column on its own links nobody by whole records, but still says whose
values are in it. A missing value counts 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]


def value_ratios(people: Table, released: Table, reference: Table) -> Floats:
    """The score of each record."""
    total = np.zeros(people.rows)
    for spec in people.specs:
        asked, there, others = (table.columns[spec.name] for table in (people, released, reference))
        plain = asked.plain and there.plain and others.plain
        keys, codes = asked.distinct(plain=plain)
        ratio = _share(keys, there, plain=plain) - _share(keys, others, plain=plain)
        total += np.append(ratio, 0.0)[codes]
    return total


def _share(keys: NDArray[Any], column: ColumnData, *, plain: bool) -> Floats:
    """The logarithm of the share of the records that have each key; an unseen one counts once."""
    known, codes = column.distinct(plain=plain)
    counts = np.append(np.bincount(codes[codes >= 0], minlength=len(known)), 0)
    place = np.searchsorted(known, keys)
    has = np.zeros(len(keys), dtype=bool)
    inside = place < len(known)
    has[inside] = known[place[inside]] == keys[inside]
    found = np.where(has, counts[np.where(has, place, len(known))], 0)
    return np.asarray(np.log((1 + found) / (1 + len(codes))))
