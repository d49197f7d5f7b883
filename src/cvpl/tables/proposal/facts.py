"""Counts of a column before its type and role are known. Used only for proposals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.reading import ColumnReader
from cvpl.tables.source import Source
from cvpl.tables.whole_labels import respelled

Rows = NDArray[np.int64]

_TELLING = 0.2
_ERRORS = 5


@dataclass(frozen=True, eq=False)
class Facts:
    """The sorted distinct texts of a column in one table, and each row's index into them; -1 where it is missing."""

    codes: NDArray[np.int32]
    labels: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The number of records in the table."""
        return len(self.codes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of records with each label."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels)).astype(np.int64)

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        return self.rows - int(self.counts.sum())

    @property
    def known(self) -> int:
        """The number of cells that are not missing."""
        return int(self.counts.sum())

    def count(self, labels: Sequence[str]) -> int:
        """Count the cells with one of these labels."""
        wanted = set(labels)
        return int(sum(count for label, count in zip(self.labels, self.counts, strict=True) if label in wanted))

    def without(self, labels: Sequence[str]) -> Facts:
        """The same column with these labels read as missing."""
        gone = np.array([label in set(labels) for label in self.labels], dtype=bool)
        places = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)
        kept = tuple(label for label in self.labels if label not in labels)
        return Facts(places[self.codes].astype(np.int32), kept)

    def spelled_like(self, other: Facts) -> Facts:
        """Return the column with whole numbers spelled as in the other table, as reading does."""
        return self.renamed(respelled(self.labels, other.labels).meant)

    def renamed(self, meant: Mapping[str, str]) -> Facts:
        """Return the column with some labels spelled in another way; equal ones become one."""
        if all(label == other for label, other in meant.items()):
            return self
        labels = tuple(sorted({meant.get(label, label) for label in self.labels}))
        place = {label: code for code, label in enumerate(labels)}
        places = np.array([*(place[meant.get(label, label)] for label in self.labels), -1], dtype=np.int32)
        return Facts(places[self.codes], labels)


@dataclass(frozen=True, eq=False)
class Column:
    """A column that both tables have."""

    name: str
    original: Facts
    released: Facts

    @cached_property
    def shared(self) -> int:
        """The number of labels that both tables have."""
        return len(set(self.original.labels) & set(self.released.labels))

    @cached_property
    def labels(self) -> set[str]:
        """All labels of both tables."""
        return {*self.original.labels, *self.released.labels}

    @property
    def unique(self) -> bool:
        """Whether every original record has a value of its own."""
        return len(self.original.labels) == self.original.rows > 1

    def without(self, labels: Sequence[str]) -> Column:
        """The same column with these labels read as missing."""
        if self.labels.isdisjoint(labels):
            return self
        return Column(self.name, self.original.without(labels), self.released.without(labels))

    def spelled_alike(self) -> Column:
        """Return the column with whole numbers spelled as in the original."""
        return Column(self.name, self.original, self.released.spelled_like(self.original))

    def agreement(self, original: Rows, released: Rows) -> float:
        """Return the share of these pairs of rows whose cells are equal."""
        place = {label: code for code, label in enumerate(self.original.labels)}
        # A label that the original lacks is -2; the last entry is for missing values, whose code is -1.
        translated = np.array([*(place.get(label, -2) for label in self.released.labels), -1])
        return float(np.mean(self.original.codes[original] == translated[self.released.codes[released]]))

    def chance(self) -> float:
        """Return the share of all pairs of an original and a released cell that are equal."""
        original = dict(zip(self.original.labels, self.original.counts.tolist(), strict=True))
        released = zip(self.released.labels, self.released.counts.tolist(), strict=True)
        equal = sum(original.get(label, 0) * count for label, count in released)
        equal += self.original.missing * self.released.missing
        return float(equal / (self.original.rows * self.released.rows))


@dataclass(frozen=True)
class Agreement:
    """How often cells are equal in the paired records, and in any two records."""

    paired: float
    chance: float
    pairs: int

    @property
    def telling(self) -> bool:
        """Whether agreement is at least a fifth of the way from chance to equality, and not due to a few rows."""
        above = self.paired - self.chance
        error = math.sqrt(self.chance * (1 - self.chance) / self.pairs)
        return above >= _TELLING * (1 - self.chance) and above > _ERRORS * error

    def __str__(self) -> str:
        return f"their records agree on {self.paired:.0%} of the cells, any two records on {self.chance:.0%}"


def agreement(columns: Sequence[Column], original: Rows, released: Rows) -> Agreement | None:
    """Measure the agreement of these pairs of rows over all `columns`; None if there is nothing to compare."""
    if not columns or not len(original):
        return None
    paired = [column.agreement(original, released) for column in columns]
    return Agreement(float(np.mean(paired)), float(np.mean([column.chance() for column in columns])), len(original))


def read_facts(reader: ColumnReader, source: Source, column: str) -> Facts:
    """Count one column of one table."""
    codes, labels = reader.codes(source, column)
    return Facts(codes, tuple(labels))
