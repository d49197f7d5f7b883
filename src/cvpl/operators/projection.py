"""Projection: from feature vectors to a space of fewer dimensions in which records are compared.

    identity      z = v
    pca           z = W^T (v - mean), W the leading eigenvectors of the covariance
    robust_pca    the same with the spatial-sign covariance, in which a record counts by its direction only
    random        z = R^T v, R drawn from a normal distribution
    saved         any of the linear ones, from an earlier run
    umap          a non-linear map of both tables together; it has no map for other records

PCA keeps the fewest components that reach `variance` of the total, within `min` and `max`; components without
variance are never kept, and tied eigenvalues (relative 1e-9) are kept together, even beyond `max`, so that the
projected geometry is unique. Signs are those that make the largest loading positive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cvpl.errors import UsageError
from cvpl.settings import Settings

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Fit = Literal["joint", "original", "protected"]

Sums = tuple[float, Floats, Floats]
"""The weight of some records, and the sums of u and of u u^T over them."""

_FITTED_ON = {"joint": ("original", "protected"), "original": ("original",), "protected": ("protected",)}
_NO_VARIANCE = 1e-12
_TIED = 1e-9
_ROUNDED = 1e-13
"""A mean square less a squared mean may be off by so much of the former."""


class Vectors(Protocol):
    """What a projection needs to know of feature vectors."""

    def __len__(self) -> int: ...
    def dense(self) -> Floats: ...  # noqa: D102 - see cvpl.operators.vectorization
    def project(self, loadings: Floats, centre: Floats, rows: Rows | None = None) -> Floats: ...  # noqa: D102
    def squared_norms(self, centre: Floats) -> Floats: ...  # noqa: D102
    def moments(self, centre: Floats, weights: Floats | None = None) -> tuple[float, Floats, Floats]: ...  # noqa: D102


class PcaSettings(Settings):
    """How many components are kept, and on which table they are fitted."""

    variance: Annotated[float, Field(gt=0, le=1)] = 0.90
    min: Annotated[int, Field(ge=1)] = 3
    max: Annotated[int, Field(ge=1)] = 50
    fit: Fit = "joint"

    @model_validator(mode="after")
    def _ordered(self) -> PcaSettings:
        if self.min > self.max:
            raise ValueError(f"min ({self.min}) is above max ({self.max}); lower min or raise max")
        return self


class Pca(Settings):
    """Principal components of the covariance (paper, 4.4)."""

    pca: PcaSettings = PcaSettings()

    def fit(self, original: Vectors, protected: Vectors, neutral: Floats) -> LinearProjection:
        """Mean and covariance (1/N) of the fitting tables, summed over chunks, solved exactly."""
        sums = {"original": original, "protected": protected}
        return self.fit_sums({name: vectors.moments(neutral) for name, vectors in sums.items()}, neutral)

    def fit_sums(
        self, sums: Mapping[str, Sums], neutral: Floats, kept: NDArray[np.bool_] | None = None
    ) -> LinearProjection:
        """The same from the tables' moments about `neutral`; features that are not `kept` get no part in it."""
        total, first, second = _added([sums[name] for name in _FITTED_ON[self.pca.fit]])
        mean = first / total
        covariance = second / total - np.outer(mean, mean)
        rounding = _ROUNDED * float(np.trace(second)) / total + float((_ROUNDED * neutral) @ (_ROUNDED * neutral))
        if kept is None:
            return _components(self.pca, neutral + mean, covariance, rounding)
        found = _components(self.pca, neutral + mean, covariance[np.ix_(kept, kept)], rounding)
        loadings = np.zeros((len(kept), found.components))
        loadings[kept] = found.loadings
        return LinearProjection(found.centre, loadings, found.variances, found.total_variance)


class RobustPca(Settings):
    """Principal components of the spatial-sign covariance, the mean of u u^T with u = (v - c) / |v - c|.

    The centre c is the median of a number and the share of a 0/1 feature, which no single record can move far. A record
    at the centre has no direction and counts as zero.
    """

    robust_pca: PcaSettings = PcaSettings()

    def fit(self, original: Vectors, protected: Vectors, centre: Floats) -> LinearProjection:
        """Fit about `centre`, which the caller takes from the fitting tables."""
        tables = _fitting(self.robust_pca.fit, original, protected)
        weights = [_inverse(table.squared_norms(centre)) for table in tables]
        _, _, second = _added([table.moments(centre, weight) for table, weight in zip(tables, weights, strict=True)])
        return _components(self.robust_pca, centre, second / sum(len(table) for table in tables))


class RandomSettings(Settings):
    """The dimension of a random projection; 20 is the paper's choice."""

    components: Annotated[int, Field(ge=1)] = 20


class RandomProjection(Settings):
    """Gaussian random projection: entries N(0, 1/components), drawn by the audit's seed; v is not centred."""

    random: RandomSettings = RandomSettings()

    def fit(self, width: int, rng: np.random.Generator) -> LinearProjection:
        """Draw the matrix (features x components)."""
        count = self.random.components
        matrix = rng.normal(scale=count**-0.5, size=(width, count))
        return LinearProjection(np.zeros(width), matrix, None, None)


class UmapSettings(Settings):
    """UMAP's size and neighbourhood; 15 neighbours is the paper's choice."""

    components: Annotated[int, Field(ge=2)] = 5
    neighbors: Annotated[int, Field(ge=2)] = 15


class Umap(Settings):
    """UMAP of both tables together (extra `umap`). It has no exact map for other records, hence no control figures."""

    umap: UmapSettings = UmapSettings()

    def fit(self, original: Vectors, protected: Vectors, rng: np.random.Generator) -> FixedEmbedding:
        """Embed both tables at once, on one thread, so that a run repeats."""
        try:
            import umap  # noqa: PLC0415 - an extra, and slow to load
        except ImportError:
            raise UsageError("the projection umap needs an extra: install cvpl[umap], or choose another") from None
        both = np.vstack([original.dense(), protected.dense()])
        mapper = umap.UMAP(
            n_components=self.umap.components,
            n_neighbors=min(self.umap.neighbors, len(both) - 1),
            random_state=int(rng.integers(2**31)),
            n_jobs=1,
        )
        embedded = np.asarray(mapper.fit_transform(both), dtype=np.float64)
        # Where the map puts its origin means nothing; about the centre a cosine does.
        embedded -= embedded.mean(axis=0)
        return FixedEmbedding(embedded[: len(original)], embedded[len(original) :])


class Saved(Settings):
    """The projection that an earlier run wrote with `--save-projection`, with the scales it was fitted with."""

    saved: str


Projection = Literal["identity"] | Pca | RobustPca | RandomProjection | Umap | Saved


@dataclass(frozen=True, eq=False)
class Identity:
    """z = v."""

    def __call__(self, vectors: Vectors) -> Floats:
        """The feature matrix itself."""
        return vectors.dense()


@dataclass(frozen=True, eq=False)
class LinearProjection:
    """z = loadings^T (v - centre). `variances` and `total_variance` are known for principal components only."""

    centre: Floats
    loadings: Floats
    variances: Floats | None
    total_variance: float | None

    def __call__(self, vectors: Vectors, rows: Rows | None = None) -> Floats:
        """The embeddings of all records or some, one row a record."""
        return vectors.project(self.loadings, self.centre, rows)

    def energy(self, sums: Sums, about: Floats) -> float:
        """The sum of |z|^2 over the records of which `sums` are the moments about a vector."""
        total, first, second = sums
        offset = (self.centre - about) @ self.loadings
        moved = first @ self.loadings
        squares = float(((second @ self.loadings) * self.loadings).sum())
        return squares - 2 * float(moved @ offset) + total * float(offset @ offset)

    @property
    def components(self) -> int:
        """The dimension of the embedding."""
        return int(self.loadings.shape[1])

    @property
    def explained_variance(self) -> float | None:
        """The kept components' share of the total variance; None where there is none, or none is computed."""
        if self.variances is None or not self.total_variance:
            return None
        return min(1.0, float(self.variances.sum()) / self.total_variance)


@dataclass(frozen=True, eq=False)
class FixedEmbedding:
    """The embeddings of the two tables that were fitted; there is no map for anybody else."""

    original: Floats
    protected: Floats


Fitted = Identity | LinearProjection | FixedEmbedding


def components_of(settings: PcaSettings, covariance: Floats, rounding: float = 0.0) -> tuple[Floats, Floats, float]:
    """Kept eigenvectors, their eigenvalues, and the total, by the rule in this module's docstring.

    An eigenvalue up to `rounding` is none: a table of equal records has no direction.
    """
    if not covariance.size:
        return np.zeros((0, 0)), np.zeros(0), 0.0
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    values = np.maximum(values, 0.0)
    total = float(values.sum())
    there = int(np.sum(values > max(_NO_VARIANCE * values[0], rounding)))
    if not there:
        return np.zeros((len(covariance), 0)), np.zeros(0), total
    enough = int(np.searchsorted(np.cumsum(values) / total, settings.variance - 1e-12)) + 1
    keep = min(max(enough, settings.min), settings.max, there)
    while keep < there and values[keep - 1] - values[keep] <= _TIED * values[keep - 1]:
        keep += 1
    kept = vectors[:, :keep]
    largest = kept[np.argmax(np.abs(kept), axis=0), np.arange(keep)]
    return kept * np.where(largest < 0, -1.0, 1.0), values[:keep], total


def _components(settings: PcaSettings, centre: Floats, covariance: Floats, rounding: float = 0.0) -> LinearProjection:
    loadings, variances, total = components_of(settings, covariance, rounding)
    return LinearProjection(centre, loadings, variances, total)


def _fitting(fit: Fit, original: Vectors, protected: Vectors) -> list[Vectors]:
    return {"joint": [original, protected], "original": [original], "protected": [protected]}[fit]


def _added(parts: Sequence[Sums]) -> Sums:
    total = sum(part[0] for part in parts)
    first: Floats = sum((part[1] for part in parts), start=np.zeros_like(parts[0][1]))
    second: Floats = sum((part[2] for part in parts), start=np.zeros_like(parts[0][2]))
    return total, first, second


def _inverse(squared: Floats) -> Floats:
    """1 / |u|^2, and 0 for a record at the centre."""
    return np.divide(1.0, squared, out=np.zeros_like(squared), where=squared > 1e-24)
