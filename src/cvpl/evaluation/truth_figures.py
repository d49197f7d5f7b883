"""All figures that need true matches, at the threshold of a measurement."""

from __future__ import annotations

import numpy as np

from cvpl.evaluation.distributions import compare
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
from cvpl.result import Overlap, TruthFigures


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
    matching = matching_recall(known, tau) if at_threshold else None
    top1 = measured.top1_interval
    return TruthFigures(
        complete=known.complete,
        originals_with_match=with_match,
        matches_in_block=in_block,
        matches_linked=linked,
        blocking_recall=blocking_recall(known),
        matching_recall=matching,
        total_recall=total if at_threshold else None,
        true_link_rate=matching,
        # If a match may be unknown, no candidate is known to be wrong.
        false_link_rate=false_link_rate(known, tau) if at_threshold and known.complete else None,
        pairwise_false_link_rate=pairwise_false_link_rate(measured) if known.complete else None,
        recall_gap=linkage_rate(best, tau) - total if at_threshold and total is not None else None,
        top1_hit_rate=top1_hit_rate(known),
        top1_low=None if top1 is None else top1.low,
        top1_high=None if top1 is None else top1.high,
        precision_at_1=precision_at_1(known, best, tau) if at_threshold else None,
        similarities=_overlap(measured, k),
    )


def _overlap(measured: Measurement, k: int) -> Overlap | None:
    """The similarities of matches and of wrong candidates; None if there are none of either."""
    assert measured.truth is not None  # noqa: S101 - asked with the truth alone
    found = compare(measured.truth.match_similarity, measured.pairs.values, k)
    if found is None:
        return None
    return Overlap(
        edges=found.edges.tolist(),
        matches=found.matches.tolist(),
        non_matches=found.non_matches.tolist(),
        overlap=found.overlap,
        separation=found.separation,
        non_match_pairs=measured.pairs.total,
        sampled=measured.pairs.sampled,
    )
