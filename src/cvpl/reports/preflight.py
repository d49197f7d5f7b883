"""The findings of the checks before the attack as text."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.result import Finding
from cvpl.wording import in_words, printable, sentence

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
            f"{printable(finding.column or '')} {in_words(finding.share, k=k, of='values')}" for finding in ordered
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
