"""The summary of a column over tables in a cluster, from sums and counts of their chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization.features import NumberFeature, earliest
from cvpl.operators.vectorization.summaries import NumberSummary
from cvpl.spark.cluster_table import ClusterTable
from cvpl.spark.order_statistics import order_statistics
from cvpl.tables.columns import ColumnData, Table, Times

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClusterColumn:
    """One column of some tables in a cluster."""

    tables: Sequence[ClusterTable]
    name: str

    def has_missing(self) -> bool:
        """Whether some record has no value."""
        return not all(self._asked(_all_known))

    def labels(self) -> tuple[str, ...]:
        """The labels, which all tables share."""
        return self.tables[0].labels[self.name]

    def label_counts(self) -> Floats:
        """The number of records with each label."""
        counts: Floats = np.sum(self._asked(_counted), axis=0).astype(np.float64)
        return counts

    def earliest(self) -> np.datetime64:
        """The first time in any table."""
        found = [time for time in self._asked(_earliest) if time is not None]
        return min(found, default=np.datetime64(0, "us"))

    def numbers(self, feature: NumberFeature, *, quartiles: bool) -> NumberSummary | None:
        """The summary of a feature's unscaled numbers in all tables."""
        sums = self._asked(_Sums(feature, 0.0))
        count = sum(part[0] for part in sums)
        if not count:
            return None
        mean = fsum(part[1] for part in sums) / count
        deviation = float(np.sqrt(fsum(part[2] for part in self._asked(_Sums(feature, mean))) / count))
        shares = [0.25, 0.5, 0.75] if quartiles else [0.5]
        places = [share * (count - 1) for share in shares]
        ranks = sorted({end(place) for place in places for end in (floor, ceil)})
        found = dict(zip(ranks, self._ranked(feature, ranks), strict=True))
        read = [_between(found[floor(place)], found[ceil(place)], place - floor(place)) for place in places]
        quarters = (read[0], read[1], read[2]) if quartiles else None
        return NumberSummary(mean, deviation, read[1] if quartiles else read[0], quarters)

    def _ranked(self, feature: NumberFeature, ranks: Sequence[int]) -> list[float]:
        """The feature's known numbers at some ranks."""
        return order_statistics(_Known(self.name, feature), ranks, self._ask)

    def _ask(self, question: Callable[[Table], Any]) -> list[Any]:
        return [answer for table in self.tables for answer in table.answers(question)]

    def _asked(self, question: Callable[[Any], Any]) -> list[Any]:
        """The answers of the column's parts."""
        return self._ask(_OfColumn(self.name, question))


@dataclass(frozen=True)
class _OfColumn:
    """Asks one column of some records."""

    name: str
    question: Callable[[Any], Any]

    def __call__(self, records: Table) -> Any:
        return self.question(records.columns[self.name])


@dataclass(frozen=True)
class _Known:
    """The known numbers of a feature."""

    name: str
    feature: NumberFeature

    def __call__(self, records: Table) -> Floats:
        raw = self.feature.raw(records.columns[self.name])
        return raw[~np.isnan(raw)]


@dataclass(frozen=True)
class _Sums:
    """The number of known numbers of a feature, their sum, and the sum of their squares about a centre."""

    feature: NumberFeature
    centre: float

    def __call__(self, column: ColumnData) -> tuple[int, float, float]:
        raw = self.feature.raw(column)
        known = raw[~np.isnan(raw)]
        return len(known), float(known.sum()), float(((known - self.centre) ** 2).sum())


def _all_known(column: ColumnData) -> bool:
    return bool(column.known().all())


def _counted(column: ColumnData) -> NDArray[np.int64]:
    return column.counts()


def _earliest(column: Times) -> np.datetime64 | None:
    return earliest([column]) if column.known().any() else None


def _between(low: float, high: float, share: float) -> float:
    """The number this share of the way from one to the other."""
    return low + (high - low) * share
