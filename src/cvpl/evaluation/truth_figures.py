"""All figures that need true matches, at the threshold of a measurement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.evaluation.distributions import Distributions, compare
from cvpl.evaluation.measurement import Measurement, pairwise_false_link_rate
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.truth import (
    blocking_recall,
    false_link_rate,
    matching_recall,
    precision_at_1,
    recall_counts,
    top1_hit_rate,
    total_recall,
)


@dataclass(frozen=True, eq=False)
class TruthFigures:
    """Recalls, true and false links, hits. Rates at the threshold are None if there is no threshold."""

    complete: bool
    originals_with_match: int
    matches_in_block: int
    matches_linked: int
    blocking_recall: float | None
    matching_recall: float | None
    total_recall: float | None
    false_link_rate: float | None
    pairwise_false_link_rate: float | None
    recall_gap: float | None
    top1_hit_rate: float | None
    precision_at_1: float | None
    similarities: Distributions | None


def truth_figures(measured: Measurement, k: int = 1) -> TruthFigures | None:
    """Compute the figures; None if no match is known. The bins of similarities leave out the k - 1 outermost scores."""
    known, threshold = measured.truth, measured.threshold
    if known is None:
        return None
    best = measured.attack.scores
    tau = np.inf if threshold is None else threshold
    with_match, in_block, linked = recall_counts(known, tau)
    total = total_recall(known, tau)
    at_threshold = threshold is not None
    return TruthFigures(
        complete=known.complete,
        originals_with_match=with_match,
        matches_in_block=in_block,
        matches_linked=linked,
        blocking_recall=blocking_recall(known),
        matching_recall=matching_recall(known, tau) if at_threshold else None,
        total_recall=total if at_threshold else None,
        # If a match may be unknown, no candidate is known to be wrong.
        false_link_rate=false_link_rate(known, tau) if at_threshold and known.complete else None,
        pairwise_false_link_rate=pairwise_false_link_rate(measured) if known.complete else None,
        recall_gap=linkage_rate(best, tau) - total if at_threshold and total is not None else None,
        top1_hit_rate=top1_hit_rate(known),
        precision_at_1=precision_at_1(known, best, tau) if at_threshold else None,
        similarities=compare(known.match_similarity, measured.pairs.values, k),
    )
