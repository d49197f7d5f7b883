"""The top of an audit's report: the verdict, its explanation, the checks and the policies."""

from __future__ import annotations

from cvpl.answers.headline import headline_risk
from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.explanation import explanation
from cvpl.reports.sections.provenance import command
from cvpl.reports.sections.section import EVERYWHERE, REPORTS, TITLE, Item, Output, Remark, ReportSection
from cvpl.result import AuditResult, PolicyOutcome
from cvpl.result.deciding_reason import deciding_reason
from cvpl.wording import FIGURES, counted, named, percent, printable, sentence, stopped, typed


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
