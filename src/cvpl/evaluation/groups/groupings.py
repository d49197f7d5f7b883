"""The people in groups: by the values of columns that the person named, and by how rare they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.classifier_test import ordinal
from cvpl.evaluation.groups.rarity_deciles import LABELS, deciles, rarity
from cvpl.evaluation.groups.subgroups import Grouping
from cvpl.tables.columns import ColumnData, Labels, Table

Ints = NDArray[np.int64]

QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
BY_RARITY = "rarity, by tenths"


def by_columns(
    columns: Mapping[str, tuple[ColumnData, ColumnData | None]], people: Ints, control_rows: Ints
) -> list[Grouping]:
    """A grouping for each column: by its labels, or by the quarters of the originals for numbers and times."""
    found = []
    for name, (mine, theirs) in columns.items():
        asked = mine.take(people)
        others = None if theirs is None else theirs.take(control_rows)
        if isinstance(asked, Labels):
            codes = None if not isinstance(others, Labels) else others.codes.astype(np.int64)
            found.append(Grouping(name, asked.labels, asked.codes.astype(np.int64), codes))
            continue
        known = ordinal(mine)[mine.known()]
        edges = np.quantile(known, [0.25, 0.5, 0.75]) if len(known) else np.zeros(3)
        quarters = [None if item is None else _quarters(item, edges) for item in (asked, others)]
        assert quarters[0] is not None  # noqa: S101 - the originals are there
        found.append(Grouping(name, QUARTERS, quarters[0], quarters[1]))
    return found


def by_rarity(original: Table, control: Table | None) -> Grouping:
    """Tenths of the originals, from the commonest to the rarest, and where the control people would be among them."""
    own, others = rarity(original, control)
    return Grouping(BY_RARITY, LABELS, deciles(own), None if others is None else deciles(own, others))


def _quarters(column: ColumnData, edges: NDArray[np.float64]) -> Ints:
    return np.where(column.known(), np.searchsorted(edges, ordinal(column), side="right"), -1).astype(np.int64)
