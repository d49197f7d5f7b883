"""The gate: whether a figure stays below the limit that was set for it, and what keeps it closed all the same."""

from __future__ import annotations

from cvpl import assembly
from cvpl import result as out
from cvpl.config.written import PolicyConfig
from cvpl.diagnostics.validity import Validity
from cvpl.evaluation.contradictions import recall_near_zero, top1_far_above, top1_unexplained
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.policy import Bound, Figure, judge


def gate(
    all_measured: dict[str, Measurement],
    headline: Measurement,
    valid: Validity,
    policy: PolicyConfig | None,
    fail_above: float | None,
) -> out.PolicyOutcome | None:
    """The gate over all attackers: the strongest of them decides, and one without the figure closes it."""
    if policy is None and fail_above is None:
        return None
    bound: Bound = "high" if policy is None else policy.bound
    figure: Figure = "linkage_rate" if headline.basis is None else "attributable_rate"
    if policy is not None:
        figure = policy.figure
    limit = fail_above if fail_above is not None else policy.max if policy is not None else 0.0
    values = [_bounded(measured, figure, bound) for measured in all_measured.values()]
    known = [value for value in values if value is not None]
    seen = assembly.figures(headline)
    doubts = [f"not assessable: {reason}" for reason in valid.reasons]
    if not headline.attack.exact:
        doubts.append("only some of the pairs were examined, and a lower bound cannot pass a gate")
    if top1_far_above(seen):
        doubts.append("the top-1 hit rate is far above the linkage rate")
    if figure == "attributable_rate" and top1_unexplained(seen):
        doubts.append("the top-1 hit rate is far above the attributable rate")
    if recall_near_zero(seen):
        doubts.append("blocking recall is near zero")
    verdict = judge(figure, bound, limit, max(known) if len(known) == len(values) else None, tuple(doubts))
    return out.PolicyOutcome(
        figure=figure, bound=bound, max=limit, value=verdict.value, met=verdict.met, reasons=list(verdict.reasons)
    )


def _bounded(measured: Measurement, figure: Figure, bound: Bound) -> float | None:
    """The end of a figure that a policy looks at."""
    if figure == "attributable_rate":
        estimate, ends = measured.attributable, measured.attributable_interval
    else:
        estimate, ends = measured.rate, measured.rate_interval
    return estimate if bound == "estimate" else None if ends is None else ends.high
