"""What the cells of a column mean depends on few facts of whole tables; each joins from those of parts of a table.

"80+" is 80 up to the largest original, "30-39" is an interval of whole numbers if the originals are whole, a day among
times has lost its clock time, and a label means what the tables' labels together say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.labels import LabelRespelling, find_respellings
from cvpl.tables.meaning.protected_values import is_gone

Instants = NDArray[np.datetime64]

ORIGINAL, RELEASE = "original", "protected"
"""The table whose values say what cells mean, and the only one that may hold suppressed or generalized values."""


@dataclass(frozen=True)
class NumberFacts:
    """Whether all known numbers of the originals are whole, and the smallest and the largest of them."""

    whole: bool = False
    smallest: float = np.inf
    largest: float = -np.inf

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> NumberFacts:
        """The facts of the originals' numbers, or of some of them."""
        known = values[np.isfinite(values)]
        if not known.size:
            return cls()
        return cls(bool(np.all(known == np.trunc(known))), float(known.min()), float(known.max()))

    def joined(self, other: NumberFacts) -> NumberFacts:
        """The facts of both parts."""
        if self.smallest > self.largest or other.smallest > other.largest:
            return other if self.smallest > self.largest else self
        ends = min(self.smallest, other.smallest), max(self.largest, other.largest)
        return NumberFacts(self.whole and other.whole, *ends)


@dataclass(frozen=True)
class TimeFacts:
    """The first and the last time of the originals, and whether originals and the release have clock times.

    `released_clock` says whether the release has a clock time besides days: then a day there has lost its own.
    """

    earliest: np.datetime64 | None = None
    latest: np.datetime64 | None = None
    clock: bool = False
    released_clock: bool = False

    @classmethod
    def of(cls, times: Instants) -> TimeFacts:
        """The facts of the originals' times, or of some of them."""
        known = times[~np.isnat(times)]
        if not known.size:
            return cls()
        return cls(known.min(), known.max(), has_clock(known))

    def joined(self, other: TimeFacts) -> TimeFacts:
        """The facts of both parts."""
        firsts = [part.earliest for part in (self, other) if part.earliest is not None]
        lasts = [part.latest for part in (self, other) if part.latest is not None]
        return TimeFacts(
            min(firsts, default=None),
            max(lasts, default=None),
            self.clock or other.clock,
            self.released_clock or other.released_clock,
        )

    @property
    def ends(self) -> tuple[datetime, datetime] | tuple[None, None]:
        """The first and the last time, if there are any that `datetime` supports."""
        if self.earliest is None or self.latest is None:
            return None, None
        first, last = self.earliest.item(), self.latest.item()
        return (first, last) if isinstance(first, datetime) and isinstance(last, datetime) else (None, None)


def has_clock(times: Instants) -> bool:
    """Whether any time has a clock time other than midnight."""
    known = times[~np.isnat(times)]
    return bool(np.any(known != known.astype("datetime64[D]")))


@dataclass(frozen=True, eq=False)
class LabelFacts:
    """The sorted distinct labels of each table, the original first, and what each of them means."""

    spec: ColumnSpec
    distinct: Mapping[str, Sequence[str]]
    _originals: set[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_originals", set(next(iter(self.distinct.values()))))

    @property
    def originals(self) -> set[str]:
        """The labels of the original."""
        return self._originals

    @cached_property
    def spelled(self) -> dict[str, LabelRespelling]:
        """For each table, the labels that differ from an original one only by zero decimals."""
        listed = self._listed
        return {table: find_respellings(labels, listed) for table, labels in self.distinct.items()}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The sorted labels of all tables; equal codes into them mean equal values."""
        others = list(self.distinct)[1:]
        return tuple(sorted(self._originals.union(*(self._meant[table].values() for table in others))))

    @cached_property
    def _listed(self) -> set[str]:
        return self._originals.union(self.spec.parents or ())

    @cached_property
    def _meant(self) -> dict[str, dict[str, str]]:
        """For each table, what each of its labels means; those that say nothing are left out."""
        return {
            table: {
                label: self.spelled[table].meant.get(label, label)
                for label in labels
                if not self._says_nothing(table, label)
            }
            for table, labels in self.distinct.items()
        }

    def _says_nothing(self, table: str, label: str) -> bool:
        """Whether the label marks suppression and is not an original label: stars or, in a release, a word for it."""
        gone = table == RELEASE and is_gone(label)
        return label not in self._listed and (self.spec.says_nothing(label) or gone)

    def codes(self, table: str) -> list[int]:
        """The code of each distinct label of a table, -1 for labels that say nothing."""
        place = {label: code for code, label in enumerate(self.labels)}
        meant = self._meant[table]
        return [place[meant[label]] if label in meant else -1 for label in self.distinct[table]]

    def as_spelled(self, table: str) -> bool:
        """Whether every label of a table means itself, so that its cells can be looked up in `labels`."""
        place = {label: code for code, label in enumerate(self.labels)}
        return self.codes(table) == [place.get(label, -1) for label in self.distinct[table]]


ColumnFacts = NumberFacts | TimeFacts | LabelFacts
