"""The paper's findings R1 to R13: each as a predicate on the figures, whether it holds here, and why or why not.

The reasons separate what the paper's figures mix: the linkage rate of people outside the release (the control's rate),
the share of true pairs that share a block (blocking recall), and the distance between the tables in the attacker's
space (shift).
"""

from __future__ import annotations

from cvpl_paper import findings_on_releases as releases
from cvpl_paper import findings_on_the_method as method
from cvpl_paper.collected import Collected
from cvpl_paper.finding import PaperFinding


def findings_page(run: Collected, how: str) -> str:
    """All findings one by one, after a summary."""
    found = all_findings(run)
    lines = ["# The paper's findings, re-examined", "", how, "", "| finding | claim | here |", "|---|---|---|"]
    lines += [f"| {item.number} | {item.claim} | {'holds' if item.holds else 'does not hold'} |" for item in found]
    return "\n".join([*lines, "", *(item.markdown() for item in found), method.oddities(run)])


def all_findings(run: Collected) -> list[PaperFinding]:
    """R1 to R13."""
    on_releases = (releases.r1, releases.r2, releases.r3, releases.r4, releases.r5, releases.r6, releases.r7)
    on_the_method = (method.r8, method.r9, method.r10, method.r11, method.r12, method.r13)
    return [find(run) for find in (*on_releases, *on_the_method)]
