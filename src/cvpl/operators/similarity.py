"""Similarity: how alike two records are.

    cosine        <a, b> / (|a| |b|), in [-1, 1]; a zero vector has similarity 0 to everything
    euclidean     1 / (1 + |a - b|)
    mahalanobis   1 / (1 + d), d^2 = (a - b)^T S^+ (a - b), S the covariance of the fitted embeddings
    jaccard       |a and b| / |a or b| on unprojected 0/1 features; 0 where both are empty
    agreement     the Fellegi-Sunter weight: the sum over columns of log(m/u) where a pair agrees and of
                  log((1-m)/(1-u)) where it does not, 0 where either value is missing; no upper limit of its own

`fit` returns a `Measure`, and a measure makes a `Scorer` of two sets of records. A scorer has two ways to the same
figure: `pairs`, the formula itself, one pair at a time and to the same bits wherever the pair stands; and `tile`, a
whole rectangle at once by matrix products, within `tolerance` of it, which only ever serves to find the pairs that the
formula is then applied to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, Labels, Numbers, Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_ZERO_NORM = 1e-9
_NO_VARIANCE = 1e-12
_PAIRS_AT_ONCE = 2048
_PROBABILITY_FLOOR = 1e-6


class Scorer(Protocol):
    """Scores queries against candidates; see the module's docstring."""

    @property
    def queries(self) -> int:
        """How many query records there are."""

    @property
    def candidates(self) -> int:
        """How many candidate records there are."""

    @property
    def tolerance(self) -> float:
        """How far an entry of `tile` may lie from the formula."""

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """Scores of every query with every candidate of two ranges."""

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """Scores of the pairs (queries[i], candidates[i])."""

    def sorted(self, queries: Rows, candidates: Rows) -> Self:
        """The same scorer with its records in another order, so that a block is a range."""


@dataclass(frozen=True, eq=False)
class VectorScorer:
    """Scores that come from inner products of two matrices, one row a record."""

    a: Floats
    b: Floats

    @property
    def queries(self) -> int:
        """How many query records there are."""
        return len(self.a)

    @property
    def candidates(self) -> int:
        """How many candidate records there are."""
        return len(self.b)

    def sorted(self, queries: Rows, candidates: Rows) -> Self:
        """The same scorer with its records in another order."""
        return replace(self, a=self.a[queries], b=self.b[candidates])

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The formula, in pieces that stay in the cache."""
        result = np.empty(len(queries))
        for start in range(0, len(queries), _PAIRS_AT_ONCE):
            at = slice(start, start + _PAIRS_AT_ONCE)
            result[at] = self.formula(self.a[queries[at]], self.b[candidates[at]])
        return result

    def formula(self, a: Floats, b: Floats) -> Floats:
        """The score of each row of `a` with the same row of `b`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CosineScorer(VectorScorer):
    """Inner products of unit vectors; a zero vector stays zero."""

    tolerance: float = 1e-12

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """One matrix product."""
        return self.a[queries] @ self.b[candidates].T

    def formula(self, a: Floats, b: Floats) -> Floats:
        """The sum of products, component by component, clipped to [-1, 1]."""
        return np.clip(_inner(a, b), -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class DistanceScorer(VectorScorer):
    """1 / (1 + Euclidean distance)."""

    @property
    def tolerance(self) -> float:
        """Near d = 0 the square root magnifies the rounding of |a|^2 + |b|^2 - 2<a, b>."""
        longest = max(_longest(self.a), _longest(self.b))
        return float(np.sqrt(16 * (self.a.shape[1] + 2) * np.finfo(np.float64).eps) * longest)

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """One matrix product and the norms."""
        a, b = self.a[queries], self.b[candidates]
        squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * (a @ b.T)
        scores: Floats = 1 / (1 + np.sqrt(np.maximum(squared, 0.0)))
        return scores

    def formula(self, a: Floats, b: Floats) -> Floats:
        """From the differences themselves."""
        difference = a - b
        return 1 / (1 + np.sqrt(_inner(difference, difference)))


@dataclass(frozen=True, eq=False)
class JaccardScorer(VectorScorer):
    """Shared ones over all ones; whole numbers throughout, hence exact both ways."""

    tolerance: float = 0.0

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """One matrix product and the counts."""
        a, b = self.a[queries], self.b[candidates]
        shared = a @ b.T
        return _ratio(shared, a.sum(axis=1)[:, None] + b.sum(axis=1) - shared)

    def formula(self, a: Floats, b: Floats) -> Floats:
        """From the counts of one pair."""
        shared = _inner(a, b)
        return _ratio(shared, a.sum(axis=1) + b.sum(axis=1) - shared)


@dataclass(frozen=True, eq=False)
class AgreementScorer:
    """The Fellegi-Sunter weight of two records, from a code a column; a missing value is -1 on either side."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    agree: Floats
    differ: Floats
    tolerance: float = 1e-9

    @property
    def queries(self) -> int:
        """How many query records there are."""
        return len(self.a)

    @property
    def candidates(self) -> int:
        """How many candidate records there are."""
        return len(self.b)

    def sorted(self, queries: Rows, candidates: Rows) -> AgreementScorer:
        """The same scorer with its records in another order."""
        return replace(self, a=self.a[queries], b=self.b[candidates])

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """Both known: the weight of disagreement for all, by one product; what agreement adds, column by column."""
        a, b = self.a[queries], self.b[candidates]
        scores = ((a >= 0) * self.differ) @ (b >= 0).T
        for column in range(len(self.agree)):
            left = a[:, column]
            same = left[:, None] == b[:, column]
            same &= (left >= 0)[:, None]
            scores += same * (self.agree[column] - self.differ[column])
        return scores

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The sum of the columns' weights."""
        total = np.zeros(len(queries))
        for column in range(len(self.agree)):
            left, right = self.a[queries, column], self.b[candidates, column]
            weight = np.where(left == right, self.agree[column], self.differ[column])
            total += np.where((left >= 0) & (right >= 0), weight, 0.0)
        return total


@dataclass(frozen=True, eq=False)
class CosineMeasure:
    """Cosine, with the norm up to which a vector counts as zero."""

    zero: float

    def scorer(self, queries: Floats, candidates: Floats) -> CosineScorer:
        """Both sides brought to unit length."""
        return CosineScorer(self._unit(queries), self._unit(candidates))

    def _unit(self, vectors: Floats) -> Floats:
        norms = np.sqrt(_inner(vectors, vectors))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > self.zero)
        return np.ascontiguousarray(vectors * inverse[:, None])


@dataclass(frozen=True, eq=False)
class DistanceMeasure:
    """Distance after a linear map: none for Euclidean, whitening for Mahalanobis."""

    centre: Floats
    whitening: Floats | None

    def scorer(self, queries: Floats, candidates: Floats) -> DistanceScorer:
        """Both sides moved to the centre, which keeps the rounding small, and whitened."""
        a, b = queries - self.centre, candidates - self.centre
        if self.whitening is not None:
            a, b = (_product(side, self.whitening) for side in (a, b))
        return DistanceScorer(np.ascontiguousarray(a), np.ascontiguousarray(b))


@dataclass(frozen=True, eq=False)
class AgreementMeasure:
    """The weights of agreement and disagreement of each column, and what makes two values of it equal."""

    columns: tuple[str, ...]
    agree: Floats
    differ: Floats

    def scorer(self, queries: Table, candidates: Table) -> AgreementScorer:
        """Both tables as codes that are equal where the values are."""
        coded = [_codes(queries.columns[name], candidates.columns[name]) for name in self.columns]
        sides = [
            np.column_stack([pair[side] for pair in coded]) if coded else np.zeros((table.rows, 0), dtype=np.int64)
            for side, table in enumerate((queries, candidates))
        ]
        return AgreementScorer(sides[0], sides[1], self.agree, self.differ)


class AgreementSettings(Settings):
    """m, the chance that a match agrees, and u, that a non-match does: one value, or one for each column.

    A column without its own `u` gets the chance agreement of the two tables, the sum over values of their two shares.
    """

    m: Annotated[float, Field(gt=0, lt=1)] | Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = 0.9
    u: Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = {}


class Agreement(Settings):
    """The weighted agreement of the Fellegi-Sunter special case (paper, prop. fs-special-case)."""

    agreement: AgreementSettings = AgreementSettings()

    def fit(self, original: Table, protected: Table, columns: Sequence[str]) -> AgreementMeasure:
        """The weights log(m/u) and log((1-m)/(1-u)) of every column."""
        agree, differ = [], []
        for name in columns:
            m = self.agreement.m.get(name, 0.9) if isinstance(self.agreement.m, Mapping) else self.agreement.m
            chance = self.agreement.u.get(name)
            u = _chance(original.columns[name], protected.columns[name]) if chance is None else chance
            agree.append(np.log(m / u))
            differ.append(np.log((1 - m) / (1 - u)))
        return AgreementMeasure(tuple(columns), np.array(agree), np.array(differ))


Similarity = Literal["cosine", "euclidean", "mahalanobis", "jaccard"] | Agreement


def fit_cosine(original: Floats, protected: Floats) -> CosineMeasure:
    """Norms up to 1e-9 of the root mean square norm of both tables count as zero."""
    squares = float((original**2).sum() + (protected**2).sum())
    return CosineMeasure(_ZERO_NORM * np.sqrt(squares / max(1, len(original) + len(protected))))


def fit_euclidean(fitted_on: Floats) -> DistanceMeasure:
    """Plain distances."""
    return DistanceMeasure(fitted_on.mean(axis=0) if fitted_on.size else np.zeros(fitted_on.shape[1]), None)


def fit_mahalanobis(fitted_on: Floats) -> DistanceMeasure:
    """Whitening by the covariance (1/N) of the fitted embeddings; directions without variance are dropped."""
    centre = fitted_on.mean(axis=0) if fitted_on.size else np.zeros(fitted_on.shape[1])
    offset = fitted_on - centre
    values, vectors = np.linalg.eigh(offset.T @ offset / max(1, len(offset)))
    kept = values > _NO_VARIANCE * max(values.max(initial=0.0), 0.0)
    kept &= values > 0
    return DistanceMeasure(centre, vectors[:, kept] / np.sqrt(values[kept]))


def _inner(a: Floats, b: Floats) -> Floats:
    """Row-wise inner products, summed in the order of the components: the same bits wherever a row stands."""
    total = np.zeros(len(a))
    for component in range(a.shape[1]):
        total += a[:, component] * b[:, component]
    return total


def _product(matrix: Floats, loadings: Floats) -> Floats:
    """A matrix product summed in a fixed order, row by row the same bits."""
    result = np.zeros((len(matrix), loadings.shape[1]))
    for column, row in zip(matrix.T, loadings, strict=True):
        result += column[:, None] * row
    return result


def _longest(vectors: Floats) -> float:
    return float(np.sqrt((vectors**2).sum(axis=1).max(initial=0.0)))


def _ratio(shared: Floats, either: Floats) -> Floats:
    return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)


def _codes(one: ColumnData, other: ColumnData) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes that are equal where the two columns' values are, -1 where a value is missing."""
    if isinstance(one, Labels) and isinstance(other, Labels):
        return one.codes.astype(np.int64), other.codes.astype(np.int64)
    ends = []
    for name in ("low", "high") if isinstance(one, Numbers) else ("first", "last"):
        values = np.concatenate([getattr(one, name), getattr(other, name)])
        ends.append(np.unique(values, return_inverse=True)[1].astype(np.int64))
    missing = np.isnan(values) if isinstance(one, Numbers) else np.isnat(values)
    pairs = np.unique(ends[0] * (int(ends[1].max(initial=0)) + 1) + ends[1], return_inverse=True)[1]
    codes = np.where(missing, -1, pairs.astype(np.int64))
    size = len(getattr(one, "low" if isinstance(one, Numbers) else "first"))
    return codes[:size], codes[size:]


def _chance(one: ColumnData, other: ColumnData) -> float:
    """The chance that a record of each table agree, kept away from 0 and 1."""
    left, right = (side[side >= 0] for side in _codes(one, other))
    if not left.size or not right.size:
        return 0.5
    size = int(max(left.max(), right.max())) + 1
    shares = [np.bincount(side, minlength=size) / side.size for side in (left, right)]
    return float(np.clip(shares[0] @ shares[1], _PROBABILITY_FLOOR, 1 - _PROBABILITY_FLOOR))
