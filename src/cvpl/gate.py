"""The gate: whether figures stay below the limits set for them, and what keeps it closed all the same."""

from __future__ import annotations

from collections.abc import Mapping

from cvpl import assembly
from cvpl import result as out
from cvpl.config.written import PolicyConfig
from cvpl.diagnostics.validity import Validity
from cvpl.evaluation.contradictions import recall_near_zero, top1_far_above, top1_unexplained
from cvpl.evaluation.intervals import Interval
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.policy import FALSE_RATE_OF, Bound, Figure, deciding, judge
from cvpl.evaluation.truth import top1_hit_rate

Ends = tuple[float | None, float | None]
"""A figure's estimate and upper interval end."""


def gate(
    all_measured: dict[str, Measurement],
    headline: Measurement,
    valid: Validity,
    policy: PolicyConfig | tuple[PolicyConfig, ...] | None,
    fail_above: float | None,
    maximum_subgroup: Mapping[str, Ends] | None = None,
) -> out.PolicyOutcome | None:
    """The gate over all attackers: the strongest of them decides, and one without the figure closes it.

    Of several policies all must be met. `fail_above` takes the place of a single policy's maximum; beside several it is
    one more. `maximum_subgroup` has for each attacker the largest rate over subgroups and its upper interval end.
    """
    policies = _policies(policy, fail_above, headline)
    if not policies:
        return None
    verdicts = []
    for it in policies:
        values = [
            _bounded(measured, it.figure, it.bound, (maximum_subgroup or {}).get(name))
            for name, measured in all_measured.items()
        ]
        known = [value for value in values if value is not None]
        value = max(known) if len(known) == len(values) else None
        verdicts.append(judge(it.figure, it.bound, it.max, value, _doubts(headline, valid, it.figure)))
    verdict = deciding(tuple(verdicts))
    return out.PolicyOutcome(
        figure=verdict.figure,
        bound=verdict.bound,
        max=verdict.limit,
        value=verdict.value,
        met=verdict.met,
        reasons=list(verdict.reasons),
    )


def _policies(
    policy: PolicyConfig | tuple[PolicyConfig, ...] | None, fail_above: float | None, headline: Measurement
) -> tuple[PolicyConfig, ...]:
    if fail_above is None:
        return () if policy is None else policy if isinstance(policy, tuple) else (policy,)
    if isinstance(policy, PolicyConfig):
        return (PolicyConfig(figure=policy.figure, bound=policy.bound, max=fail_above),)
    figure: Figure = "linkage_rate" if headline.basis is None else "attributable_rate"
    return (*(policy or ()), PolicyConfig(figure=figure, max=fail_above))


def _doubts(headline: Measurement, valid: Validity, figure: Figure) -> tuple[str, ...]:
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
    return tuple(doubts)


def _bounded(measured: Measurement, figure: Figure, bound: Bound, subgroup: Ends | None) -> float | None:
    """The end of a figure that a policy looks at; None where it is not known, as the upper end of power is not."""
    estimate, high = _ends(measured, figure, subgroup)
    return estimate if bound == "estimate" else high


def _ends(measured: Measurement, figure: Figure, subgroup: Ends | None) -> Ends:
    if figure in FALSE_RATE_OF:
        at = FALSE_RATE_OF[figure]
        return _of(None if measured.power is None else measured.power.get(at), (measured.power_intervals or {}).get(at))
    if figure == "maximum_subgroup_rate":
        return subgroup or (None, None)
    if figure == "top1_hit_rate":
        return _of(None if measured.truth is None else top1_hit_rate(measured.truth), measured.top1_interval)
    if figure == "attributable_rate":
        return _of(measured.attributable, measured.attributable_interval)
    return _of(measured.rate, measured.rate_interval)


def _of(estimate: float | None, ends: Interval | None) -> Ends:
    return estimate, None if ends is None else ends.high
