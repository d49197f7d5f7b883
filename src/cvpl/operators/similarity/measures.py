"""Measures: a similarity fitted on two tables, and the settings of the one that has some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.compiling import worth_it
from cvpl.operators.similarity.scorers import AgreementScorer, CosineScorer, DistanceScorer, inner
from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, Labels, Numbers, Table

Floats = NDArray[np.float64]

_ZERO_NORM = 1e-9
_NO_VARIANCE = 1e-12
_PROBABILITY_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class CosineMeasure:
    """Cosine, with the norm up to which a vector counts as zero."""

    zero: float

    @classmethod
    def of_mean_square(cls, mean_square: float) -> CosineMeasure:
        """Norms up to 1e-9 of the root mean square norm of both tables count as zero."""
        return cls(_ZERO_NORM * float(np.sqrt(max(0.0, mean_square))))

    def scorer(self, queries: Floats, candidates: Floats) -> CosineScorer:
        """Both sides brought to unit length."""
        return CosineScorer(self._unit(queries), self._unit(candidates))

    def _unit(self, vectors: Floats) -> Floats:
        if worth_it(len(vectors)):
            from cvpl.operators.compiled import make_unit  # noqa: PLC0415 - slow to load

            units = np.array(vectors, order="C")
            make_unit(units, self.zero)
            return units
        norms = np.sqrt(inner(vectors, vectors))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > self.zero)
        return np.ascontiguousarray(vectors * inverse[:, None])


@dataclass(frozen=True, eq=False)
class DistanceMeasure:
    """Distance after a linear map: none for Euclidean, whitening for Mahalanobis."""

    centre: Floats
    whitening: Floats | None

    def scorer(self, queries: Floats, candidates: Floats) -> DistanceScorer | CosineScorer:
        """Both sides moved to the centre, which keeps the rounding small, and whitened.

        Without a single dimension there is nothing to compare by, and every similarity is 0.
        """
        if not queries.shape[1]:
            return CosineScorer(queries, candidates)
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
    return CosineMeasure.of_mean_square(squares / max(1, len(original) + len(protected)))


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


def _product(matrix: Floats, loadings: Floats) -> Floats:
    """A matrix product summed in a fixed order, row by row the same bits."""
    result = np.zeros((len(matrix), loadings.shape[1]))
    for column, row in zip(matrix.T, loadings, strict=True):
        result += column[:, None] * row
    return result


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
