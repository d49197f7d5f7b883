"""What the checks before the attack found, in words: a line for each finding, unchanged values in one."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.result import Finding
from cvpl.wording import percent, printable, sentence

UNCHANGED = "unchanged_values"


def finding_lines(findings: Sequence[Finding]) -> list[tuple[bool, str]]:
    """A line for each finding and whether it closes the gate; the shares of unchanged values are one line."""
    lines = [
        (finding.closes_gate, sentence(printable(finding.message)))
        for finding in findings
        if finding.check != UNCHANGED
    ]
    unchanged = [finding for finding in findings if finding.check == UNCHANGED]
    if unchanged:
        ordered = sorted(unchanged, key=lambda finding: -(finding.share or 0.0))
        shares = ", ".join(f"{printable(finding.column or '')} {percent(finding.share)}" for finding in ordered)
        lines.append((False, f"Values that are unchanged where rows correspond: {shares}."))
    return lines


def before_the_audit(findings: Sequence[Finding]) -> list[str]:
    """What a person should know before waiting for the audit: whatever closes a gate, and a control that is small."""
    urgent = [finding for finding in findings if finding.closes_gate or finding.check == "control_small"]
    return [f"Before the attack: {printable(finding.message)}." for finding in urgent]
