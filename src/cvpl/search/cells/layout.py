"""The columns of a scorer by containment as flat arrays, which compiled code can read.

Columns are of three kinds. In an exact column a query has a range of codes that agree with it. A cell that is a range
of numbers or times allows the pieces from `first` to `last`; a cell that is a set of labels allows the labels of its
row in `allowed`. The scores are those of `CellScorer.pairs`, summed in the same order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import CellScorer
from cvpl.operators.similarity.containment import RangeCells, SetCells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

EXACT, RANGE, SET = 0, 1, 2


class CellColumns(NamedTuple):
    """What the distinct cells of each column allow, and their weights; the cells of column c begin at begins[c].

    `kinds` says what each column is. The row of a set in `allowed` begins at rows[c] + cell * labels[c].
    """

    kinds: Ints
    begins: Ints
    first: Words
    last: Words
    agree: Floats
    differ: Floats
    allowed: NDArray[np.uint8]
    rows: Ints
    labels: Ints


def lay_out(scorer: CellScorer) -> tuple[CellColumns, Words]:
    """The columns of a scorer, the exact ones first, and the codes of its candidates (records x columns)."""
    exact = scorer.exact.columns
    kinds, begins, rows, labels = [EXACT] * exact, [0] * exact, [0] * exact, [0] * exact
    first: list[Any] = [np.zeros(0)]
    last: list[Any] = [np.zeros(0)]
    agree: list[Any] = [np.zeros(0)]
    differ: list[Any] = [np.zeros(0)]
    allowed: list[Any] = [np.zeros(0)]
    for column in scorer.columns:
        begins.append(sum(map(len, agree)))
        rows.append(sum(map(len, allowed)))
        cells = column.cells
        if isinstance(cells, RangeCells):
            kinds.append(RANGE)
            labels.append(0)
            first.append(cells.first)
            last.append(cells.last)
        elif isinstance(cells, SetCells):
            kinds.append(SET)
            labels.append(cells.allowed.shape[1])
            # The first and the last label that a set allows; an empty set allows none.
            known = cells.allowed.any(axis=1)
            first.append(np.where(known, cells.allowed.argmax(axis=1), 1))
            last.append(np.where(known, cells.allowed.shape[1] - 1 - cells.allowed[:, ::-1].argmax(axis=1), 0))
            allowed.append(cells.allowed.ravel())
        else:
            raise TypeError(f"cells of the kind {type(cells).__name__} cannot be searched")
        agree.append(column.agree)
        differ.append(column.differ)
    columns = CellColumns(
        np.array(kinds, dtype=np.int64),
        np.array(begins, dtype=np.int64),
        np.concatenate(first).astype(np.int32),
        np.concatenate(last).astype(np.int32),
        np.concatenate(agree).astype(np.float64),
        np.concatenate(differ).astype(np.float64),
        np.concatenate(allowed).astype(np.uint8),
        np.array(rows, dtype=np.int64),
        np.array(labels, dtype=np.int64),
    )
    codes = np.column_stack([scorer.exact.b, *(column.codes for column in scorer.columns)])
    return columns, np.ascontiguousarray(codes, dtype=np.int32)
