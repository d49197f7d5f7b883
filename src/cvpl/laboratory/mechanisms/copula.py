"""Synthetic rows from a Gaussian copula (paper, section 7.4, family C).

Each column is turned into normal scores: its values are ranked, ties in random order, and rank r of n becomes the
normal quantile of about r / n. A category takes the share of [0, 1) that its rows fill, and a missing value counts as
one more value. Labels have no natural order, so they get the one that keeps most dependence: that of the first axis of
a homogeneity analysis, along which all columns are associated most strongly. The model keeps only the correlations of
the scores; new scores are drawn from them and mapped back through each column's own sorted values.

Three limits follow. Columns with many ties, above all categories, lose part of their correlation even at full
retention. Only monotone dependence along one axis survives: a purchase hour no longer depends on age. And the values of
a column are the original ones, so an identifying value can reappear, though next to other people's values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import MISSING_CODE, NOBODY, CategoryCodes, Frame

STRENGTHS = (0.95, 0.90, 0.85, 0.80, 0.75, 0.70, 0.60)
"""The retentions of the paper's family C (paper, section 7.4)."""
ROUNDS = 20
"""After this many rounds the axis hardly changes."""
ORDERED_BY = 20_000
CHUNK = 1_000_000  # rows whose scores are multiplied at once, in double precision


@dataclass(frozen=True)
class GaussianCopula:
    """As many synthetic rows as the table has, with each column's distribution and correlations times `retention`.

    R = retention * C + (1 - retention) * I, where C holds the correlations of the normal scores. Any retention in
    [0, 1] gives a valid correlation matrix; at 0 the columns are independent. No row belongs to a person: all people
    are -1, unknown, and carried columns are empty.
    """

    retention: float = 0.95

    def __post_init__(self) -> None:
        number = isinstance(self.retention, int | float) and not isinstance(self.retention, bool)
        if not (number and 0 <= self.retention <= 1):
            raise ValueError(
                f"GaussianCopula: retention is {self.retention!r}; allowed is a number from 0 (independent columns) "
                "to 1 (all correlation kept). Set it in this range."
            )

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The synthetic release of `table`; an empty table gives an empty one."""
        orders = _orders(table)
        codes = {name: _places(orders[name])[column.codes] for name, column in table.categories.items()}
        columns: dict[str, NDArray[Any]] = {**table.numbers, **table.times, **codes}
        # Single precision halves the largest array and still distinguishes the ranks of ten million rows.
        scores = np.empty((len(columns), len(table)), dtype=np.float32)
        for row, column in zip(scores, columns.values(), strict=True):
            row[:] = _normal_scores(column, rng)
        correlation = _correlation(scores)
        shrunk = self.retention * correlation + (1 - self.retention) * np.eye(len(columns))
        _draw_into(scores, shrunk, rng)
        drawn = {name: _read_back(row, columns[name]) for name, row in zip(columns, scores, strict=True)}
        return Frame(
            people=np.full(len(table), NOBODY, dtype=np.int64),
            id_name=table.id_name,
            numbers={name: drawn[name] for name in table.numbers},
            times={name: drawn[name] for name in table.times},
            categories={
                name: CategoryCodes(np.append(orders[name], MISSING_CODE).astype(np.int32)[drawn[name]], column.labels)
                for name, column in table.categories.items()
            },
            order=table.order,
            whole=table.whole,
            carried={name: np.full(len(table), None, dtype=object) for name in table.carried},
        )


def _orders(table: Frame) -> dict[str, NDArray[np.intp]]:
    """The codes of each category, in the order of the axis along which all columns are associated most strongly.

    Every record has a position on the axis: the mean of the positions of its values. The position of a label is the
    mean position of the records with it; that of a number is its rank times the correlation of rank and position.
    Started from the first column and repeated, this converges to the first axis of a homogeneity analysis. A sample of
    evenly spaced rows is enough for an order.
    """
    some = table.take(np.arange(0, len(table), max(1, len(table) // ORDERED_BY)))
    numbers = [*some.numbers.values(), *some.times.values()]
    ranks = [_standard(np.unique(values, return_inverse=True)[1]) for values in numbers]
    codes = {name: column.codes + 1 for name, column in some.categories.items()}  # 0 is missing
    counts = {
        name: np.maximum(np.bincount(own, minlength=len(some.categories[name].labels) + 1), 1)
        for name, own in codes.items()
    }
    place = ranks[0] if ranks else _standard(next(iter(codes.values()), np.zeros(len(some))))
    means: dict[str, NDArray[np.float64]] = {name: np.zeros(len(count)) for name, count in counts.items()}
    for _ in range(ROUNDS if len(some) else 0):
        for name, own in codes.items():
            means[name] = np.bincount(own, weights=place, minlength=len(counts[name])) / counts[name]
        total = sum((rank * (rank @ place / len(some)) for rank in ranks), start=np.zeros(len(some)))
        place = _standard(sum((means[name][own] for name, own in codes.items()), start=total))
    return {name: np.argsort(mean[1:], kind="stable") for name, mean in means.items()}


def _places(order: NDArray[np.intp]) -> NDArray[np.int32]:
    """The place of each code in an order; code -1, a missing value, indexes the -1 at the end."""
    places = np.full(len(order) + 1, MISSING_CODE, dtype=np.int32)
    places[order] = np.arange(len(order))
    return places


def _standard(values: NDArray[Any]) -> NDArray[np.float64]:
    """Values scaled to mean 0 and standard deviation 1; a constant becomes 0."""
    centred = values - (values.mean() if len(values) else 0.0)
    spread = centred.std() if len(values) else 0.0
    return np.asarray(centred / spread if spread > 0 else centred, dtype=np.float64)


@cache
def _normal_table() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normal quantiles and their probabilities on a grid; the interpolation error is below 1e-6."""
    quantiles = np.linspace(-6.5, 6.5, 13_001)
    return quantiles, np.array([0.5 * erfc(-z / sqrt(2)) for z in quantiles.tolist()])


def _normal_scores(column: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    _, value, count = np.unique(column, return_inverse=True, return_counts=True)
    before = count.cumsum() - count
    share = (before[value] + rng.random(len(column)) * count[value]) / max(len(column), 1)
    quantiles, probabilities = _normal_table()
    return np.interp(share, probabilities, quantiles)


def _correlation(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Correlations of scores whose means are 0 by construction; the identity for a table without rows."""
    columns, rows = scores.shape
    if not rows:
        return np.eye(columns)
    product = np.zeros((columns, columns))
    for start in range(0, rows, CHUNK):
        part = scores[:, start : start + CHUNK].astype(np.float64)
        product += part @ part.T
    scale = np.sqrt(product.diagonal())
    return np.asarray(product / np.outer(scale, scale), dtype=np.float64)


def _draw_into(scores: NDArray[np.float32], correlation: NDArray[np.float64], rng: np.random.Generator) -> None:
    """Overwrite `scores` with draws from N(0, correlation); by eigenvectors, since few rows leave it singular."""
    values, vectors = np.linalg.eigh(correlation)
    root = (vectors * np.sqrt(np.maximum(values, 0))).astype(np.float32)
    for start in range(0, scores.shape[1], CHUNK):
        part = scores[:, start : start + CHUNK]
        part[:] = root @ rng.standard_normal(part.shape, dtype=np.float32)


def _read_back(scores: NDArray[np.float32], column: NDArray[Any]) -> NDArray[Any]:
    """The value at each score's rank in the sorted column; NaN and NaT rank last and code -1 first, as before."""
    quantiles, probabilities = _normal_table()
    rank = (np.interp(scores, quantiles, probabilities) * len(column)).astype(np.int64)
    return np.sort(column)[np.minimum(rank, len(column) - 1)]
