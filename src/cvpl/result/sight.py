"""What the attackers cannot see, by the findings of the checks: then a low figure means nothing."""

from __future__ import annotations

from collections.abc import Iterable

from cvpl.result.verdict import Finding

UNREAD, ALIKE, UNSEEN, COARSE = "unread_columns", "originals_not_found", "change_not_seen", "coarse_classes"
ALONE, DECLARED, SHIFTED, DISTURBED = "columns_alone", "declared_columns", "release_shifted", "noise_hides"
BLIND = (UNREAD, "unmatched_columns", "unread_texts", "renamed_columns", ALIKE, UNSEEN, SHIFTED, ALONE)
"""Findings on what the attackers cannot see, the most telling first."""
CAVEATS = (COARSE, DISTURBED, DECLARED)
"""Findings that a verdict states beside its figure."""


def blind(findings: Iterable[Finding]) -> str | None:
    """What the attackers cannot see, by the first finding that says so; None if they see."""
    return next((finding.message for finding in unseen(findings)), None)


def unseen(findings: Iterable[Finding]) -> list[Finding]:
    """The findings on what the attackers cannot see, the most telling first."""
    found = [finding for finding in findings if finding.closes_gate and finding.check in BLIND]
    return sorted(found, key=lambda finding: BLIND.index(finding.check))


def caveats(findings: Iterable[Finding]) -> list[str]:
    """What the verdict says beside its figure: classes that are too coarse, and what was declared."""
    found = [finding for finding in findings if finding.check in CAVEATS]
    return [finding.message for finding in sorted(found, key=lambda finding: CAVEATS.index(finding.check))]
