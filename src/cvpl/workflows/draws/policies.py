"""The configuration's policies, judged by figures over several draws of a mechanism."""

from __future__ import annotations

from collections.abc import Callable

from cvpl import result as out
from cvpl.assessment.decision import policy_outcome
from cvpl.config.written import PolicyConfig
from cvpl.evaluation.policy import FALSE_RATE_OF, judge


def draw_policies(
    written: PolicyConfig | tuple[PolicyConfig, ...] | None,
    risk: out.Risk | out.TrialRisk | None,
    power_at: Callable[[float], out.Power | out.TrialPower | None],
    attacker: str | None,
    doubts: tuple[str, ...] = (),
) -> list[out.PolicyOutcome]:
    """One outcome for each policy; figures are those that are published, the mean over draws and its interval.

    Only the risk and the power are read over draws; any other figure is unknown, and its policy is not met. Each of
    `doubts` closes the gate for every policy.
    """
    outcomes = []
    for policy in () if written is None else written if isinstance(written, tuple) else (written,):
        value = None
        if policy.figure == "risk" and risk is not None:
            value = risk.high if policy.bound == "high" else risk.estimate
        elif policy.figure in FALSE_RATE_OF and (power := power_at(FALSE_RATE_OF[policy.figure])) is not None:
            value = power.high if policy.bound == "high" else power.power
        unknown = "only the risk and the power are read over draws"
        decided = judge(policy.figure, policy.bound, policy.limit, value, doubts, unknown)
        outcomes.append(policy_outcome(policy, decided, attacker))
    return outcomes
