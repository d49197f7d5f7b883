"""Groupings of people: by the values of named columns, and by rarity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.groups.rarity_deciles import LABELS, deciles, rarity
from cvpl.evaluation.groups.subgroups import Grouping
from cvpl.tables.columns import ColumnData, Labels, Table

Ints = NDArray[np.int64]

QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
BY_RARITY = "rarity, by tenths"


def by_columns(
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


def by_rarity(original: Table, control: Table | None) -> Grouping:
    """Tenths of the originals from the most common to the rarest, and the tenths that controls would fall into."""
    own, others = rarity(original, control)
    return Grouping(BY_RARITY, LABELS, deciles(own), None if others is None else deciles(own, others))


def _quarters(column: ColumnData, edges: NDArray[np.float64]) -> Ints:
    return np.where(column.known(), np.searchsorted(edges, column.ordinal(), side="right"), -1).astype(np.int64)
