"""Rarity: agreeing on what few people have says more than agreeing on what most have.

    score(x, y) = sum of log(1 / frequency(x_c)) over the columns on which x and y agree

The frequency is the share of the release's records, and of the reference people's where there are any, that agree with
x_c; one is added to the count and to the total, so that a value nobody has counts as had by one more. The originals do
not enter: whoever is counted himself looks commoner than a stranger, and the comparison with strangers would be bent.

Numbers and times agree within a tolerance, 0 where the release left them alone. How much noise a release carries is
seen on pairs that are alike on all *other* columns: the tolerance is the cut, of a few, that tells these best from
pairs drawn at random, and 0 unless another is clearly better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.similarity.agreement import AgreementScorer, ComparedColumn, is_plain, keys
from cvpl.settings import Settings
from cvpl.tables.columns import Labels, Table

Floats = NDArray[np.float64]
Keys = NDArray[Any]
Rows = NDArray[np.intp]

CUTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Tolerances that are tried, in standard deviations of the originals."""
CLEARLY, ENOUGH = 1.25, 0.05
"""A tolerance is taken if it tells so many times as much as exact agreement does, and so many nats more."""
_ASKED, _AMONG = 320, 10_000
"""Originals and released records that are compared to find the tolerances."""


class RaritySettings(Settings):
    """`tolerance`: `release` finds it from the release; a number is in standard deviations, 0 is exact agreement."""

    tolerance: Literal["release"] | Annotated[float, Field(ge=0)] = "release"


class Rarity(Settings):
    """The sum of log(1/frequency) over the columns on which two records agree."""

    rarity: RaritySettings = RaritySettings()

    def fit(
        self,
        original: Table,
        protected: Table,
        reference: Table | None,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> RarityMeasure:
        """Count the values of the release and of the reference people, and find the tolerances."""
        counted = [protected] if reference is None else [protected, reference]
        known = tuple(Counted.of(name, counted) for name in columns)
        exact = RarityMeasure(tuple(columns), known, {})
        spread = {name: _spread(original, name) for name in columns}
        if self.rarity.tolerance == "release":
            return replace(exact, tolerance=_tolerances(exact, original, protected, spread, rng))
        return replace(exact, tolerance={name: self.rarity.tolerance * width for name, width in spread.items()})


@dataclass(frozen=True, eq=False)
class Counted:
    """The known values of a column in the tables that are counted, sorted, and how many records there are."""

    values: Keys
    ranges: Keys

    @classmethod
    def of(cls, name: str, tables: Sequence[Table]) -> Counted:
        """Values as points, where they are, and as ranges."""
        columns = [table.columns[name] for table in tables]
        point = all(map(is_plain, columns))
        values = np.sort(np.concatenate([keys(it, plain=True)[it.known()] for it in columns]))
        if isinstance(columns[0], Labels):
            return cls(values, values)
        if point:
            return cls(values, np.zeros(0))
        return cls(values, np.sort(np.concatenate([keys(it, plain=False)[it.known()] for it in columns])))

    def shares(self, asked: Keys, tolerance: float) -> Floats:
        """(count + 1) / (all + 1) of those within `tolerance` of each value."""
        counted = self.ranges if np.iscomplexobj(asked) and len(self.ranges) else self.values
        if np.iscomplexobj(asked) and not len(self.ranges):
            counted = np.asarray(self.values + 1j * self.values)
        low, high = (asked - tolerance, asked + tolerance) if tolerance else (asked, asked)
        count = np.searchsorted(counted, high, side="right") - np.searchsorted(counted, low, side="left")
        return np.asarray((count + 1.0) / (len(counted) + 1.0))


@dataclass(frozen=True, eq=False)
class RarityMeasure:
    """What is counted in each column, and the tolerance within which its values agree (absent: exactly)."""

    columns: tuple[str, ...]
    counted: tuple[Counted, ...]
    tolerance: Mapping[str, float]

    least: ClassVar[float] = 0.0

    @property
    def most(self) -> float:
        """The highest score there can be: agreement on values that nobody has."""
        return float(sum(np.log(len(counted.values) + 1.0) for counted in self.counted))

    def scorer(self, queries: Table, candidates: Table) -> AgreementScorer:
        """Both tables as codes, with what agreeing on each value is worth."""
        compared = []
        for name, counted in zip(self.columns, self.counted, strict=True):
            one, other = queries.columns[name], candidates.columns[name]
            tolerance = self.tolerance.get(name, 0.0) if is_plain(one) and is_plain(other) else 0.0
            column, asked = ComparedColumn.of(one, other, tolerance)
            compared.append(replace(column, agree=-np.log(counted.shares(asked, tolerance))))
        return AgreementScorer.of(compared, np.zeros(len(compared)), queries, candidates)


def _spread(table: Table, name: str) -> float:
    """The standard deviation of a numeric or datetime column; 0 for labels and ranges, which agree or do not."""
    column = table.columns[name]
    if isinstance(column, Labels) or not column.plain or not column.known().any():
        return 0.0
    return float(keys(column, plain=True)[column.known()].astype(np.float64).std())


def _tolerances(
    exact: RarityMeasure, original: Table, protected: Table, spread: Mapping[str, float], rng: np.random.Generator
) -> dict[str, float]:
    """For every number and time the cut at which alike pairs stand out most from random ones."""
    numeric = [name for name in exact.columns if spread[name] > 0]
    if not numeric or len(exact.columns) < 2:
        return {}
    some = [
        table.take(np.sort(rng.choice(table.rows, min(table.rows, most), replace=False)))
        for table, most in ((original, _ASKED), (protected, _AMONG))
    ]
    scorer = exact.scorer(*some)
    whole = slice(0, scorer.queries), slice(0, scorer.candidates)
    total = scorer.tile(*whole)
    found = {}
    for name in numeric:
        own = replace(exact, columns=(name,), counted=(exact.counted[exact.columns.index(name)],)).scorer(*some)
        others = total - own.tile(*whole)
        query, row = np.nonzero(others >= others.max(axis=1, keepdims=True) - 1e-9)
        columns = [table.columns[name] for table in some]
        left, right = (np.where(it.known(), keys(it, plain=True).astype(np.float64), np.nan) for it in columns)
        cut = _best_cut(left, right, query, row, spread[name])
        if cut:
            found[name] = cut
    return found


def _best_cut(left: Floats, right: Floats, query: Rows, row: Rows, spread: float) -> float:
    """The tolerance that tells pairs alike elsewhere from random ones best; 0 unless another is clearly better.

    The pairs (query, row) are the alike ones; a query with several counts each of them by its part.
    """
    near = np.abs(left[query] - right[row])
    query, near = query[~np.isnan(near)], near[~np.isnan(near)]
    part = 1 / np.bincount(query, minlength=len(left))[query]
    left = left[np.unique(query)]
    ascending = np.sort(right[~np.isnan(right)])
    if not len(left):
        return 0.0
    told = []
    for cut in CUTS:
        width = cut * spread
        low, high = (np.searchsorted(ascending, left - width), np.searchsorted(ascending, left + width, side="right"))
        chance = (float(np.sum(high - low)) + 0.5) / (len(left) * len(ascending) + 1)
        told.append(_information((float(part[near <= width].sum()) + 0.5) / (len(left) + 1), chance))
    best = int(np.argmax(told))
    return CUTS[best] * spread if told[best] > CLEARLY * told[0] + ENOUGH else 0.0


def _information(alike: float, chance: float) -> float:
    """What one pair tells on average: the Kullback-Leibler divergence of the shares; 0 where alike pairs are fewer."""
    if alike <= chance:
        return 0.0
    return float(alike * np.log(alike / chance) + (1 - alike) * np.log((1 - alike) / (1 - chance)))
