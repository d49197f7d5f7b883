"""Further figures of a measured attack: the curve, the evidence, the true matches, look-alikes and blocks.

The growth law: the expected and observed probability of a look-alike by the number of candidates.

    P(a candidate has s >= τ) = 1 - (1 - p)^|C(x)|, p = P(S >= τ)          (paper, eq. tail-probability)

It assumes independent candidates. The gap between the two columns is the cost of that assumption on this data.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import FALSE_RATE, Estimate
from cvpl.evaluation.measurement import OFF_SCALE_CURVE, Measurement, pairwise_false_link_rate
from cvpl.evaluation.rates import attributable_rate, linkage_rate
from cvpl.evaluation.truth import (
    bin_shares,
    blocking_recall,
    compare,
    exceedance,
    false_link_rate,
    inner_ends,
    matching_recall,
    precision_at_1,
    recall_counts,
    top1_hit_rate,
    total_recall,
)
from cvpl.result import (
    BlockScheme,
    BlockSizeClass,
    CurvePoint,
    EvidenceShares,
    Growth,
    GrowthPoint,
    Overlap,
    TruthFigures,
)
from cvpl.search.blocks import Partition


def curve_points(measured: Measurement) -> list[CurvePoint]:
    """The curve over the threshold grid, or over false-positive rates for a score off the scale."""
    beyond = iter(measured.attributable_curve_intervals or ())
    if measured.curve_intervals is None:
        off_scale = zip(OFF_SCALE_CURVE, measured.curve, measured.power_curve_intervals or (), strict=False)
        return [
            _point(None, float(value), bounds, float(false_rate), beyond, float(false_rate))
            for false_rate, value, bounds in off_scale
        ]
    points = []
    for threshold, value, bounds in zip(measured.grid, measured.curve, measured.curve_intervals, strict=True):
        base = None if measured.base_scores is None else linkage_rate(measured.base_scores, float(threshold))
        points.append(_point(float(threshold), float(value), bounds, base, beyond))
    return points


def _point(
    threshold: float | None,
    rate: float,
    bounds: Estimate,
    base: float | None,
    beyond: Iterator[Estimate],
    false_rate: float | None = None,
) -> CurvePoint:
    attributable = next(beyond, None)
    return CurvePoint(
        threshold=threshold,
        linkage_rate=rate,
        low=bounds.low,
        high=bounds.high,
        control_rate=base,
        attributable_rate=None if base is None else attributable_rate(rate, base),
        attributable_low=None if attributable is None else attributable.low,
        attributable_high=None if attributable is None else attributable.high,
        false_rate=false_rate,
    )


def evidence_shares(measured: Measurement, k: int = 1) -> EvidenceShares | None:
    """The shares by score, in bins that do not tell the score of fewer than k people; None without a candidate."""
    base = measured.base_scores if measured.basis == "control" else None
    found = bin_shares(*([measured.attack.scores] if base is None else [measured.attack.scores, base]), k=k)
    if found is None:
        return None
    read_at = measured.threshold
    if read_at is None and measured.rate.value is not None and measured.base_scores is not None:
        read_at = measured.roc.threshold(FALSE_RATE)
    return EvidenceShares(
        edges=found.edges.tolist(),
        originals=found.shares[0].tolist(),
        controls=None if base is None else found.shares[1].tolist(),
        originals_without=found.without[0],
        controls_without=None if base is None else found.without[1],
        read_at=read_at if read_at is not None and np.isfinite(read_at) else None,
    )


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


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUPS = 5


def growth(measured: Measurement, k: int = 1) -> Growth | None:
    """The law at the threshold, for wrong candidates if truth is known, otherwise for all candidates.

    None without a threshold or without a pair. The numbers of candidates are those of the k-th record from either end.
    """
    if measured.threshold is None:
        return None
    chance = exceedance(measured.pairs.values, measured.threshold)
    if chance is None:
        return None
    found, known = measured.attack.found, measured.truth
    scores, counts = (found.best, found.candidates) if known is None else (known.best_wrong, known.wrong_candidates)
    overall, groups = growth_law(scores, counts, chance, measured.threshold, k)
    return Growth(pair_probability=chance, overall=overall, by_candidates=groups)


def growth_law(
    best: Floats, candidates: Ints, chance: float, threshold: float, k: int = 1
) -> tuple[GrowthPoint, list[GrowthPoint]]:
    """The law over all records, and in up to five groups of records by candidate count."""
    predicted = 1 - (1 - chance) ** candidates
    observed = (best >= threshold).astype(np.float64)

    def row(members: NDArray[np.bool_]) -> GrowthPoint:
        sizes = candidates[members]
        fewest, most = inner_ends(sizes.astype(np.float64), k)
        return GrowthPoint(
            fewest=int(fewest),
            most=int(most),
            records=len(sizes),
            predicted=float(predicted[members].mean()),
            observed=float(observed[members].mean()),
        )

    cuts = np.unique(np.quantile(candidates, np.linspace(0, 1, GROUPS + 1)[1:-1], method="inverted_cdf"))
    group = np.searchsorted(cuts, candidates, side="left")
    return row(np.ones(len(best), dtype=bool)), [row(group == number) for number in np.unique(group)]


LARGEST = 0.10
MOST_OF_THE_WORK = 0.80


def block_sizes(partition: Partition, k: int = 1) -> BlockScheme:
    """Compute the block sizes under one scheme: a size counts protected records, work counts pairs that share a block.

    With compatible keys, a block is a set of originals with the same candidates. `count` is the number of blocks with
    both originals and protected records; blocks with one side only are counted separately. `sizes` are classes from
    each power of two to the next, including empty classes in between.

    With k above 1 the smallest blocks that have fewer than k protected records together are left out, so that nothing
    tells of a few people in blocks of their own; sizes below k are one class.
    """
    queries, candidates = partition.sizes()
    both = (queries > 0) & (candidates > 0)
    both[both] = _large_blocks(candidates[both], k)
    sizes, pairs_of = candidates[both], (queries * candidates)[both]
    work = np.sort(pairs_of)[::-1]
    pairs = int(work.sum())
    done = np.cumsum(work)
    tenth = max(1, int(np.ceil(LARGEST * len(work)))) if len(work) else 0
    return BlockScheme(
        count=int(both.sum()),
        original_only=int(((queries > 0) & (candidates == 0)).sum()),
        protected_only=partition.unmet(),
        smallest=int(sizes.min(initial=sizes.max(initial=0))),
        median=float(np.median(sizes)) if len(sizes) else 0.0,
        mean=float(sizes.mean()) if len(sizes) else 0.0,
        largest=int(sizes.max(initial=0)),
        pairs=pairs,
        share_of_all_pairs=pairs / (len(partition.queries) * len(partition.candidates)),
        work_in_largest_tenth=float(done[tenth - 1] / pairs) if pairs else 0.0,
        blocks_with_80_percent_of_work=int(np.searchsorted(done, MOST_OF_THE_WORK * pairs) + 1) if pairs else 0,
        sizes=_classes(sizes, pairs_of, k),
    )


def _large_blocks(sizes: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Which blocks stay: all but the smallest ones that have fewer than k records together."""
    kept = np.ones(len(sizes), dtype=bool)
    order = np.argsort(sizes, kind="stable")
    kept[order[np.cumsum(sizes[order]) < k]] = False
    return kept


def _classes(sizes: NDArray[np.int64], pairs: NDArray[np.int64], k: int) -> list[BlockSizeClass]:
    """The classes 1, 2 to 3, 4 to 7, ..., from the smallest block's class to the largest block's.

    All classes that begin below k are one, which is always there if k is above 1.
    """
    if not len(sizes):
        return []
    number = np.frexp(sizes)[1] - 1
    blocks, work = np.bincount(number), np.bincount(number, weights=pairs)
    small = int(np.ceil(np.log2(k)))
    found = []
    if small:
        few = BlockSizeClass(
            fewest=1, most=(1 << small) - 1, blocks=int(blocks[:small].sum()), pairs=int(work[:small].sum())
        )
        found.append(few)
    rest = range(max(small, int(number.min())), len(blocks))
    return found + [
        BlockSizeClass(fewest=1 << at, most=(2 << at) - 1, blocks=int(blocks[at]), pairs=int(work[at])) for at in rest
    ]
