"""Summaries of columns over tables in a cluster, from sums and counts of their parts, in the same passes for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import FeatureSpace, NumberFeature, Vectorization
from cvpl.operators.vectorization.features import earliest
from cvpl.operators.vectorization.summaries import NumberSummary
from cvpl.spark.cluster_table import ClusterTable
from cvpl.spark.order_statistics import order_statistics
from cvpl.tables.columns import Table, Times

Floats = NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)


def fit_space(vectorization: Vectorization, tables: Sequence[ClusterTable]) -> FeatureSpace:
    """Learn labels, shares and scales from all `tables` together, as `Vectorization.fit` does on one machine."""
    basics = _Basics.joined(_ask(tables, _basics))
    unscaled: dict[tuple[str, int], NumberFeature] = {}
    specs = tables[0].specs
    # The first fit finds out which numbers have to be summarized; the second one has their summaries.
    vectorization.fit_columns(specs, lambda name: _Column(tables[0], name, basics, {}, unscaled))
    numbers = _summarized(tables, unscaled)
    return vectorization.fit_columns(specs, lambda name: _Column(tables[0], name, basics, numbers, {}))


def _ask(tables: Sequence[ClusterTable], question: Callable[[Table], Any]) -> list[Any]:
    return [answer for table in tables for answer in table.answers(question)]


class _Basics(NamedTuple):
    """For each column, whether every record has a value, the count of each label, and the first time."""

    known: Mapping[str, bool]
    counts: Mapping[str, NDArray[np.int64]]
    first: Mapping[str, np.datetime64 | None]

    @classmethod
    def joined(cls, parts: Sequence[_Basics]) -> _Basics:
        """Those of all parts together."""
        names = parts[0].known
        return cls(
            {name: all(part.known[name] for part in parts) for name in names},
            {name: np.sum([part.counts[name] for part in parts], axis=0) for name in names},
            {
                name: min((time for part in parts if (time := part.first[name]) is not None), default=None)
                for name in names
            },
        )


def _first(times: Iterable[np.datetime64 | None]) -> np.datetime64 | None:
    """The first of the times that are known."""
    return min((time for time in times if time is not None), default=None)


def _basics(records: Table) -> _Basics:
    columns = records.columns
    times = {name: column for name, column in columns.items() if isinstance(column, Times) and column.known().any()}
    return _Basics(
        {name: bool(column.known().all()) for name, column in columns.items()},
        {name: column.counts() for name, column in columns.items()},
        {name: earliest([times[name]]) if name in times else None for name in columns},
    )


@dataclass(frozen=True, eq=False)
class _Column:
    """The summary of one column. Features without a summary are put down in `asked`."""

    table: ClusterTable
    name: str
    basics: _Basics
    summaries: Mapping[tuple[str, int], NumberSummary | None]
    asked: dict[tuple[str, int], NumberFeature] = field(default_factory=dict)

    def has_missing(self) -> bool:
        """Whether some record has no value."""
        return not self.basics.known[self.name]

    def labels(self) -> tuple[str, ...]:
        """The labels, which all tables share."""
        return self.table.labels[self.name]

    def label_counts(self) -> Floats:
        """The number of records with each label."""
        return self.basics.counts[self.name].astype(np.float64)

    def earliest(self) -> np.datetime64:
        """The first time in any table."""
        first = self.basics.first[self.name]
        return np.datetime64(0, "us") if first is None else first

    def numbers(self, feature: NumberFeature, *, quartiles: bool) -> NumberSummary | None:
        """The summary of a feature's unscaled numbers in all tables."""
        place = self.name, feature.start
        if place not in self.summaries:
            self.asked[place] = feature
            return None
        return self.summaries[place]


def _summarized(
    tables: Sequence[ClusterTable], features: Mapping[tuple[str, int], NumberFeature]
) -> dict[tuple[str, int], NumberSummary | None]:
    """The summary of every feature; None where no number is known."""
    numbers = [_Known(name, feature) for (name, _), feature in features.items()]
    sums = list(zip(*_ask(tables, _Sums(numbers, [0.0] * len(numbers))), strict=True))
    counts = [sum(part.known for part in parts) for parts in sums]
    means = [fsum(part.total for part in parts) / max(1, count) for parts, count in zip(sums, counts, strict=True)]
    squares = [fsum(part.squares for part in parts) for parts in zip(*_ask(tables, _Sums(numbers, means)), strict=True)]
    places = [[share * (count - 1) for share in QUARTILES] if count else [] for count in counts]
    ranks = [sorted({end(place) for place in some for end in (floor, ceil)}) for some in places]
    read = order_statistics(list(zip(numbers, ranks, strict=True)), lambda question: _ask(tables, question))
    found: dict[tuple[str, int], NumberSummary | None] = {}
    for at, feature in enumerate(features):
        if not counts[at]:
            found[feature] = None
            continue
        value = dict(zip(ranks[at], read[at], strict=True))
        low, middle, high = (
            _between(value[floor(place)], value[ceil(place)], place - floor(place)) for place in places[at]
        )
        deviation = float(np.sqrt(squares[at] / counts[at]))
        found[feature] = NumberSummary(means[at], deviation, middle, (low, middle, high))
    return found


@dataclass(frozen=True)
class _Known:
    """The known numbers of a feature."""

    name: str
    feature: NumberFeature

    def __call__(self, records: Table) -> Floats:
        raw = self.feature.raw(records.columns[self.name])
        return raw[~np.isnan(raw)]


class _Sum(NamedTuple):
    """How many numbers there are, their sum, and the sum of their squares about a centre."""

    known: int
    total: float
    squares: float


@dataclass(frozen=True)
class _Sums:
    """The sums of several columns of numbers, each about a centre of its own."""

    numbers: Sequence[_Known]
    centres: Sequence[float]

    def __call__(self, records: Table) -> list[_Sum]:
        found = []
        for numbers, centre in zip(self.numbers, self.centres, strict=True):
            known = numbers(records)
            found.append(_Sum(len(known), float(known.sum()), float(((known - centre) ** 2).sum())))
        return found


def _between(low: float, high: float, share: float) -> float:
    """The number this share of the way from one to the other."""
    return low + (high - low) * share
