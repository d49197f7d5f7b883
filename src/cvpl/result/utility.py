"""How much of the original's structure a release keeps."""

from __future__ import annotations

from typing import Literal

from cvpl.result.section import Section


class UtilityFigures(Section):
    """The four figures of a release's utility, each from 0 to 1 or null where it is undefined.

    `distance_basis` says whether distances are those of the same people, or only their distributions.
    """

    correlation_preservation: float | None
    marginal_similarity: float | None
    downstream_accuracy_ratio: float | None
    distance_preservation: float | None
    distance_basis: Literal["same_people", "distributions"]


class MeanUtility(UtilityFigures):
    """The four figures, and their mean."""

    mean: float | None
