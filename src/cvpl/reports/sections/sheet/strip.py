"""The verdict strip: whether the policy is met, by a word, an icon and a colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cvpl.reports.sections.top import policy_comparison, shown_attacker
from cvpl.result import AttackerScenario, AuditResult, PolicyOutcome
from cvpl.result.audit import deciding_reason
from cvpl.wording import counted, percent, printable, sentence

State = Literal["met", "not-met", "no-policy", "not-assessable"]
WORDS: dict[State, str] = {
    "met": "Policy met",
    "not-met": "Policy not met",
    "no-policy": "No policy",
    "not-assessable": "Not assessable",
}
NO_CONFIGURATION = "There was no configuration: roles and types of columns are guesses."


@dataclass(frozen=True)
class Strip:
    """The state of a release under its policy, and the sentences that explain it."""

    state: State
    details: tuple[str, ...]

    @property
    def word(self) -> str:
        """The state in words."""
        return WORDS[self.state]


def verdict_strip(result: AuditResult) -> Strip:
    """The strip of an audit. A release that is not assessable is that first, whatever its policy."""
    state = _state(result)
    details = [*_policy(result, state)]
    if result.quick:
        details.append("Quick look: run the full audit before you decide.")
    if result.attacker_scenario is not None:
        details.append(_limited(result.attacker_scenario))
    if result.assumptions is not None:
        details.append(NO_CONFIGURATION)
    return Strip(state, tuple(details))


def _limited(found: AttackerScenario) -> str:
    """What attackers know in a scenario: its figures hold for them alone."""
    wrong = f", and {percent(found.errors)} of their values are wrong" if found.errors else ""
    known = f"attackers know {counted(len(found.columns), 'column')}{wrong}"
    return f"Only for the scenario {found.name.replace('_', ' ')}: {known}."


def _state(result: AuditResult) -> State:
    if result.verdict.kind == "not_assessable":
        return "not-assessable"
    policies = result.policies or ([] if result.policy is None else [result.policy])
    if not policies:
        return "no-policy"
    return "met" if all(policy.met for policy in policies) else "not-met"


def _policy(result: AuditResult, state: State) -> list[str]:
    policies = result.policies or ([] if result.policy is None else [result.policy])
    if state == "not-assessable":
        unmet = " No policy can be met." if policies else ""
        return [f"No attacker is reliable here, so a low figure would mean nothing.{unmet}"]
    if state == "no-policy":
        closing = any(finding.closes_gate for finding in result.preflight)
        failed = " A check before the attack fails, so no policy could be met." if closing else ""
        return [f"No limit was set: the decision is yours.{failed}"]
    if state == "met":
        first, *others = policies
        more = f" So {'is' if len(others) == 1 else 'are'} {counted(len(others), 'other policy', 'other policies')}."
        return [f"{_compared(result, first)} Met under the stated attackers.{more if others else ''}"]
    first, *others = [policy for policy in policies if not policy.met]
    more = f" {sentence(counted(len(others), 'other policy is', 'other policies are') + ' not met')}" if others else ""
    unknown = first.value is None and deciding_reason(first) is None and first.reasons
    reason = f" {sentence(printable(first.reasons[0]))}" if unknown else ""
    return [f"{_compared(result, first)}{reason}{more}"]


def _compared(result: AuditResult, policy: PolicyOutcome) -> str:
    return sentence(policy_comparison(policy, shown_attacker(result, policy.figure)))
