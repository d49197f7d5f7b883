"""The warnings of a result and the findings of its checks, each with advice, and the one that matters most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cvpl.reports.sections.section import EVERYWHERE, PAGE, REPORTS, Item, Output, Remark, ReportSection
from cvpl.result import AuditResult, Finding, Warning_
from cvpl.wording import count_phrase, mark_typed, printable, sentence, share_words

WARNINGS = "warnings"
"""The anchor of the warnings."""
_HOW = {
    "base_rate_unknown": (
        f"How: {mark_typed('cvpl audit ... --control FILE')}, or {mark_typed('control: {file: FILE}')} in the "
        "configuration."
    ),
    "top1_above_rate": "Do not rely on the linkage rate alone; use the top-1 hit rate here.",
    "blocking_recall_near_zero": (
        f"How: {mark_typed('blocking: compatible')} if values are generalized, coarser {mark_typed('block')} rules, or "
        f"{mark_typed('blocking: none')}."
    ),
}


def pointer_section(warnings: Iterable[Warning_], count: int, outputs: frozenset[Output] = EVERYWHERE) -> ReportSection:
    """The number of warnings and their rules, for the top of reports that show the warnings further down or not."""
    rules = ", ".join(dict.fromkeys(printable(warning.rule) for warning in warnings))
    text = f"{count_phrase(count, 'warning')} ({rules}): read {'it' if count == 1 else 'them'} before using a figure."
    remarks = (Remark(text, "notice", link=WARNINGS),) if count else ()
    return ReportSection("warned", sentences=remarks, outputs=outputs)


def warnings_section(items: Sequence[Item]) -> ReportSection:
    """All warnings; a page without warnings states that there are none."""
    return ReportSection(
        WARNINGS,
        "Warnings",
        sentences=() if items else (Remark("None."),),
        items=tuple(items),
        items_as="boxes",
        outputs=REPORTS if items else PAGE,
    )


def warning_item(warning: Warning_, where: str = "") -> Item:
    """A warning with advice and a link to the docs; `where` is appended to its sentence."""
    more = [_HOW[warning.rule]] if warning.rule in _HOW else []
    if warning.docs:
        more.append(printable(warning.docs))
    return Item(sentence(printable(warning.message)) + where, tuple(more))


def shared_items(warned: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> list[Item]:
    """The distinct messages of several releases with their docs, each with the releases it applies to."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, messages in warned:
        for message in messages:
            found.setdefault(message, []).append(f"'{printable(name)}'")
    whole = len(warned)
    return [
        Item(
            sentence(printable(message)),
            (f"{'All releases' if len(names) == whole else ', '.join(names)}. {printable(docs)}".rstrip(),),
        )
        for (message, docs), names in found.items()
    ]


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
    closing, ranked, doubtful = _closing(result), _rank_warnings(result), doubtful_lines(result)
    if closing:
        others = [count_phrase(len(closing) - 1, "other finding")] if len(closing) > 1 else []
        others += [count_phrase(len(ranked), "warning")] if ranked else []
        return FirstWarning("A check fails, and closes the gate", (closing[0],), _more(others))
    if doubtful:
        others = [count_phrase(len(ranked), "warning")] if ranked else []
        return FirstWarning("Are the declared identities right?", tuple(doubtful), _more(others))
    if not ranked:
        return None
    item = warning_item(ranked[0])
    advice = tuple(line for line in item.more if line != ranked[0].docs)
    others = [count_phrase(len(ranked) - 1, "other warning")] if len(ranked) > 1 else []
    return FirstWarning("The warning to read first", (item.text, *advice), _more(others))


def serious_lines(result: AuditResult) -> list[tuple[str, str]]:
    """All findings that close the gate, by the rule `gate`, and all warnings with their rules, the first ones first."""
    findings = [(GATE, f"Closes the gate: {line}") for line in _closing(result)]
    findings += [("truth_doubtful", line) for line in doubtful_lines(result)]
    return findings + [(warning.rule, warning_item(warning).text) for warning in _rank_warnings(result)]


def _closing(result: AuditResult) -> list[str]:
    return [line for closes, line in finding_lines(result.preflight, result.suppress_below) if closes]


def doubtful_lines(result: AuditResult) -> list[str]:
    """That declared matches agree no more than other pairs, where that does not close the gate."""
    found = [item for item in result.preflight if item.check == "truth_doubtful" and not item.closes_gate]
    return [line for _, line in finding_lines(found, result.suppress_below)]


def _rank_warnings(result: AuditResult) -> list[Warning_]:
    place = {rule: at for at, rule in enumerate(_ORDER)}
    return sorted(result.warnings, key=lambda warning: place.get(warning.rule, len(_ORDER)))


def _more(others: list[str]) -> str:
    return f"{' and '.join(others)} below" if others else ""


UNCHANGED = "unchanged_values"


def finding_lines(findings: Sequence[Finding], k: int) -> list[tuple[bool, str]]:
    """One line per finding, with whether it closes the gate; all shares of unchanged values share one line.

    `k` is that of the result: no share tells of fewer people.
    """
    lines = [
        (finding.closes_gate, sentence(_message_with_advice(finding)))
        for finding in findings
        if finding.check != UNCHANGED
    ]
    unchanged = [finding for finding in findings if finding.check == UNCHANGED]
    if unchanged:
        ordered = sorted(unchanged, key=lambda finding: -(finding.share or 0.0))
        shares = ", ".join(
            f"{printable(finding.column or '')} {share_words(finding.share, k=k, of='values')}" for finding in ordered
        )
        lines.append((False, f"Unchanged values in corresponding rows: {shares}."))
    return lines


def urgent_findings(findings: Sequence[Finding]) -> list[str]:
    """Findings to report before the audit starts: those that close a gate, and a small control."""
    urgent = [finding for finding in findings if finding.closes_gate or finding.check == "control_small"]
    return [f"Before the attack: {_message_with_advice(finding)}." for finding in urgent]


def _message_with_advice(finding: Finding) -> str:
    """The message, with what to do."""
    return printable(finding.message if finding.advice is None else f"{finding.message}: {finding.advice}")
