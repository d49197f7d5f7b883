"""How much of the original's structure a release keeps."""

from __future__ import annotations

from typing import Literal

from cvpl.result.section import Section


class UtilityFigures(Section):
    """The four utility figures of a release, each from 0 to 1, or null if undefined.

    `distance_basis` states whether distances are compared between the same people or only by their distributions.
    """

    correlation_preservation: float | None
    marginal_similarity: float | None
    downstream_accuracy_ratio: float | None
    distance_preservation: float | None
    distance_basis: Literal["same_people", "distributions"]


class MeanUtility(UtilityFigures):
    """The four figures, and their mean."""

    mean: float | None
