"""The one warning that changes the answer most."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.warnings import warning_item
from cvpl.result import AuditResult, Warning_
from cvpl.wording import counted

_ORDER = (
    "not_assessable",
    "blocking_recall_near_zero",
    "control_unlike",
    "control_unused",
    "top1_above_rate",
    "top1_above_attributable",
    "power_above_attributable",
    "base_rate_unknown",
    "base_rate_by_own_match",
    "pairs_left_out",
    "no_matches",
    "few_people",
    "few_records",
    "attackers_left_out",
    "too_many_labels",
)
"""Rules of warnings from the one that changes the answer most; all others come after them."""
GATE = "gate"
"""Stands for the rule of a finding that closes the gate."""


@dataclass(frozen=True)
class FirstWarning:
    """A warning in full: its heading, its sentences, and what else there is to read."""

    heading: str
    lines: tuple[str, ...]
    others: str


def first_warning(result: AuditResult) -> FirstWarning | None:
    """A finding that closes the gate, or else the warning that changes the answer most; None if there is neither."""
    closing, ranked, doubtful = _closing(result), _ranked(result), doubtful_lines(result)
    if closing:
        others = [counted(len(closing) - 1, "other finding")] if len(closing) > 1 else []
        others += [counted(len(ranked), "warning")] if ranked else []
        return FirstWarning("A check fails, and closes the gate", (closing[0],), _more(others))
    if doubtful:
        others = [counted(len(ranked), "warning")] if ranked else []
        return FirstWarning("Are the declared identities right?", tuple(doubtful), _more(others))
    if not ranked:
        return None
    item = warning_item(ranked[0])
    advice = tuple(line for line in item.more if line != ranked[0].docs)
    others = [counted(len(ranked) - 1, "other warning")] if len(ranked) > 1 else []
    return FirstWarning("The warning to read first", (item.text, *advice), _more(others))


def serious_lines(result: AuditResult) -> list[tuple[str, str]]:
    """All findings that close the gate, by the rule `gate`, and all warnings with their rules, the first ones first."""
    findings = [(GATE, f"Closes the gate: {line}") for line in _closing(result)]
    findings += [("truth_doubtful", line) for line in doubtful_lines(result)]
    return findings + [(warning.rule, warning_item(warning).text) for warning in _ranked(result)]


def _closing(result: AuditResult) -> list[str]:
    return [line for closes, line in finding_lines(result.preflight, result.suppress_below) if closes]


def doubtful_lines(result: AuditResult) -> list[str]:
    """That declared matches agree no more than other pairs, where that does not close the gate."""
    found = [item for item in result.preflight if item.check == "truth_doubtful" and not item.closes_gate]
    return [line for _, line in finding_lines(found, result.suppress_below)]


def _ranked(result: AuditResult) -> list[Warning_]:
    place = {rule: at for at, rule in enumerate(_ORDER)}
    return sorted(result.warnings, key=lambda warning: place.get(warning.rule, len(_ORDER)))


def _more(others: list[str]) -> str:
    return f"{' and '.join(others)} below" if others else ""
