"""The top of an audit's report: the verdict, its explanation, the checks and the policies."""

from __future__ import annotations

from cvpl.answers.headline import headline_risk
from cvpl.estimates import FALSE_RATE
from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.provenance import command
from cvpl.reports.sections.section import EVERYWHERE, REPORTS, TITLE, Item, Output, Remark, ReportSection
from cvpl.result import AttackerRow, Attributable, AuditResult, PolicyOutcome
from cvpl.result.audit import deciding_reason
from cvpl.wording import (
    BELOW_ZERO,
    FIGURES,
    bracketed_span,
    counted,
    in_words,
    named,
    percent,
    printable,
    sentence,
    span,
    stopped,
    typed,
)


def answer_section(result: AuditResult) -> ReportSection:
    """The audited tables and the verdict."""
    names = {role: named(item.name) for role, item in result.inputs.items()}
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
    text += f"The full audit: {typed(command(result))}"
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
    text = f"Scenario {result.scenario}: {counted(counts['original'], 'original')}, "
    text += counted(counts["protected"], "released record")
    in_control = counted(counts.get("control", 0), "person", "people")
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
        return f"{stopped(printable(reason))} The rule: {rule}"
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
            f"Risk {in_words(risk.estimate, k=k)}{interval}, based on the true matches because there is no usable "
            "control.",
            f"For {who}, the best candidate is the right person for {in_words(hits, k=k)}; the risk is the part of "
            "this beyond a blind guess.",
        ]
    comma = "," if risk.among > 1 else ""
    text = (
        f"Risk {in_words(risk.estimate, k=k)}{interval}: {who}{comma} links {in_words(risk.power, k=k, of='')} of the "
        f"originals when it links {risk.false_rate:.0%} of the control."
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
        f"Attacker '{printable(row.name)}' has a risk of {in_words(_estimate(row), k=k)} and does not count: "
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
    linked = f"{least}{in_words(rate.estimate, k=k)}{bracketed_span(rate.low, rate.high)}"
    text = f"At threshold {result.threshold:.4g}, this attacker links {linked} of the originals"
    control, attributable = result.control, result.attributable_rate
    if control is not None and control.rate is not None:
        text += f" and {in_words(control.rate, k=k, of='')} of the control"
    if attributable is not None and attributable.estimate is not None:
        text += f"; {_attributed(attributable, k)}"
        if attributable.basis == "own_match_left_out":
            text += ", with each original's own match left out instead of a control"
    return [f"{text}. These are the figures of the CVPL paper; they do not affect the verdict."]


def _attributed(rate: Attributable, k: int) -> str:
    interval, text = bracketed_span(rate.low, rate.high), in_words(rate.estimate, k=k)
    if rate.low is not None and rate.low <= 0:
        return f"the attributable rate, {text}{interval}, cannot be distinguished from 0"
    if text == BELOW_ZERO:
        return f"the attributable rate is {text}{interval}"
    return f"{text} is attributable to the release{interval}"
