"""The gate: whether figures stay below the limits set for them, and what keeps it closed all the same."""

from __future__ import annotations

from collections.abc import Mapping

from cvpl import assembly
from cvpl import result as out
from cvpl.config.written import PolicyConfig
from cvpl.contenders import Standing
from cvpl.evaluation.contradictions import power_unexplained, recall_near_zero, top1_far_above, top1_unexplained
from cvpl.evaluation.intervals import Interval
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.policy import FALSE_RATE_OF, Figure, judge
from cvpl.evaluation.subgroups import Subgroups
from cvpl.evaluation.truth import top1_hit_rate

Ends = tuple[float | None, float | None]
"""A figure's estimate and upper interval end."""
_OF_THE_HEADLINE = ("attributable_rate", "linkage_rate", "maximum_subgroup_rate")


def gate(
    standing: Standing,
    headline: Measurement,
    policy: PolicyConfig | tuple[PolicyConfig, ...] | None,
    fail_above: float | None,
    people: Mapping[str, Subgroups | None],
) -> list[out.PolicyOutcome]:
    """One outcome for each policy, those that are not met first; all must be met.

    Rates are those of the headline attacker, the strongest by power, with intervals that allow for its having been
    picked; where no power is known, and nothing was picked, and for top-1 and power, the largest value over all
    attackers in the running decides. `fail_above` takes the place of a single policy's maximum; beside several, or a
    preset, it is one more. `people` has the rates by subgroup of each attacker that was asked for them.
    """
    outcomes = []
    for it in _policies(policy, fail_above, headline):
        running = {name: one.measured for name, one in (standing.qualified or standing.contenders).items()}
        running[standing.headline] = headline
        if it.figure in _OF_THE_HEADLINE and headline.power is not None:
            running = {standing.headline: headline}
        values = [_bounded(measured, it, people.get(name)) for name, measured in running.items()]
        known = [value for value in values if value is not None]
        value = max(known) if len(known) == len(values) else None
        found = (*doubts(headline, standing.reasons, it.figure), *_without_control(headline, it))
        verdict = judge(it.figure, it.bound, it.max, value, found)
        outcomes.append(
            out.PolicyOutcome(
                figure=it.figure,
                bound=it.bound,
                max=it.max,
                value=verdict.value,
                met=verdict.met,
                reasons=list(verdict.reasons),
                preset=it.preset,
            )
        )
    return sorted(outcomes, key=lambda outcome: outcome.met)


def _policies(
    policy: PolicyConfig | tuple[PolicyConfig, ...] | None, fail_above: float | None, headline: Measurement
) -> tuple[PolicyConfig, ...]:
    if fail_above is None:
        return () if policy is None else policy if isinstance(policy, tuple) else (policy,)
    if isinstance(policy, PolicyConfig) and policy.preset is None:
        return (PolicyConfig(figure=policy.figure, bound=policy.bound, max=fail_above),)
    figure: Figure = "linkage_rate" if headline.basis is None else "attributable_rate"
    others = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
    return (*others, PolicyConfig(figure=figure, max=fail_above))


def doubts(headline: Measurement, reasons: tuple[str, ...], figure: Figure) -> tuple[str, ...]:
    """Why a figure cannot pass a gate however low it is; `reasons` are why nothing can be read as risk, if so."""
    seen = assembly.figures(headline)
    found = [f"not assessable: {reason}" for reason in reasons]
    if not headline.attack.exact:
        found.append("only some of the pairs were examined, and a lower bound cannot pass a gate")
    if top1_far_above(seen):
        found.append("the top-1 hit rate is far above the linkage rate")
    if figure == "attributable_rate" and top1_unexplained(seen):
        found.append("the top-1 hit rate is far above the attributable rate")
    if figure in _OF_THE_HEADLINE and power_unexplained(seen):
        found.append("power at 5% is far above the attributable rate")
    if recall_near_zero(seen):
        found.append("blocking recall is near zero")
    return tuple(found)


def _without_control(headline: Measurement, policy: PolicyConfig) -> tuple[str, ...]:
    """Without a control a rate is blind to releases of equal records; the top-1 hit rate must stay below too."""
    if headline.basis != "own_match_left_out" or headline.truth is None or policy.figure == "top1_hit_rate":
        return ()
    hits = _bounded(headline, policy.model_copy(update={"figure": "top1_hit_rate"}), None)
    hits = top1_hit_rate(headline.truth) if hits is None else hits
    if hits is None or hits <= policy.max:
        return ()
    return (f"there is no control, and the top-1 hit rate of up to {hits:.1%} is above the limit",)


def _bounded(measured: Measurement, policy: PolicyConfig, people: Subgroups | None) -> float | None:
    """The end of a figure that a policy looks at; None where it is not known."""
    estimate, high = _ends(measured, policy.figure, people)
    return estimate if policy.bound == "estimate" else high


def _ends(measured: Measurement, figure: Figure, people: Subgroups | None) -> Ends:
    if figure in FALSE_RATE_OF:
        at = FALSE_RATE_OF[figure]
        return _of(None if measured.power is None else measured.power.get(at), (measured.power_intervals or {}).get(at))
    if figure == "maximum_subgroup_rate":
        most = None if people is None else people.maximum
        # A lower bound is not an estimate: a hidden group may have more.
        return (None, None) if most is None else (None if most.at_least else most.estimate, most.high)
    if figure == "top1_hit_rate":
        return _of(None if measured.truth is None else top1_hit_rate(measured.truth), measured.top1_interval)
    if figure == "attributable_rate":
        return _of(measured.attributable, measured.attributable_interval)
    return _of(measured.rate, measured.rate_interval)


def _of(estimate: float | None, ends: Interval | None) -> Ends:
    return estimate, None if ends is None else ends.high
