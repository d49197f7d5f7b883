"""How much of the original's structure a release keeps."""

from __future__ import annotations

from typing import Literal

from cvpl.result.marks import OfTables
from cvpl.result.section import Section


class UtilityFigures(Section):
    """The four utility figures of a release, each from 0 to 1, or null if undefined.

    `distance_basis` states whether distances are compared between the same people or only by their distributions.
    """

    correlation_preservation: OfTables | None
    marginal_similarity: OfTables | None
    downstream_accuracy_ratio: OfTables | None
    distance_preservation: OfTables | None
    distance_basis: Literal["same_people", "distributions"]


class MeanUtility(UtilityFigures):
    """The four figures, and their mean."""

    mean: OfTables | None
