"""The class that compatible cells leave: the released records whose cells allow everything that is known of a person.

A cell allows a value as in `operators/similarity/cells`: the same value, an interval or a time span that contains it, a
group or a set that names it. A missing cell allows everything, and a missing value of a person is allowed by every
cell. The secrets of the class are what an attacker learns without choosing a record (homogeneity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import combined_codes
from cvpl.evaluation.inference.beliefs import Beliefs, normalized
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute
from cvpl.operators.similarity.containment import ColumnCells, cell_kinds
from cvpl.tables.columns import Table

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
_PAIRS = 1 << 24
"""Pairs of people and released profiles that are looked at together."""


@dataclass(frozen=True, eq=False)
class CompatibleClasses:
    """The released records in the columns `names`, and how people are compared with them."""

    cells: tuple[ColumnCells, ...]
    names: tuple[str, ...]
    profile: Ints
    codes: tuple[Codes, ...]
    """The cell of each profile, by column."""

    @classmethod
    def of(cls, original: Table, released: Table, names: Sequence[str]) -> CompatibleClasses:
        """The released profiles by the columns; `original` are the attacker's people."""
        cells = tuple(cell_kinds(name, original, released).cells(released.columns[name]) for name in names)
        profile = combined_codes([item.codes for item in cells], released.rows)
        first = np.unique(profile, return_index=True)[1]
        return cls(cells, tuple(names), profile, tuple(item.codes[first] for item in cells))

    @property
    def profiles(self) -> int:
        """The number of different released records."""
        return len(self.codes[0]) if self.codes else 1

    def beliefs(self, people: Table, secret: SensitiveAttribute) -> Beliefs:
        """The shares of each value of the secret in the class of each person; an empty row if nobody is compatible."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when secrets are inferred

        rows = np.flatnonzero(secret.released >= 0)
        values = csr_matrix(
            (np.ones(len(rows)), (self.profile[rows], secret.released[rows])), shape=(self.profiles, secret.size)
        )
        asked = [item.asked(people.columns[name]) for item, name in zip(self.cells, self.names, strict=True)]
        keys = combined_codes(asked, people.rows)
        first = np.unique(keys, return_index=True)[1]
        found = self._classes([codes[first] for codes in asked], len(first)) @ values
        return normalized(found.tocsr())[keys]

    def _classes(self, asked: Sequence[Codes], people: int) -> Any:
        """A sparse matrix of people by profiles: 1 where every cell allows what is known."""
        from scipy.sparse import csr_matrix, vstack  # noqa: PLC0415 - loaded when secrets are inferred

        exact = [at for at in range(len(asked)) if self.is_exact(at, asked[at])]
        others = [at for at in range(len(asked)) if at not in exact]
        groups, order, starts = self._grouped(exact, [asked[at] for at in exact], people)
        parts, chunk = [], max(1, _PAIRS // max(1, self.profiles))
        for left in range(0, people, chunk):
            some = slice(left, min(left + chunk, people))
            counts = starts[groups[some] + 1] - starts[groups[some]]
            who = np.repeat(np.arange(some.stop - some.start), counts)
            ends = np.cumsum(counts)
            place = np.arange(len(who)) - np.repeat(ends - counts, counts) + np.repeat(starts[groups[some]], counts)
            profile = order[place]
            for at in others:
                if not len(who):
                    break
                allowed = self._allows(at, asked[at][some][who], self.codes[at][profile])
                who, profile = who[allowed], profile[allowed]
            shape = some.stop - some.start, self.profiles
            parts.append(csr_matrix((np.ones(len(who)), (who, profile)), shape=shape))
        return vstack(parts).tocsr() if parts else csr_matrix((0, self.profiles))

    def is_exact(self, at: int, asked: Codes) -> bool:
        """Whether each code is allowed by one cell at most, and nothing is missing: then profiles can be looked up."""
        if (asked < 0).any() or (self.codes[at] < 0).any():
            return False
        different = np.unique(asked)
        step = max(1, _PAIRS // max(1, int(self.codes[at].max(initial=0)) + 1))
        return all(
            int(self.cells[at].allows(different[left : left + step]).sum(axis=1).max(initial=0)) <= 1
            for left in range(0, len(different), step)
        )

    def _grouped(self, exact: Sequence[int], asked: Sequence[Codes], people: int) -> tuple[Ints, Ints, Ints]:
        """The group of each person, the profiles in the order of groups, and where groups start in it.

        Profiles of a group have the cells that the person's exact columns ask for; group 0 is empty.
        """
        columns = []
        for at, codes in zip(exact, asked, strict=True):
            different, inverse = np.unique(codes, return_inverse=True)
            cell = np.full(len(different), -1, dtype=np.int32)
            step = max(1, _PAIRS // max(1, int(self.codes[at].max(initial=0)) + 1))
            for left in range(0, len(different), step):
                allowed = self.cells[at].allows(different[left : left + step])
                some = np.flatnonzero(allowed.any(axis=1))
                cell[left + some] = allowed[some].argmax(axis=1)
            columns.append(cell[inverse.reshape(-1)])
        none = np.zeros(people, dtype=bool)
        for wanted in columns:
            none |= wanted < 0
        both = [np.concatenate([wanted, self.codes[at]]) for wanted, at in zip(columns, exact, strict=True)]
        keys = combined_codes(both, people + self.profiles) + 1
        groups = np.where(none, 0, keys[:people])
        order = np.argsort(keys[people:], kind="stable").astype(np.int64)
        starts = np.searchsorted(keys[people:][order], np.arange(int(keys.max(initial=0)) + 2))
        return groups.astype(np.int64), order, starts.astype(np.int64)

    def _allows(self, at: int, asked: Codes, cell: Codes) -> NDArray[np.bool_]:
        """Whether each cell allows each code, pair by pair."""
        different, inverse = np.unique(asked, return_inverse=True)
        found = (asked < 0) | (cell < 0)
        step = max(1, _PAIRS // max(1, int(self.codes[at].max(initial=0)) + 1))
        inverse = inverse.reshape(-1)
        for left in range(0, len(different), step):
            allowed = self.cells[at].allows(different[left : left + step])
            mine = np.flatnonzero((inverse >= left) & (inverse < left + step) & (cell >= 0))
            found[mine] |= allowed[inverse[mine] - left, cell[mine]]
        return found
