"""The top of an audit's report: the verdict, its explanation, the checks, the policies, and what was assumed."""

from __future__ import annotations

from cvpl.answers.headline import headline_risk
from cvpl.estimates import FALSE_RATE
from cvpl.reports.sections.reviewers import command
from cvpl.reports.sections.section import (
    EVERYWHERE,
    REPORTS,
    TERMINAL,
    TITLE,
    WRITTEN,
    Column,
    Item,
    Output,
    Remark,
    ReportSection,
    table_of,
)
from cvpl.reports.sections.warnings import finding_lines
from cvpl.result import (
    AssumedColumn,
    Assumptions,
    AttackerRow,
    AttackerScenario,
    Attributable,
    AuditResult,
    MembershipRate,
    PolicyOutcome,
)
from cvpl.result.audit import deciding_reason
from cvpl.wording import (
    BELOW_ZERO,
    FIGURES,
    bracketed_span,
    count_phrase,
    mark_name,
    mark_typed,
    percent,
    printable,
    sentence,
    share_words,
    span,
    with_full_stop,
)


def answer_section(result: AuditResult) -> ReportSection:
    """The audited tables and the verdict."""
    names = {role: mark_name(item.name) for role, item in result.inputs.items()}
    kind = "Quick look" if result.quick else "Linkage audit"
    return ReportSection(
        TITLE,
        f"{kind}: {names['protected']} against {names['original']}",
        sentences=(Remark(printable(result.verdict.sentence)),),
        outputs=EVERYWHERE,
    )


def not_assessable_section(result: AuditResult, layer: str, outputs: frozenset[Output]) -> ReportSection:
    """That no figure counts, at the head of a layer; nothing if the audit is assessable."""
    text = "This audit is not assessable: no figure below measures the risk."
    dead = result.verdict.kind == "not_assessable"
    return ReportSection(f"not_assessable_{layer}", sentences=(Remark(text, "alarm"),) if dead else (), outputs=outputs)


def quick_section(result: AuditResult) -> ReportSection:
    """What a quick look leaves out, and the command for the full audit; nothing for a full audit."""
    if not result.quick:
        return ReportSection("quick")
    people, rows = max((row.asked or 0 for row in result.attackers), default=0), result.inputs["original"].rows
    text = "Quick look: no attacker was tested on canaries, and no other choices of encoding were tried. "
    if people < rows:
        text = (
            f"Quick look: {people:,} of {rows:,} originals were searched, so the interval is wider than in the full "
            "audit, and no attacker was tested on canaries. "
        )
    if result.picked is not None and result.picked.screened:
        text += (
            f"All {result.picked.among} attackers were tried on a part of the release, and the strongest "
            f"{len(result.attackers)} searched all of it. "
        )
    text += f"The full audit: {mark_typed(command(result))}"
    return ReportSection("quick", sentences=(Remark(text, "notice"),), outputs=EVERYWHERE)


def gate_section(result: AuditResult) -> ReportSection:
    """Findings of the checks before the attack that close the gate."""
    alarms = (
        Remark(line, "alarm", "Closes the gate")
        for closes, line in finding_lines(result.preflight, result.suppress_below)
        if closes
    )
    return ReportSection("gate", sentences=tuple(alarms), outputs=EVERYWHERE)


def checks_section(result: AuditResult) -> ReportSection:
    """The other findings of the checks before the attack."""
    items = tuple(Item(line) for closes, line in finding_lines(result.preflight, result.suppress_below) if not closes)
    return ReportSection("checks", "Other checks before the attack", items=items, items_as="quiet", outputs=REPORTS)


def explanation_section(result: AuditResult) -> ReportSection:
    """The explanation of the verdict, and the compared tables."""
    sentences = [Remark(" ".join(explanation(result)))]
    if result.verdict.kind == "not_assessable":
        sentences = [Remark("The figures below describe the attack. They do not measure the risk.")]
    return ReportSection(
        "explanation",
        "How the risk was measured",
        sentences=(*(remark for remark in sentences if remark.text), Remark(setting(result), "quiet")),
        outputs=REPORTS,
    )


def setting(result: AuditResult) -> str:
    """The scenario: the sizes of the tables, and whether the true matches are known."""
    counts = {role: item.rows for role, item in result.inputs.items()}
    text = f"Scenario {result.scenario}: {count_phrase(counts['original'], 'original')}, "
    text += count_phrase(counts["protected"], "released record")
    in_control = count_phrase(counts.get("control", 0), "person", "people")
    text += f", {in_control} in the control" if "control" in counts else ", no control"
    truth = {
        "simulation": "the true matches are known",
        "controlled": "the true matches are known",
        "partial": "some true matches are known",
        "blind": "the true matches are not known",
    }
    known = truth[result.scenario]
    found = result.truth
    if found is not None and found.top1_hit_rate is not None and not found.originals_with_match:
        known = f"fewer than {result.suppress_below} true matches are known"
    elif result.scenario != "blind" and (found is None or not found.originals_with_match):
        known = "identities are declared, but no original has a match in the release"
    return f"{text}; {known}."


def policies_section(result: AuditResult) -> ReportSection:
    """Whether each policy is met, with the reasons if it is not."""
    policies = result.policies or ([] if result.policy is None else [result.policy])
    return ReportSection(
        "policies",
        sentences=tuple(
            Remark(
                policy_sentence(policy, shown_attacker(result, policy.figure)),
                "good" if policy.met else "alarm",
                points=tuple(sentence(printable(reason)) for reason in policy.reasons),
            )
            for policy in policies
        ),
        outputs=REPORTS,
    )


def policy_sentence(policy: PolicyOutcome, shown: str | None = None) -> str:
    """A sentence on whether a policy is met; the reasons are listed separately. `shown` is as in the comparison."""
    verdict = "met under the stated attackers" if policy.met else "not met"
    name = "" if policy.preset is None else f" {printable(policy.preset)}"
    return f"Policy{name} {verdict}: {policy_comparison(policy, shown)}."


def policy_comparison(policy: PolicyOutcome, shown: str | None = None) -> str:
    """The figure that a policy bounds, its limit and its value, or the reason first if that is not the value.

    The attacker is named if it is not `shown`, the attacker whose figure the reader sees elsewhere.
    """
    name = FIGURES.get(policy.figure, printable(policy.figure))
    end = "the upper interval end of " if policy.bound == "high" and policy.min is None else ""
    least = policy.min is not None
    limit = f"at least {policy.min:,.0f}" if least else f"at most {percent(policy.max)}"
    rule = f"{end}{name} must be {limit}"
    reason = deciding_reason(policy)
    if reason is not None:
        return f"{with_full_stop(printable(reason))} The rule: {rule}"
    if policy.value is None:
        return f"{rule} and is not known"
    attacker = "" if shown is None or policy.attacker in (None, shown) else f" (attacker {printable(policy.attacker)})"
    return f"{rule} and is {f'{policy.value:,.0f}' if least else percent(policy.value)}{attacker}"


def shown_attacker(result: AuditResult, figure: str) -> str:
    """The attacker whose figure the sheet shows."""
    risk = headline_risk(result) or result.risk
    if figure == "risk" and risk is not None:
        return risk.attacker
    if figure == "top1_hit_rate" and result.best_candidate is not None:
        return result.best_candidate.attacker
    return result.attacker


def explanation(result: AuditResult) -> list[str]:
    """Sentences on the risk, on attackers that do not count, and on the figures at the threshold.

    Empty if the release is not assessable: no figure measures the risk then.
    """
    if result.verdict.kind == "not_assessable":
        return []
    return [*_risk(result), *_not_counted(result), *_threshold_sentence(result)]


def _risk(result: AuditResult) -> list[str]:
    risk = result.risk
    if risk is None:
        return []
    k = result.suppress_below
    ends = span(risk.low, risk.high)
    interval = f" (95% interval {ends})" if ends else ""
    who = f"attacker '{printable(risk.attacker)}'"
    if risk.among > 1:
        who += f", the strongest of {risk.among}"
    if risk.basis == "true_matches" or risk.false_rate is None or risk.power is None:
        hits = next((row.top1_hit_rate for row in result.attackers if row.name == risk.attacker), None)
        return [
            f"Risk {share_words(risk.estimate, k=k)}{interval}, based on the true matches because there is no usable "
            "control.",
            f"For {who}, the best candidate is the right person for {share_words(hits, k=k)}; the risk is the part of "
            "this beyond a blind guess.",
        ]
    comma = "," if risk.among > 1 else ""
    text = (
        f"Risk {share_words(risk.estimate, k=k)}{interval}: {who}{comma} links "
        f"{share_words(risk.power, k=k, of='')} of "
        f"the originals when it links {risk.false_rate:.0%} of the control."
    )
    found = [text]
    if risk.among > 1:
        found.append("The interval is corrected for choosing the strongest attacker.")
    if risk.false_rate != FALSE_RATE:
        found.append(
            f"The control is too small for a false-positive rate of 5%, so {risk.false_rate:.0%} is used; do not "
            "compare this risk with a risk at another rate."
        )
    return found


def _not_counted(result: AuditResult) -> list[str]:
    """Attackers with a larger risk than the headline attacker that do not count, with the reason."""
    if result.risk is None:
        return []
    k = result.suppress_below
    larger = [row for row in result.attackers if row.disqualified and _estimate(row) > result.risk.estimate]
    return [
        f"Attacker '{printable(row.name)}' has a risk of {share_words(_estimate(row), k=k)} and does not count: "
        f"{printable(row.disqualified[0])}."
        for row in larger
    ]


def _estimate(row: AttackerRow) -> float:
    return float("-inf") if row.risk is None else row.risk.estimate


def _threshold_sentence(result: AuditResult) -> list[str]:
    """The paper's figures, which do not affect the verdict."""
    rate = result.linkage_rate
    if rate.estimate is None or result.threshold is None:
        return []
    k = result.suppress_below
    least = "at least " if result.lower_bound else ""
    linked = f"{least}{share_words(rate.estimate, k=k)}{bracketed_span(rate.low, rate.high)}"
    text = f"At threshold {result.threshold:.4g}, this attacker links {linked} of the originals"
    control, attributable = result.control, result.attributable_rate
    if control is not None and control.rate is not None:
        text += f" and {share_words(control.rate, k=k, of='')} of the control"
    if attributable is not None and attributable.estimate is not None:
        text += f"; {_attributable_in_words(attributable, k)}"
        if attributable.basis == "own_match_left_out":
            text += ", with each original's own match left out instead of a control"
    return [f"{text}. These are the figures of the CVPL paper; they do not affect the verdict."]


def _attributable_in_words(rate: Attributable, k: int) -> str:
    interval, text = bracketed_span(rate.low, rate.high), share_words(rate.estimate, k=k)
    if rate.low is not None and rate.low <= 0:
        return f"the attributable rate, {text}{interval}, cannot be distinguished from 0"
    if text == BELOW_ZERO:
        return f"the attributable rate is {text}{interval}"
    return f"{text} is attributable to the release{interval}"


_CHANGED = "Columns or errors differ from the scenario's own: the configuration sets them."


def scenario_section(result: AuditResult) -> ReportSection:
    """Who attacks, what they know, and what they achieve; nothing without a scenario."""
    found = result.attacker_scenario
    if found is None:
        return ReportSection("scenario")
    known: tuple[Column[tuple[str, str]], ...] = (
        Column("", lambda row: row[0], "left"),
        Column("in this scenario", lambda row: row[1], "left"),
    )
    columns = ", ".join(map(mark_name, found.columns))
    errors = "none" if not found.errors else f"{percent(found.errors)} of the values they know are another person's"
    rows = (
        ("attacker", found.who),
        ("knows", columns + ("" if found.knows_people >= 1 else f"; {percent(found.knows_people)} of the originals")),
        ("errors", errors),
        ("looks for", found.people),
        ("source", found.source),
    )
    text = f"The attackers were run in the scenario {_name(found)}. {_answer(result, found)}"
    return ReportSection(
        "scenario",
        f"Scenario: {_name(found)}",
        sentences=(Remark(text, "notice"),),
        tables=(table_of("The scenario", rows, known),),
        notes=(
            *(() if found.stated else (_CHANGED,)),
            "A scenario limits what attackers know, and its errors are an assumption. An attacker who knows more may "
            "achieve more.",
        ),
        outputs=REPORTS,
    )


def _name(found: AttackerScenario) -> str:
    return found.name.replace("_", " ")


def _answer(result: AuditResult, found: AttackerScenario) -> str:
    if result.verdict.kind == "not_assessable":
        return "The release is not assessable, so nothing answers it."
    k = result.suppress_below
    if found.answer == "best_candidate" and result.best_candidate is not None:
        best = result.best_candidate
        share, right = share_words(best.estimate, k=k, of=""), "how often the best candidate is the right person"
        return f"Its figure is {right}: for {share} of the people{bracketed_span(best.low, best.high)}."
    if found.answer == "lowest_false_rate" and result.membership is not None:
        rate = next((item for item in result.membership.rates if item.low is not None), None)
        if rate is not None:
            return sentence(f"{_lowest(rate, k)}")
    risk = result.risk
    if risk is None:
        return "It has no figure: there is neither a control nor a known match."
    return f"Its figure is the risk: {share_words(risk.estimate, k=k)}{bracketed_span(risk.low, risk.high)}."


def _lowest(rate: MembershipRate, k: int) -> str:
    at = f"{rate.false_rate:.1%}" if rate.false_rate < 0.01 else f"{rate.false_rate:.0%}"
    share = f"{share_words(rate.power, k=k, of='')} of the people{bracketed_span(rate.low, rate.high)}"
    text = f"its figure is the share found where few others are: {share} at {at}"
    if rate.precision is not None:
        text += f"; {percent(rate.precision)} of those found are in the release"
    return text


ASSUMED = "Assumptions about the columns"
_MOST_NAMES = 8
"""A short list names at most this many columns of a role."""


def assumptions_section(assumptions: Assumptions | None, outputs: frozenset[Output] = WRITTEN) -> ReportSection:
    """A row for each column, with what to check first; nothing if a configuration was given.

    The terminal shows it before the audit, so the report on the terminal does not repeat it.
    """
    if assumptions is None:
        return ReportSection("assumptions")
    columns: tuple[Column[AssumedColumn], ...] = (
        Column("column", lambda item: mark_name(item.column), "name"),
        Column("used as", _role_and_type, "left"),
        Column("why", _reason, "left"),
    )
    doubtful_first = sorted(assumptions.columns, key=lambda item: item.doubt is None)
    text = (
        "There was no configuration, so roles and types are guesses, and the figures are only as good as they are. "
        f"Correct what is wrong in the {mark_typed('audit.yaml')} that was used, and audit again with it."
    )
    return ReportSection(
        "assumptions",
        ASSUMED,
        sentences=(*_unread(assumptions), Remark(text, "notice")),
        tables=(table_of(ASSUMED, doubtful_first, columns, style="stacked"),),
        items=tuple(Item(sentence(printable(note))) for note in assumptions.notes),
        outputs=outputs,
    )


def brief_assumptions(assumptions: Assumptions) -> ReportSection:
    """The roles with their columns, and the columns to check first; for the terminal, before a short summary."""
    roles: dict[str, list[str]] = {}
    for item in assumptions.columns:
        roles.setdefault(item.role.replace("_", "-"), []).append(mark_name(item.column))
    doubtful = [mark_name(item.column) for item in assumptions.columns if item.doubt is not None]
    lists = "; ".join(f"{role}: {_names(found)}" for role, found in roles.items())
    check = f" Check first: {_names(doubtful)}." if doubtful else ""
    text = f"No configuration: roles and types are guesses (reasons: {mark_typed('--details')}).{check}"
    sentences = (*_unread(assumptions), Remark(text, "notice"), Remark(f"{lists}."))
    return ReportSection("assumptions", sentences=sentences, outputs=TERMINAL)


def _unread(assumptions: Assumptions) -> tuple[Remark, ...]:
    """The first sentence, if the release has labels that nothing explains: a low risk does not say that it is safe."""
    names = [mark_name(item.column) for item in assumptions.columns if item.unread]
    if not names:
        return ()
    text = (
        f"Labels of the release in {_names(names)} are not in the original and nothing explains them, so no attacker "
        "can read them, and the risk may be too low."
    )
    return (Remark(text, "notice"),)


def _names(found: list[str]) -> str:
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return f"{', '.join(found[:_MOST_NAMES])}{more}"


def _role_and_type(item: AssumedColumn) -> str:
    words = item.role.replace("_", "-")
    if item.type is not None:
        words += f", {item.type}"
    return f"{words}, blocking key" if item.blocks else words


def _reason(item: AssumedColumn) -> str:
    return sentence(printable(f"check: {item.doubt}" if item.doubt is not None else item.reason))
