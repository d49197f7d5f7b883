"""The sheet of an audit as a value: what a decision needs, worded but not laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from cvpl.answers.headline import (
    Headline,
    Ruler,
    Square,
    comparison_group,
    headline,
    headline_risk,
    hundred_people,
    risk_ruler,
    scale_ends,
)
from cvpl.answers.releases import MATTERS, ColumnEffects, EffectFigure, column_effects
from cvpl.estimates import FALSE_RATE
from cvpl.reports.sections.exposure import column_steps, evaluation_keys, next_steps
from cvpl.reports.sections.reviewers import requirements
from cvpl.reports.sections.top import policy_comparison, shown_attacker
from cvpl.reports.sections.warnings import FirstWarning, first_warning
from cvpl.result import AttackerScenario, AuditResult, Input, PolicyOutcome
from cvpl.result.audit import deciding_reason
from cvpl.result.figures import LOOK_ALIKES, group_with_largest_rate, stands_out
from cvpl.wording import UNKNOWN, count_in, count_phrase, mark_name, percent, points, printable, sentence, span

_NAMES = 5
"""The sheet names at most this many attackers; the page lists all."""
_FINGERPRINT = 16
"""The sheet shows this many digits of a fingerprint; the page shows all."""
SIGNED = ("Name", "Position", "Decision", "Date", "Signature")
"""The lines to be filled in by hand."""


@dataclass(frozen=True)
class Sheet:
    """The verdict strip, the sentence, the pictures, three figures, a warning, the actions, and the record.

    `people` is the figure of the grid and `ruler` that of the ruler; None if nothing was measured. `legend` explains
    the marks of the grid. `record` lists files, version and attackers.
    """

    title: str
    strip: Strip
    sentence: str
    people: Headline | None
    legend: tuple[tuple[Square, str], ...]
    ruler: Ruler | None
    cards: tuple[Card, Card, Card]
    warning: FirstWarning | None
    actions: Actions
    record: tuple[tuple[str, str], ...]
    signed: tuple[str, ...] = SIGNED


def audit_sheet(result: AuditResult, title: str, date: date | None = None) -> Sheet:
    """The sheet of an audit; `title` names the audited tables, `date` is the day on which the report is written."""
    found = headline(result)
    return Sheet(
        title=title,
        strip=verdict_strip(result),
        sentence=printable(result.verdict.sentence),
        people=found,
        legend=() if found is None else grid_legend(found),
        ruler=risk_ruler(result),
        cards=cards(result),
        warning=first_warning(result),
        actions=actions(result),
        record=_record(result, date),
    )


def grid_legend(found: Headline) -> tuple[tuple[Square, str], ...]:
    """Every mark of the grid in words, in the order of the grid: solid and hatched squares, discs, empty squares."""
    squares = hundred_people(found)
    people = count_in(found.estimate, found.low, found.high, "").replace("  ", " ")
    alike = sum(square.kind == "look-alike" for square in squares)
    risk = found.kind == "risk"
    what = "linked because of the release" if risk else "the best candidate is the right person"
    words = {
        Square("linked", False): "solid: certain at the lower end",
        Square("linked", True): "hatched: up to the estimate",
        Square("look-alike", True): "hatched: look-alikes, up to the upper end",
        Square("look-alike", False): f"{alike} in 100: look-alikes, linked as strangers are too",
        Square("neither", True): "hatched outline: up to the upper end",
        Square("neither", False): "not linked by these attackers" if risk else "the best candidate is someone else",
    }
    marks = list(dict.fromkeys(squares))
    # Solid and hatched squares together are the figure with its interval, which the first of them tells.
    if marks[0].uncertain or marks[0].kind == "linked":
        words[marks[0]] = f"{people}: {what}; {words[marks[0]]}"
    return tuple((mark, words[mark]) for mark in marks)


def _record(result: AuditResult, date: date | None) -> tuple[tuple[str, str], ...]:
    """The date, files with fingerprints, version and seed, the attackers that were asked, and what was not measured."""
    day = () if date is None else (("Report written", date.isoformat()),)
    roles = {"original": "Original", "protected": "Release", "control": "Control"}
    files = tuple((roles.get(role, printable(role)), _file(item)) for role, item in result.inputs.items())
    version = printable(result.provenance.versions.get("cvpl", UNKNOWN))
    names = [row.name for row in sorted(result.attackers, key=lambda row: row.name != result.attacker)]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    asked = f"{len(names)} asked: {', '.join(printable(name) for name in names[:_NAMES])}{more}"
    tool = ("Tool", f"cvpl {version}, seed {result.provenance.seed}")
    return (*day, *files, tool, ("Attackers", asked), ("Not measured", _not_measured(result)))


def _not_measured(result: AuditResult) -> str:
    """What reviewers ask for and this audit has no figure of, and what no audit measures."""
    missing = [item.requirement.lower() for item in requirements(result) if item.status == "not measured"]
    always = "other tables or releases with the same people, stronger attackers, and what somebody may know or ask"
    return ", ".join([*missing, always])


def _file(item: Input) -> str:
    fingerprint = printable((item.sha256 or UNKNOWN)[:_FINGERPRINT])
    return f"{mark_name(item.name)}, {count_phrase(item.rows, 'row')}, SHA-256 {fingerprint}"


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
        details.append(_scenario_sentence(result.attacker_scenario))
    if result.assumptions is not None:
        details.append(NO_CONFIGURATION)
    return Strip(state, tuple(details))


def _scenario_sentence(found: AttackerScenario) -> str:
    """What attackers know in a scenario: its figures hold for them alone."""
    wrong = f", and {percent(found.errors)} of their values are wrong" if found.errors else ""
    known = f"attackers know {count_phrase(len(found.columns), 'column')}{wrong}"
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
        more = (
            f" So {'is' if len(others) == 1 else 'are'} {count_phrase(len(others), 'other policy', 'other policies')}."
        )
        return [f"{_comparison_sentence(result, first)} Met under the stated attackers.{more if others else ''}"]
    first, *others = [policy for policy in policies if not policy.met]
    more = (
        f" {sentence(count_phrase(len(others), 'other policy is', 'other policies are') + ' not met')}"
        if others
        else ""
    )
    unknown = first.value is None and deciding_reason(first) is None and first.reasons
    reason = f" {sentence(printable(first.reasons[0]))}" if unknown else ""
    return [f"{_comparison_sentence(result, first)}{reason}{more}"]


def _comparison_sentence(result: AuditResult, policy: PolicyOutcome) -> str:
    return sentence(policy_comparison(policy, shown_attacker(result, policy.figure)))


NOT_MEASURED = "not measured"
NOT_ASSESSABLE = "not assessable"
NO_REFERENCE = "Chance is 0%, everybody is 100%."
"""The reference of a risk without a limit or canaries: the ends of its axis."""


@dataclass(frozen=True)
class Card:
    """A figure: its name, value, interval (empty if there is none), meaning and reference value.

    `group` is the group that the figure belongs to, or the highest if none stands out; empty if it is everybody's.
    """

    name: str
    value: str
    interval: str
    meaning: str
    reference: str
    group: str = ""


def cards(result: AuditResult) -> tuple[Card, Card, Card]:
    """The risk, how often the best candidate is right, and the group that is linked most, if one stands out.

    Figures that were not measured say so: a missing card could be read as nothing found.
    """
    return _risk(result), _best(result), _group(result)


def _risk(result: AuditResult) -> Card:
    name, risk, k = "Risk", headline_risk(result), result.suppress_below
    meaning = "linked because of the release, beyond look-alikes"
    if result.verdict.kind == "not_assessable":
        return Card(name, NOT_ASSESSABLE, "", meaning, "")
    if risk is None:
        reason = "There is no control, so look-alikes cannot be told from links."
        if result.control is not None:
            reason = "The verdict says why."
        return Card(name, NOT_MEASURED, "", meaning, reason)
    least = "at least " if result.lower_bound else ""
    limits = [policy.max for policy in result.policies if policy.figure == "risk" and policy.max is not None]
    ends = scale_ends(result)
    reference = NO_REFERENCE
    if ends is not None and risk is result.risk:
        reference = f"A release with nobody in it: {percent(ends[0])}."
    if limits:
        reference = f"Policy limit: {percent(min(limits))}."
    if risk.false_rate is not None and risk is not result.risk:
        meaning += f", where {risk.false_rate:.0%} of the control is linked"
    return Card(name, f"{least}{percent(risk.estimate, k=k)}", span(risk.low, risk.high), meaning, reference)


def _best(result: AuditResult) -> Card:
    name, best, k = "Best candidate is right", result.best_candidate, result.suppress_below
    meaning = "of people in the release whose true match is known"
    if result.verdict.kind == "not_assessable":
        return Card(name, NOT_ASSESSABLE, "", meaning, "")
    if best is None:
        return Card(name, NOT_MEASURED, "", meaning, "The true matches are not known.")
    rows = result.inputs["protected"].rows
    least = "at least " if result.lower_bound else ""
    limits = [policy.max for policy in result.policies if policy.figure == "top1_hit_rate" and policy.max is not None]
    reference = f"Policy limit: {percent(min(limits))}." if limits else f"A blind guess: 1 in {max(1, rows):,}."
    return Card(name, f"{least}{percent(best.estimate, k=k)}", span(best.low, best.high), meaning, reference)


def _group(result: AuditResult) -> Card:
    name, found, k = "Most exposed group", result.at_risk, result.suppress_below
    meaning = "linked in this group, look-alikes included"
    if result.verdict.kind == "not_assessable":
        return Card(name, NOT_ASSESSABLE, "", meaning, "")
    if found is None:
        return Card(name, NOT_MEASURED, "", meaning, "It is not known who is linked.")
    if result.control is None:
        return Card(name, NOT_MEASURED, "", meaning, f"There is no control: {LOOK_ALIKES}.")
    average = f"Average over everybody, look-alikes included: {percent(found.average, k=k)}."
    most = found.maximum
    if most.estimate is None:
        return Card(name, "hidden", "", "every group is too small to publish", average)
    if not stands_out(found):
        highest = f"the highest: {span(most.low, most.high)}"
        return Card(name, "none stands out", "", f"{highest}, look-alikes included", average, highest)
    least = "at least " if most.at_least else ""
    value = f"{least}{percent(most.estimate, k=k)}"
    group = group_with_largest_rate(most)
    return Card(name, value, span(most.low, most.high), f"{group}; {meaning}", average, group)


MOST_ACTIONS = 3
_HEADS: dict[EffectFigure, str] = {
    "risk": "risk \u2192 risk if removed",
    "top1_hit_rate": "best candidate right \u2192 if removed",
    "power": "linked \u2192 if removed",
}


@dataclass(frozen=True)
class Action:
    """A column, the figure with and without it, and the gain in points with its interval."""

    column: str
    before: str
    after: str
    gain: str
    interval: str


@dataclass(frozen=True)
class Actions:
    """What to remove in any case, the changes that were measured, notes on them, and sentences if there are none.

    `head` names the figure with and without a column.
    """

    first: tuple[str, ...]
    rows: tuple[Action, ...]
    head: str
    notes: tuple[str, ...]
    sentences: tuple[str, ...]


def actions(result: AuditResult) -> Actions:
    """The columns without which the figure that counts falls most, for certain and by at least 2 points.

    The figure without a column is before - drop, both measured on this release. Without such a column there are
    sentences instead: every effect lies within error, nothing needs to change, or the effects were not measured. A key
    that was only for the evaluation is named before all of them.
    """
    effects, k, first = column_effects(result), result.suppress_below, tuple(evaluation_keys(result))
    assessable = result.validity.assessable and result.verdict.kind != "not_assessable"
    telling = effects.telling if assessable and result.verdict.kind != "indistinguishable_from_zero" else []
    if not telling:
        found = column_steps(result) if assessable else next_steps(result)
        return Actions(first, (), "", (), tuple(found[:1]) or (nothing_gained(effects),))
    shown = telling[:MOST_ACTIONS]
    rows = tuple(
        Action(
            mark_name(column),
            "" if effects.before is None else percent(effects.before, k=k),
            "" if effects.before is None else percent(effects.after(column)),
            points(-effects.drops[column].drop),
            _ends(effects, column),
        )
        for column in shown
    )
    return Actions(first, rows, _HEADS[effects.figure], (*_limit(result, effects, shown), _method(result, effects)), ())


def nothing_gained(effects: ColumnEffects) -> str:
    """The sentence where no single column gains enough for certain."""
    if not effects.drops:
        return "How much each column gives away was not measured."
    if effects.none_certain:
        return f"Whichever single column is left out, the change of {effects.name} lies within error."
    least = f"{100 * MATTERS:.0f} points"
    return f"Whichever single column is left out, {effects.name} falls by less than {least}, or within error."


def _ends(effects: ColumnEffects, column: str) -> str:
    drop = effects.drops[column]
    return f"{points(-(drop.high or 0.0))} to {points(-(drop.low or 0.0))}"


def _limit(result: AuditResult, effects: ColumnEffects, columns: Sequence[str]) -> list[str]:
    """Whether the estimate without a column is within the limit of a policy on the same figure."""
    found = [policy for policy in result.policies if policy.figure == effects.figure and policy.max is not None]
    if not found or effects.before is None:
        return []
    strictest = min(found, key=lambda policy: policy.max or 0.0)
    limit = strictest.max or 0.0
    sufficient = [column for column in columns if (effects.after(column) or 0.0) <= limit]
    if not sufficient:
        return [f"None of these alone brings the estimate within the policy's limit of {percent(limit)}."]
    names = ", ".join(f"'{printable(column)}'" for column in sufficient)
    upper = " The upper end decides, and needs a new audit." if strictest.bound == "high" else ""
    return [f"Without {names} the estimate is within the policy's limit of {percent(limit)}.{upper}"]


def _method(result: AuditResult, effects: ColumnEffects) -> str:
    again = "measured again on this release without the column"
    advice = "Coarsening gains less than removing, and gains do not add up: audit again."
    if effects.figure == "power":
        return f"Originals linked when 5% of {comparison_group(result)} are linked, {again}. {advice}"
    if effects.figure == "top1_hit_rate":
        return f"How often the best candidate is right, {again}. {advice}"
    risk = headline_risk(result)
    same = risk is not None and risk.attacker == result.attacker and risk.false_rate == FALSE_RATE
    whose = "" if same else f" of attacker '{printable(result.attacker)}' where 5% of the control is linked"
    return f"Risk{whose}, {again}. {advice}"
