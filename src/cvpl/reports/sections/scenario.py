"""The scenario in which the attackers were run, and the figure that answers it."""

from __future__ import annotations

from cvpl.reports.sections.section import REPORTS, Column, Remark, ReportSection, table_of
from cvpl.result import AttackerScenario, AuditResult, MembershipRate
from cvpl.wording import bracketed_span, in_words, named, percent, sentence

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
    columns = ", ".join(map(named, found.columns))
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
        share, right = in_words(best.estimate, k=k, of=""), "how often the best candidate is the right person"
        return f"Its figure is {right}: for {share} of the people{bracketed_span(best.low, best.high)}."
    if found.answer == "lowest_false_rate" and result.membership is not None:
        rate = next((item for item in result.membership.rates if item.low is not None), None)
        if rate is not None:
            return sentence(f"{_lowest(rate, k)}")
    risk = result.risk
    if risk is None:
        return "It has no figure: there is neither a control nor a known match."
    return f"Its figure is the risk: {in_words(risk.estimate, k=k)}{bracketed_span(risk.low, risk.high)}."


def _lowest(rate: MembershipRate, k: int) -> str:
    at = f"{rate.false_rate:.1%}" if rate.false_rate < 0.01 else f"{rate.false_rate:.0%}"
    share = f"{in_words(rate.power, k=k, of='')} of the people{bracketed_span(rate.low, rate.high)}"
    text = f"its figure is the share found where few others are: {share} at {at}"
    if rate.precision is not None:
        text += f"; {percent(rate.precision)} of those found are in the release"
    return text
