"""Counts of a column before its type and role are known. Used only for proposals."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.result.published import Disclosure
from cvpl.tables.meaning.whole_labels import respelled
from cvpl.wording import percent

Rows = NDArray[np.int64]
SpelledSql = Callable[[str], str]
"""Respells the SQL of a text."""

_TELLING = 0.2
_ERRORS = 5


@dataclass(frozen=True, eq=False)
class Facts:
    """A column in one table: the sorted labels that are looked at, and the counts of the whole table.

    `codes` has each looked-at row's index into the labels, -1 where it is missing. `counts` says how many cells have
    each label, `known` how many are not missing, `distinct` how many labels there are.
    """

    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    rows: int
    known: int
    distinct: int

    @property
    def complete(self) -> bool:
        """Whether all labels of the table are looked at."""
        return self.distinct == len(self.labels)

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        return self.rows - self.known

    def count(self, labels: Collection[str]) -> int:
        """Count the cells with one of these labels."""
        wanted = set(labels)
        return int(sum(count for label, count in zip(self.labels, self.counts, strict=True) if label in wanted))

    def without(self, labels: Collection[str]) -> Facts:
        """The same column with these labels read as missing."""
        wanted = set(labels)
        gone = np.array([label in wanted for label in self.labels], dtype=bool)
        places = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)
        return Facts(
            places[self.codes].astype(np.int32),
            tuple(label for label in self.labels if label not in wanted),
            self.counts[~gone],
            self.rows,
            self.known - int(self.counts[gone].sum()),
            self.distinct - int(gone.sum()),
        )

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
        counts = np.bincount(places[:-1], self.counts, len(labels)).astype(np.int64)
        distinct = self.distinct - len(self.labels) + len(labels)
        return Facts(places[self.codes], labels, counts, self.rows, self.known, distinct)

    def frequencies(self) -> tuple[dict[str, int], int, int]:
        """Return how many cells have each label, how many are missing, and their sum.

        They are those of the whole table, or of the rows looked at if not all labels are.
        """
        if self.complete:
            return dict(zip(self.labels, self.counts.tolist(), strict=True)), self.missing, self.rows
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))
        found = dict(zip(self.labels, counts.tolist(), strict=True))
        return found, len(self.codes) - int(counts.sum()), len(self.codes)


@dataclass(frozen=True, eq=False)
class SharedColumn:
    """A column that both tables have.

    `count_shared` counts the labels that both tables have where not all are looked at; `spelled` are functions that
    respell SQL for it.
    """

    name: str
    original: Facts
    released: Facts
    count_shared: Callable[[Sequence[SpelledSql]], int] | None = None
    spelled: tuple[SpelledSql, ...] = ()

    @cached_property
    def shared(self) -> int:
        """The number of labels that both tables have."""
        if self.count_shared is not None:
            return self.count_shared(self.spelled)
        return len(set(self.original.labels) & set(self.released.labels))

    @cached_property
    def labels(self) -> set[str]:
        """All labels of both tables that are looked at."""
        return {*self.original.labels, *self.released.labels}

    @property
    def unique(self) -> bool:
        """Whether every original record has a value of its own."""
        return self.original.distinct == self.original.rows > 1

    def without(self, labels: Collection[str]) -> SharedColumn:
        """The same column with these labels read as missing."""
        if self.labels.isdisjoint(labels):
            return self
        return replace(self, original=self.original.without(labels), released=self.released.without(labels))

    def renamed(self, original: Facts, released: Facts, spelled: SpelledSql) -> SharedColumn:
        """Return the column with its labels spelled in another way; `spelled` does the same in SQL."""
        if original is self.original and released is self.released:
            return self
        return replace(self, original=original, released=released, spelled=(*self.spelled, spelled))

    def spelled_alike(self) -> SharedColumn:
        """Return the column with whole numbers spelled as in the original."""
        return self.renamed(self.original, self.released.spelled_like(self.original), _whole_sql)

    def agreement(self) -> float:
        """Return the share of the pairs of rows looked at whose cells are equal."""
        place = {label: code for code, label in enumerate(self.original.labels)}
        # A label that the original lacks is -2; the last entry is for missing values, whose code is -1.
        translated = np.array([*(place.get(label, -2) for label in self.released.labels), -1])
        return float(np.mean(self.original.codes == translated[self.released.codes]))

    def chance(self) -> float:
        """Return the share of all pairs of an original and a released cell that are equal."""
        original, original_missing, original_rows = self.original.frequencies()
        released, released_missing, released_rows = self.released.frequencies()
        equal = sum(original.get(label, 0) * count for label, count in released.items())
        equal += original_missing * released_missing
        return float(equal / (original_rows * released_rows))


def _whole_sql(text: str) -> str:
    """Return SQL that writes a whole number without decimals."""
    return f"regexp_replace({text}, '^(-?[0-9]+)[.]0+$', '\\1')"


@dataclass(frozen=True)
class RecordAgreement:
    """How often cells are equal in the paired records, and in any two records; `pairs` are looked at, of `of`."""

    paired: float
    chance: float
    pairs: int
    of: int

    @property
    def telling(self) -> bool:
        """Whether agreement is at least a fifth of the way from chance to equality, and not due to a few rows."""
        above = self.paired - self.chance
        error = math.sqrt(self.chance * (1 - self.chance) / self.pairs)
        return above >= _TELLING * (1 - self.chance) and above > _ERRORS * error

    def describe(self, disclosure: Disclosure) -> str:
        """How far the records agree, rounded."""
        among = disclosure.with_sizes(sampled=self.pairs)
        paired, chance = (percent(among.share(share, "sampled")) for share in (self.paired, self.chance))
        some = describe_sample(self.pairs, self.of, disclosure)
        return f"their records agree on {paired} of the cells, any two records on {chance}{some}"


def describe_sample(pairs: int, of: int, disclosure: Disclosure) -> str:
    """Say how many of the pairs are looked at, if not all."""
    return f" ({pairs:,} of {disclosure.counted(of, 'pair')} looked at)" if pairs < of else ""


def agreement(columns: Sequence[SharedColumn], of: int) -> RecordAgreement | None:
    """Measure the agreement of the pairs of rows looked at over all `columns`; None if there is nothing to compare.

    `of` is the number of all pairs.
    """
    if not columns or not of:
        return None
    paired = [column.agreement() for column in columns]
    chance = [column.chance() for column in columns]
    return RecordAgreement(float(np.mean(paired)), float(np.mean(chance)), len(columns[0].original.codes), of)
