"""The four figures of utility, their mean, and those that several releases have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import Vectorization
from cvpl.result import UtilityFigures
from cvpl.tables.columns import Pair
from cvpl.utility.downstream import DownstreamAccuracy, downstream_accuracy
from cvpl.utility.marginal import MarginalSimilarity, marginal_similarity
from cvpl.utility.structure import (
    CorrelationPreservation,
    DistancePreservation,
    correlation_preservation,
    distance_preservation,
)

Rows = NDArray[np.signedinteger]


@dataclass(frozen=True)
class Utility:
    """How much of the original's structure a release keeps: four figures, each with its details."""

    correlation: CorrelationPreservation
    marginal: MarginalSimilarity
    downstream: DownstreamAccuracy
    distance: DistancePreservation

    @property
    def figures(self) -> Mapping[str, float | None]:
        """The four figures, each in [0, 1] or None if it is undefined."""
        return {
            "correlation_preservation": self.correlation.figure,
            "marginal_similarity": self.marginal.figure,
            "downstream_accuracy_ratio": self.downstream.figure,
            "distance_preservation": self.distance.figure,
        }

    @property
    def mean(self) -> float | None:
        """The mean of the defined figures; None if there is none."""
        defined = [figure for figure in self.figures.values() if figure is not None]
        return float(np.mean(defined)) if defined else None


def utility(
    pair: Pair,
    rng: np.random.Generator,
    *,
    vectorization: Vectorization | None = None,
    matches: tuple[Rows, Rows] | None = None,
) -> Utility:
    """The utility of a release by the four proxies of the paper (table utility-metrics).

    `vectorization` says how columns become features, one-hot and z-scored by default, and which features a datetime
    has, none by default; pass the attacker's own, so that risk and utility refer to the same structure. `matches` are
    the rows of the same people in the original and in the release, if they are known; only distance preservation uses
    them. `rng` samples the people to test and the pairs whose distances are compared.

    Only columns that both tables have are compared: a column that the release dropped, or suppressed fully, is not in
    `pair`, and does not lower the figures.
    """
    vectorization = vectorization or Vectorization()
    space = vectorization.fit([pair.original, pair.protected])
    return Utility(
        correlation=correlation_preservation(pair, space),
        marginal=marginal_similarity(pair, space),
        downstream=downstream_accuracy(pair, vectorization, rng),
        distance=distance_preservation(pair, space, rng, matches=matches),
    )


FIGURES = ("correlation_preservation", "marginal_similarity", "downstream_accuracy_ratio", "distance_preservation")


def shared_figures(found: Sequence[UtilityFigures]) -> list[str]:
    """The figures that all releases have; empty without a release.

    Distances count only if those of the same people were compared in every release, since the figure for distributions
    of distances is close to 1 for almost any release.
    """
    names = [name for name in FIGURES if found and all(getattr(item, name) is not None for item in found)]
    if any(item.distance_basis != "same_people" for item in found):
        names = [name for name in names if name != "distance_preservation"]
    return names


def mean_of(kept: UtilityFigures, names: Sequence[str]) -> float | None:
    """The mean of the named figures that are defined; None if there is none."""
    values = [value for name in names if (value := getattr(kept, name)) is not None]
    return float(np.mean(values)) if values else None
