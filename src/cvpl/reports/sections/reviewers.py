"""What reviewers ask for, and which figure speaks to it: it supports an expert's judgement and attests nothing."""

from __future__ import annotations

from typing import NamedTuple

from cvpl.result import AuditResult
from cvpl.result.people import where
from cvpl.result.strangers import others
from cvpl.wording import percent, printable, span

NINE_PERCENT = 0.09


class Question(NamedTuple):
    """What is asked and by whom, the figure that speaks to it with its value, and what the figure does not say."""

    asked: str
    source: str
    figure: str
    value: str
    silent_on: str


def questions(result: AuditResult) -> list[Question]:
    """The questions in the order in which a reviewer meets them."""
    return [
        _singling_out(result),
        _linkability(result),
        Question(
            "Inference",
            "WP29 opinion 05/2014",
            "none",
            "not measured",
            "Whether a sensitive value can be guessed without a link. Another method is needed for it.",
        ),
        _average(result),
        _maximum(result),
        _intruder(result),
        _nine_percent(result),
    ]


def _singling_out(result: AuditResult) -> Question:
    low_rate = result.power_at(0.01)
    value = "not known: there is neither a control nor truth"
    if low_rate is not None and low_rate.low is None:
        value = "not known: too few controls for a false rate of 1%"
    elif low_rate is not None:
        value = f"{percent(low_rate.power)}{_ends(low_rate.low, low_rate.high)} linked where 1% of {others(result)} are"
    if result.best_candidate is not None:
        value += f"; best candidate is the right person for {percent(result.best_candidate.estimate)}"
    return Question(
        "Singling out",
        "WP29 opinion 05/2014",
        "power at 1%, and the top-1 hit rate where true matches are known",
        value,
        "Singling out within the release alone, without background knowledge.",
    )


def _linkability(result: AuditResult) -> Question:
    return Question(
        "Linkability",
        "WP29 opinion 05/2014",
        "the risk of the strongest attacker",
        _risk(result),
        "Links to tables that nobody audited; attackers stronger than those listed.",
    )


def _risk(result: AuditResult) -> str:
    risk = result.risk
    if result.verdict.kind == "not_assessable":
        return "not assessable"
    if risk is None:
        return "not known: there is neither a control nor a known match"
    basis = "" if risk.basis == "control" else ", by the true matches"
    return f"{percent(risk.estimate)}{_ends(risk.low, risk.high)}{basis}"


def _average(result: AuditResult) -> Question:
    return Question(
        "Average risk",
        "ISO/IEC 27559",
        "the risk, over all originals",
        _risk(result),
        "The context of the release: who gets it, under which contract, with which controls.",
    )


def _maximum(result: AuditResult) -> Question:
    found = result.at_risk
    value = "not known: nobody can be called linked or not"
    if found is not None and found.maximum.estimate is not None:
        most = found.maximum
        least = "at least " if most.at_least else ""
        value = f"{least}{percent(most.estimate)}{_ends(most.low, most.high)}, {where(most)}"
    elif found is not None:
        value = "no group's rate can be told"
    return Question(
        "Maximum risk",
        "ISO/IEC 27559",
        "the largest share linked over groups and tenths by rarity, look-alikes included",
        value,
        "Single people: the largest risk of one record is larger still.",
    )


def _intruder(result: AuditResult) -> Question:
    ran = sum(not row.disqualified for row in result.attackers)
    known = {column for row in result.attackers for column in row.settings.get("knows") or ()}
    columns = f"columns: {', '.join(sorted(map(printable, known)))}" if known else "all observable columns"
    return Question(
        "Motivated intruder",
        "ICO, anonymisation guidance",
        "the attackers that were run, as stand-ins",
        f"{ran} attacker{'s' if ran != 1 else ''} with the originals themselves in hand ({columns})",
        "What a person finds by asking, searching or recognizing; prior knowledge that is in no table.",
    )


def _nine_percent(result: AuditResult) -> Question:
    best = result.best_candidate
    value = "not assessable: it needs true matches, which this audit does not have"
    if best is not None:
        value = f"top-1 hit rate {percent(best.estimate)}{_ends(best.low, best.high)}"
        high = 1.0 if best.high is None else best.high
        value += ": on average below 0.09" if high <= NINE_PERCENT else ": not below 0.09"
    return Question(
        "Threshold of 0.09",
        "EMA policy 0070, Health Canada",
        "the top-1 hit rate: the chance that the best candidate is the person",
        value,
        "Single people: it is an average, and the threshold is often held against the largest risk. Linkage and "
        "attributable rate are not what it bounds.",
    )


def _ends(low: float | None, high: float | None) -> str:
    ends = span(low, high)
    return f" ({ends})" if ends else ""
