"""Whether it can be told that a person is in the release."""

from __future__ import annotations

from collections.abc import Callable

from cvpl.reports.sections.section import REPORTS, Column, Remark, ReportSection, ReportTable, table_of
from cvpl.result import AuditResult, Membership, MembershipRate
from cvpl.wording import UNKNOWN, counted, in_words, percent, printable, span

HEADING = "Membership"
_CHANCE = 0.5
_SAME = 1e-9


def membership_section(result: AuditResult) -> ReportSection:
    """The best true-positive rates and the area under the curve; without a control, that it was not measured."""
    found = result.membership
    if found is None:
        return ReportSection("membership", HEADING)
    sentences = [Remark(_sentence(found, result))]
    if result.verdict.kind == "not_assessable":
        text = "The release is not assessable. These figures say nothing of the risk."
        sentences.insert(0, Remark(text, "notice"))
    return ReportSection(
        "membership",
        HEADING,
        sentences=tuple(sentences),
        tables=(_table(found, result),),
        notes=_notes(found),
        outputs=REPORTS,
    )


def area_words(found: Membership) -> str:
    """The area under the curve with its interval: three decimals, or two if they tell all."""
    area = found.auc
    numbers = [area.estimate] if area.low is None or area.high is None else [area.estimate, area.low, area.high]
    decimals = 2 if all(abs(value - round(value, 2)) < _SAME for value in numbers) else 3
    first, *ends = (f"{value:.{decimals}f}" for value in numbers)
    return f"{first} ({' to '.join(ends)})" if ends else first


def _sentence(found: Membership, result: AuditResult) -> str:
    area = found.auc
    text = (
        f"A person in the release scores higher than one who is not with a probability of {area_words(found)}, by "
        f"attacker '{printable(area.attacker)}' (the area under the ROC curve; 0.5 is chance)."
    )
    if area.low is not None and area.low > _CHANCE:
        text += " So being in the release can be told."
    elif area.low is not None and area.high is not None and area.high >= _CHANCE:
        text += " That cannot be told from chance."
    first = next((rate for rate in found.rates if rate.low is not None), None)
    if first is not None and not _is_chance(first):
        share = in_words(first.power, k=result.suppress_below, of="")
        at, ends = _rate(first.false_rate), span(first.low, first.high)
        text += f" At a false-positive rate of {at}, {share} of the people in it are found ({ends})."
    return text


def _is_chance(rate: MembershipRate) -> bool:
    return rate.low is not None and rate.low <= rate.false_rate


def _rate(value: float) -> str:
    return f"{value:.1%}" if value < 0.01 else f"{value:.0%}"


def _table(found: Membership, result: AuditResult) -> ReportTable:
    k, prior = result.suppress_below, found.prior is not None

    def measured(text: Callable[[MembershipRate], str], otherwise: str) -> Callable[[MembershipRate], str]:
        return lambda rate: otherwise if rate.low is None else text(rate)

    return table_of(
        "True-positive rate of the best attacker",
        found.rates,
        (
            Column("false-positive rate", lambda rate: f"at {_rate(rate.false_rate)}", "left"),
            Column("found", measured(lambda rate: percent(rate.power, k=k), UNKNOWN)),
            Column("95% interval", measured(lambda rate: span(rate.low, rate.high), "too few people")),
            Column("best attacker", measured(lambda rate: printable(rate.attacker), ""), "name"),
            Column("right", measured(lambda rate: percent(rate.precision), UNKNOWN), shown=prior),
            Column(
                "interval of right",
                measured(lambda rate: span(rate.precision_low, rate.precision_high), ""),
                least_width=100,
                shown=prior,
            ),
        ),
    )


def _notes(found: Membership) -> tuple[str, ...]:
    notes = [
        "Found: taken to be in the release, and in it, where the stated share of people who are not in it is taken to "
        f"be in it too. Measured with {counted(found.controls, 'control')}; each row has the attacker that is best "
        "there, and its interval is corrected for that choice."
    ]
    if all(rate.false_rate >= 0.01 for rate in found.rates):
        notes.append("A false-positive rate of 0.1% needs 10,000 controls.")
    if found.prior is not None:
        notes.append(
            "Right: if everybody in the population is tested, the share of those taken to be in the "
            f"release who are in it. A guess is right for {percent(found.prior)}."
        )
    return tuple(notes)
