"""The utility figures that several releases have in common, and their mean, by which releases are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cvpl.result import UtilityFigures

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
