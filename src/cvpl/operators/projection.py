"""Projection of feature vectors to a space of fewer dimensions, in which records are compared.

    identity      z = v
    pca           z = W^T (v - mean), W the leading eigenvectors of the covariance
    robust_pca    the same with the spatial-sign covariance, in which only a record's direction counts
    random        z = R^T v, R drawn from a normal distribution
    saved         any of the linear ones, from an earlier run
    umap          a non-linear map of both tables together; it cannot map other records

PCA keeps the fewest components that reach `variance` of the total, within `min` and `max`; components without
variance are never kept, and tied eigenvalues (relative 1e-9) are kept together, even beyond `max`, so that the
projected geometry is unique. Signs are chosen so that the largest loading is positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cvpl.errors import InputError, Problem, UsageError
from cvpl.operators.feature_vectors import FeatureVectors, FittingVectors, Moments, TableName, add_moments
from cvpl.settings import Settings

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Fit = Literal["joint", "original", "protected"]

FITTED_ON: Mapping[Fit, tuple[TableName, ...]] = {
    "joint": ("original", "protected"),
    "original": ("original",),
    "protected": ("protected",),
}
"""The tables that each way of fitting uses."""
_NO_VARIANCE = 1e-12
_TIED = 1e-9
_ROUNDED = 1e-13
"""The relative rounding error of a mean square minus a squared mean."""


class FittedProjection(Protocol):
    """A fitted projection. `maps_others` says whether it maps records outside the two fitted tables."""

    @property
    def maps_others(self) -> bool:
        """Whether records outside the two fitted tables can be embedded."""

    @property
    def linear(self) -> LinearProjection | None:
        """The projection itself if it is z = W^T (v - c), else None."""

    def embed(self, vectors: FeatureVectors, table: TableName | None) -> Floats:
        """The embeddings of a table's records; `table` is its name if it is one of the two fitted tables."""


class ProjectionOperator(Settings):
    """A projection before fitting: its settings and its fit.

    `is_linear` says that it becomes z = W^T (v - c), `uses_moments` that it needs only the moments of the tables.
    """

    is_linear: ClassVar[bool] = True
    uses_moments: ClassVar[bool] = False

    @property
    def principal(self) -> PcaSettings | None:
        """The settings of principal components; None if there are none."""
        return None

    @property
    def saved_file(self) -> str | None:
        """The file of a saved projection, which is read instead of fitted; None for all others."""
        return None

    @property
    def fitted_on(self) -> tuple[TableName, ...]:
        """The tables that it is fitted on."""
        return FITTED_ON["joint" if self.principal is None else self.principal.fit]

    def most_components(self, features: int) -> int:
        """The largest possible dimension of the embedding, given the number of features."""
        return min(features, (self.principal or PcaSettings()).max)

    def fit(self, vectors: FittingVectors) -> FittedProjection:
        """Fit it on the vectors of both tables."""
        raise NotImplementedError

    def fit_moments(
        self, moments: Mapping[str, Moments], neutral: Floats, kept: NDArray[np.bool_] | None = None
    ) -> LinearProjection | None:
        """Fit it on the tables' moments about `neutral` alone; None if it needs more than these.

        Features that are not `kept` are ignored.
        """
        return None


class IdentityProjection(ProjectionOperator):
    """No projection: records are compared by their features."""

    is_linear: ClassVar[bool] = False

    def most_components(self, features: int) -> int:
        """All features."""
        return features

    def fit(self, vectors: FittingVectors) -> Identity:
        """Return the identity; nothing is fitted."""
        return Identity()


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


class Pca(ProjectionOperator):
    """Principal components of the covariance (paper, 4.4)."""

    pca: PcaSettings = PcaSettings()
    uses_moments: ClassVar[bool] = True

    @property
    def principal(self) -> PcaSettings:
        """Its settings."""
        return self.pca

    def fit(self, vectors: FittingVectors) -> LinearProjection:
        """Mean and covariance (1/N) of the fitting tables, summed over chunks, solved exactly."""
        return self.fit_moments(vectors.moments, vectors.neutral)

    def fit_moments(
        self, moments: Mapping[str, Moments], neutral: Floats, kept: NDArray[np.bool_] | None = None
    ) -> LinearProjection:
        """Fit on the tables' moments about `neutral`; features that are not `kept` are ignored."""
        total, first, second = add_moments([moments[name] for name in self.fitted_on])
        mean = first / total
        covariance = second / total - np.outer(mean, mean)
        rounding = _ROUNDED * float(np.trace(second)) / total + float((_ROUNDED * neutral) @ (_ROUNDED * neutral))
        if kept is None:
            return _components(self.pca, neutral + mean, covariance, rounding)
        found = _components(self.pca, neutral + mean, covariance[np.ix_(kept, kept)], rounding)
        loadings = np.zeros((len(kept), found.components))
        loadings[kept] = found.loadings
        return LinearProjection(found.centre, loadings, found.variances, found.total_variance)


class RobustPca(ProjectionOperator):
    """Principal components of the spatial-sign covariance, the mean of u u^T with u = (v - c) / |v - c|.

    The centre c is the median of a number and the share of a 0/1 feature, which no single record can move far. A record
    at the centre has no direction and counts as zero.
    """

    robust_pca: PcaSettings = PcaSettings()

    @property
    def principal(self) -> PcaSettings:
        """Its settings."""
        return self.robust_pca

    def fit(self, vectors: FittingVectors) -> LinearProjection:
        """The moments of the directions from the robust centre of the fitting tables."""
        tables = [vectors.tables[name] for name in self.fitted_on]
        centre = tables[0].robust_centre(tables[1:])
        directions = add_moments([table.direction_moments(centre) for table in tables])
        return _components(self.robust_pca, centre, directions.second / sum(len(table) for table in tables))


MOST_COMPONENTS = 2_000
"""The most components of a random projection: more keep no more of the distances, and only take memory."""
MOST_UMAP_COMPONENTS = 100


class RandomSettings(Settings):
    """The dimension of a random projection; 20 is the paper's choice."""

    components: Annotated[int, Field(ge=1, le=MOST_COMPONENTS)] = 20


class RandomProjection(ProjectionOperator):
    """Gaussian random projection: entries N(0, 1/components), drawn by the audit's seed; v is not centred."""

    random: RandomSettings = RandomSettings()

    def most_components(self, features: int) -> int:
        """The number that was set, for any number of features."""
        return self.random.components

    def fit(self, vectors: FittingVectors) -> LinearProjection:
        """Draw the matrix (features x components)."""
        count, rng = self.random.components, vectors.stream("random projection")
        matrix = rng.normal(scale=count**-0.5, size=(vectors.width, count))
        return LinearProjection(np.zeros(vectors.width), matrix, None, None)


class UmapSettings(Settings):
    """UMAP's size and neighbourhood; 15 neighbours is the paper's choice."""

    components: Annotated[int, Field(ge=2, le=MOST_UMAP_COMPONENTS)] = 5
    neighbors: Annotated[int, Field(ge=2)] = 15


class Umap(ProjectionOperator):
    """UMAP of both tables together (extra `umap`). It has no exact map for other records, hence no control figures."""

    umap: UmapSettings = UmapSettings()
    is_linear: ClassVar[bool] = False

    def most_components(self, features: int) -> int:
        """The number that was set, for any number of features."""
        return self.umap.components

    def fit(self, vectors: FittingVectors) -> FixedEmbedding:
        """Embed both tables at once, on one thread, so that a run is reproducible."""
        try:
            import umap  # noqa: PLC0415 - an extra, and slow to load
        except ImportError:
            raise UsageError("the projection umap needs an extra: install cvpl[umap], or choose another") from None
        original, protected = vectors.tables["original"].dense(), vectors.tables["protected"].dense()
        both = np.vstack([original, protected])
        if self.umap.components > len(both) - 2:
            what = f"`umap.components` is {self.umap.components}, and both tables have {len(both):,} records together"
            raise InputError([Problem("configuration", what, f"Set it to at most {max(2, len(both) - 2):,}.")])
        mapper = umap.UMAP(
            n_components=self.umap.components,
            n_neighbors=min(self.umap.neighbors, len(both) - 1),
            random_state=int(vectors.stream("umap").integers(2**31)),
            n_jobs=1,
        )
        embedded = np.asarray(mapper.fit_transform(both), dtype=np.float64)
        # The origin of the map is arbitrary; a cosine is meaningful only about the centre.
        embedded -= embedded.mean(axis=0)
        return FixedEmbedding(embedded[: len(original)], embedded[len(original) :])


class SavedProjection(ProjectionOperator):
    """The projection that an earlier run wrote with `--save-projection`, with the scales it was fitted with."""

    saved: str

    @property
    def saved_file(self) -> str:
        """The file it was written to."""
        return self.saved


Projection = Literal["identity"] | Pca | RobustPca | RandomProjection | Umap | SavedProjection

_BY_NAME: Mapping[str, ProjectionOperator] = {"identity": IdentityProjection()}


def projection_operator(projection: Projection) -> ProjectionOperator:
    """The operator for the settings, given by name or as settings."""
    return _BY_NAME[projection] if isinstance(projection, str) else projection


@dataclass(frozen=True, eq=False)
class Identity:
    """z = v."""

    maps_others: ClassVar[bool] = True
    linear: ClassVar[None] = None

    def embed(self, vectors: FeatureVectors, table: TableName | None) -> Floats:
        """The feature matrix itself."""
        return vectors.dense()


@dataclass(frozen=True, eq=False)
class LinearProjection:
    """z = loadings^T (v - centre). `variances` and `total_variance` are known for principal components only."""

    centre: Floats
    loadings: Floats
    variances: Floats | None
    total_variance: float | None
    maps_others: ClassVar[bool] = True

    @property
    def linear(self) -> LinearProjection:
        """Itself."""
        return self

    def embed(self, vectors: FeatureVectors, table: TableName | None) -> Floats:
        """The embeddings of all records."""
        return self(vectors)

    def __call__(self, vectors: FeatureVectors, rows: Rows | None = None) -> Floats:
        """The embeddings of all records or some, one row per record."""
        return vectors.project(self.loadings, self.centre, rows)

    def energy(self, sums: Moments, about: Floats) -> float:
        """The sum of |z|^2 over the records whose moments about a vector are `sums`."""
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
        """The kept components' share of the total variance; None if there is no variance, or it is not computed."""
        if self.variances is None or not self.total_variance:
            return None
        return min(1.0, float(self.variances.sum()) / self.total_variance)


@dataclass(frozen=True, eq=False)
class FixedEmbedding:
    """The embeddings of the two fitted tables; other records cannot be mapped."""

    original: Floats
    protected: Floats
    maps_others: ClassVar[bool] = False
    linear: ClassVar[None] = None

    def embed(self, vectors: FeatureVectors, table: TableName | None) -> Floats:
        """The embeddings of the named table."""
        if table is None:
            raise UsageError("this projection cannot map records outside the two fitted tables")
        embedded: Floats = getattr(self, table)
        return embedded


def components_of(settings: PcaSettings, covariance: Floats, rounding: float = 0.0) -> tuple[Floats, Floats, float]:
    """Kept eigenvectors, their eigenvalues, and the total, by the rule in this module's docstring.

    An eigenvalue up to `rounding` counts as 0: a table of equal records has no direction.
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
