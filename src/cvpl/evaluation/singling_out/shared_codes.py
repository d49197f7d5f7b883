"""The cells of two tables as numbers: equal numbers for equal cells, in both tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import combined_codes
from cvpl.tables.columns import Table

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SharedCodes:
    """The codes of each column (rows of the arrays) of originals and released records; -1 is missing or suppressed.

    A generalized cell is equal to the same generalized cell only, so it differs from every exact value.
    """

    names: tuple[str, ...]
    original: Codes
    released: Codes

    @classmethod
    def of(cls, original: Table, released: Table) -> SharedCodes:
        """Code every column that the two tables have in common."""
        names = tuple(spec.name for spec in original.specs if spec.name in released.columns)
        mine = np.empty((len(names), original.rows), dtype=np.int32)
        theirs = np.empty((len(names), released.rows), dtype=np.int32)
        for at, name in enumerate(names):
            column = original.columns[name].joined(released.columns[name])
            codes = column.distinct(plain=column.plain)[1]
            mine[at], theirs[at] = codes[: original.rows], codes[original.rows :]
        return cls(names, mine, theirs)

    def only(self, names: tuple[str, ...]) -> SharedCodes:
        """Some of the columns, in their order."""
        kept = [at for at, name in enumerate(self.names) if name in names]
        return SharedCodes(tuple(self.names[at] for at in kept), self.original[kept], self.released[kept])


@dataclass(frozen=True)
class Uniques:
    """How many records are unique: among the originals, in the release, and in both by the same values."""

    original: int
    released: int
    both: int


def uniques(codes: SharedCodes) -> Uniques:
    """Count records that no other record of their table equals in all columns.

    `both` counts originals that are unique and whose values one released record has, and no second one. Without
    columns all records are equal.
    """
    rows = codes.original.shape[1]
    columns = [np.concatenate([mine, theirs]) for mine, theirs in zip(codes.original, codes.released, strict=True)]
    keys = combined_codes(columns, rows + codes.released.shape[1])
    values = int(keys.max(initial=-1)) + 1
    mine, theirs = (np.bincount(part, minlength=values) for part in (keys[:rows], keys[rows:]))
    one, other = mine == 1, theirs == 1
    return Uniques(int(one.sum()), int(other.sum()), int((one & other).sum()))
