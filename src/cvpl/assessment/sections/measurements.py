"""From measurements to the sections of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.attack.attack import Attack
from cvpl.attack.representation import linear
from cvpl.evaluation.block_sizes import block_sizes
from cvpl.evaluation.contradictions import Figures
from cvpl.evaluation.control import Roc, attributable_rate
from cvpl.evaluation.distributions import binned, compare, exceedance
from cvpl.evaluation.growth import growth_law
from cvpl.evaluation.intervals.intervals import Interval
from cvpl.evaluation.measurement import OFF_SCALE_CURVE, OFF_SCALE_FALSE_RATE, Measurement, pairwise_false_link_rate
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.truth import (
    blocking_recall,
    false_link_rate,
    matching_recall,
    precision_at_1,
    recall_counts,
    share,
    top1_hit_rate,
    total_recall,
)
from cvpl.operators.threshold import Calibrate

Floats = NDArray[np.float64]

_NO_INTERVAL = "none"


class _Ends(TypedDict):
    low: float | None
    high: float | None
    method: str
    coverage: str


def _ends(interval: Interval | None) -> _Ends:
    given = interval or Interval(None, None, _NO_INTERVAL)
    return {"low": given.low, "high": given.high, "method": given.method, "coverage": given.coverage}


def rate(measured: Measurement) -> out.Rate:
    """The linkage rate with its interval."""
    return out.Rate(estimate=measured.rate, **_ends(measured.rate_interval))


def search(attack: Attack) -> out.Search:
    """How the pairs were searched, and how many of them."""
    return out.Search(
        exact=attack.exact,
        narrowed_by=list(attack.levers.used),
        pairs=attack.blocks.pairs,
        share_examined=attack.share_examined,
    )


def curve(measured: Measurement, grid: Floats) -> list[out.CurvePoint]:
    """The risk curve over thresholds, with the control's beside it, or over false rates for a score off the scale."""
    points = []
    attributed = iter(measured.attributable_curve_intervals or ())
    if measured.curve_intervals is None:
        off_scale = zip(OFF_SCALE_CURVE, measured.curve, measured.power_curve_intervals or (), strict=False)
        for false_rate, value, ends in off_scale:
            beyond = next(attributed, None)
            points.append(
                out.CurvePoint(
                    threshold=None,
                    linkage_rate=float(value),
                    low=ends.low,
                    high=ends.high,
                    control_rate=float(false_rate),
                    attributable_rate=attributable_rate(float(value), float(false_rate)),
                    attributable_low=None if beyond is None else beyond.low,
                    attributable_high=None if beyond is None else beyond.high,
                    false_rate=float(false_rate),
                )
            )
        return points
    for threshold, value, ends in zip(grid, measured.curve, measured.curve_intervals, strict=True):
        base = None if measured.base_scores is None else linkage_rate(measured.base_scores, float(threshold))
        beyond = next(attributed, None)
        points.append(
            out.CurvePoint(
                threshold=float(threshold),
                linkage_rate=float(value),
                low=ends.low,
                high=ends.high,
                control_rate=base,
                attributable_rate=None if base is None else attributable_rate(float(value), base),
                attributable_low=None if beyond is None else beyond.low,
                attributable_high=None if beyond is None else beyond.high,
            )
        )
    return points


def calibration(measured: Measurement) -> out.Calibration | None:
    """What was asked of a calibrated threshold."""
    setting = measured.attack.attacker.threshold
    if not isinstance(setting, Calibrate):
        return None
    return out.Calibration(form=setting.calibrate, alpha=setting.alpha, attainable=measured.threshold is not None)


def blocks(measured: Measurement) -> out.Blocks:
    """Block sizes a scheme, and candidates over all schemes."""
    schemes = [out.BlockScheme(**asdict(block_sizes(partition))) for partition in measured.attack.partitions]
    candidates = measured.attack.found.candidates
    return out.Blocks(
        count=sum(scheme.count for scheme in schemes),
        pairs=int(candidates.sum()),
        mean_candidates=float(candidates.mean()),
        without_candidates=int((candidates == 0).sum()),
        schemes=schemes,
    )


def projection(measured: Measurement) -> out.ProjectionSummary:
    """The dimension and explained variance of what records were compared in."""
    representation = measured.attack.representation
    fitted = linear(representation.projection)
    components = None if fitted is None else fitted.components
    if fitted is None and representation.projection is not None:
        components = representation.embed(measured.attack.original).shape[1]
    return out.ProjectionSummary(
        components=components,
        explained_variance=None if fitted is None else fitted.explained_variance,
        features=representation.space.width,
    )


def truth(measured: Measurement) -> out.TruthFigures | None:
    """Recalls, true and false links, hits; null where no match is known at all."""
    known, threshold = measured.truth, measured.threshold
    if known is None:
        return None
    best = measured.attack.scores
    tau = np.inf if threshold is None else threshold
    with_match, in_block, linked = recall_counts(known, tau)
    total = total_recall(known, tau)
    overlap = compare(known.match_similarity, measured.pairs.values)
    similarities = None
    if overlap is not None:
        similarities = out.Overlap(
            edges=overlap.edges.tolist(),
            matches=overlap.matches.tolist(),
            non_matches=overlap.non_matches.tolist(),
            overlap=overlap.overlap,
            separation=overlap.separation,
            non_match_pairs=measured.pairs.total,
            sampled=measured.pairs.sampled,
        )
    at_threshold = threshold is not None
    return out.TruthFigures(
        complete=known.complete,
        originals_with_match=with_match,
        matches_in_block=in_block,
        matches_linked=linked,
        blocking_recall=blocking_recall(known),
        matching_recall=matching_recall(known, tau) if at_threshold else None,
        total_recall=total if at_threshold else None,
        true_link_rate=matching_recall(known, tau) if at_threshold else None,
        # Where a match may be unknown, no candidate is known to be wrong.
        false_link_rate=false_link_rate(known, tau) if at_threshold and known.complete else None,
        pairwise_false_link_rate=pairwise_false_link_rate(measured) if known.complete else None,
        recall_gap=linkage_rate(best, tau) - total if at_threshold and total is not None else None,
        top1_hit_rate=top1_hit_rate(known),
        top1_low=None if measured.top1_interval is None else measured.top1_interval.low,
        top1_high=None if measured.top1_interval is None else measured.top1_interval.high,
        precision_at_1=precision_at_1(known, best, tau) if at_threshold else None,
        similarities=similarities,
    )


def evidence(measured: Measurement) -> out.EvidenceShares | None:
    """The shares of originals and controls by their evidence; null where nobody has a candidate."""
    base = measured.base_scores if measured.basis == "control" else None
    found = binned(*([measured.attack.scores] if base is None else [measured.attack.scores, base]))
    if found is None:
        return None
    read_at = measured.threshold
    if read_at is None and measured.rate is not None and measured.base_scores is not None:
        read_at = Roc.of(measured.attack.scores, measured.base_scores).threshold(OFF_SCALE_FALSE_RATE)
    return out.EvidenceShares(
        edges=found.edges.tolist(),
        originals=found.shares[0].tolist(),
        controls=None if base is None else found.shares[1].tolist(),
        originals_without=found.without[0],
        controls_without=None if base is None else found.without[1],
        read_at=read_at if read_at is not None and np.isfinite(read_at) else None,
    )


def growth(measured: Measurement) -> out.Growth | None:
    """The growth law at the threshold: for wrong candidates where truth is known, for all of them otherwise."""
    if measured.threshold is None:
        return None
    chance = exceedance(measured.pairs.values, measured.threshold)
    if chance is None:
        return None
    found, known = measured.attack.found, measured.truth
    scores, counts = (found.best, found.candidates) if known is None else (known.best_wrong, known.wrong_candidates)
    overall, groups = growth_law(scores, counts, chance, measured.threshold)
    return out.Growth(
        pair_probability=chance,
        overall=out.GrowthPoint(**asdict(overall)),
        by_candidates=[out.GrowthPoint(**asdict(group)) for group in groups],
    )


def control(measured: Measurement) -> out.Control | None:
    """The control's rate; null without a control table."""
    if measured.control is None:
        return None
    return out.Control(rate=measured.base_rate, records=len(measured.control), **_ends(measured.base_interval))


def attributable(measured: Measurement) -> out.Attributable | None:
    """The rate beyond look-alikes; null where nothing tells what look-alikes explain."""
    if measured.basis is None:
        return None
    ends = _ends(measured.attributable_interval)
    return out.Attributable(estimate=measured.attributable, basis=measured.basis, **ends)


def power(measured: Measurement, reading: float | None = None) -> list[out.Power] | None:
    """Power at the stated false rates, and at `reading` where the risk is read at another one."""
    if measured.power is None:
        return None
    intervals = measured.power_intervals or {}
    found = [
        out.Power(false_rate=false_rate, power=value, **_ends(intervals.get(false_rate)))
        for false_rate, value in measured.power.items()
    ]
    if reading is not None and reading not in measured.power and measured.has_control:
        ends = _ends(measured.power_interval(reading, measured.spread.confidence))
        found.append(out.Power(false_rate=reading, power=measured.power_at(reading), **ends))
    return found


def attacker_row(
    name: str,
    measured: Measurement,
    faults: Sequence[str],
    canaries: out.Canaries | None,
    risk: out.Risk | None = None,
) -> out.AttackerRow:
    """One attacker's line in the table of attackers; `faults` are why it does not count."""
    known = measured.truth
    return out.AttackerRow(
        name=name,
        threshold=measured.threshold,
        linkage_rate=rate(measured),
        control_rate=measured.base_rate if measured.basis == "control" else None,
        attributable_rate=attributable(measured),
        power=power(measured, None if risk is None else risk.false_rate),
        top1_hit_rate=None if known is None else top1_hit_rate(known),
        settings=measured.attack.attacker.model_dump(mode="json"),
        asked=measured.attack.original.rows,
        disqualified=list(faults),
        canaries=canaries,
        risk=risk,
    )


def figures(measured: Measurement) -> Figures:
    """What the contradiction rules look at."""
    known, linked, threshold = measured.truth, measured.linked, measured.threshold
    of_matched = None
    if known is not None and linked is not None:
        of_matched = share(float(linked[0][known.has_match].sum()), int(known.has_match.sum()))
    step = None
    if threshold is not None and measured.attack.attacker.on_scale:
        scores = measured.attack.scores
        step = linkage_rate(scores, threshold - 0.01) - linkage_rate(scores, threshold + 0.01)
    return Figures(
        records=len(measured.attack.found),
        linkage_rate=measured.rate,
        linkage_rate_of_matched=of_matched,
        top1_hit_rate=None if known is None else top1_hit_rate(known),
        blocking_recall=None if known is None else blocking_recall(known),
        attributable_rate=measured.attributable,
        basis=measured.basis,
        controls=None if measured.control is None else len(measured.control),
        power=None if measured.power is None else measured.power[OFF_SCALE_FALSE_RATE],
        step=step,
    )
