"""Errors in what an attacker knows: some of its values are another person's."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.randomness import stream
from cvpl.tables.columns import ColumnData, Table


def with_errors(table: Table, share: float, seed: int) -> Table:
    """The table with each value replaced, with probability `share`, by that of a row drawn from the same table.

    Columns are drawn on their own, by the names of table and column, so that a column has the same errors whatever else
    is known. A drawn row may have the same value, so at most this share is wrong. Without errors it is the same table.
    """
    if share <= 0 or not table.rows:
        return table

    def change(name: str, column: ColumnData) -> ColumnData:
        return column.take(sources(table.rows, share, stream(seed, f"errors in {table.name} {name}")))

    return table.altered({spec.name: partial(change, spec.name) for spec in table.specs})


def sources(rows: int, share: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """The row from which each row takes its value: itself or, with probability `share`, any row of the table."""
    wrong = rng.random(rows) < share
    return np.where(wrong, rng.integers(rows, size=rows), np.arange(rows)).astype(np.intp)
