"""A report for a pull request: short, in Markdown, names as code so that nothing in them is obeyed."""

from __future__ import annotations

import re

from cvpl.reports.audit_page import command, setting
from cvpl.reports.next_steps import next_steps
from cvpl.reports.preflight import finding_lines
from cvpl.result import AttackerRow, AuditResult
from cvpl.result.audit import policy_sentence
from cvpl.result.facts import facts
from cvpl.wording import CODE, percent, printable, sentence

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~$-])")


def audit_markdown(result: AuditResult) -> str:
    """The answer, the figures, the attackers, the warnings and the next steps."""
    lines = [
        f"## Linkage audit: {code(result.inputs['protected'].name)}",
        "",
        f"**{text(result.verdict.sentence)}**",
        "",
    ]
    for closes, line in finding_lines(result.preflight):
        lines += [f"{'**Closes the gate:** ' if closes else ''}{text(line)}", ""]
    for policy in result.policies:
        lines += [f"**{text(policy_sentence(policy))}**", ""]
        lines += [*(f"- {text(sentence(reason))}" for reason in policy.reasons), ""] if policy.reasons else []
    lines += ["| figure | value | 95% interval | meaning |", "|---|---|---|---|"]
    lines += [f"| {fact.name} | {fact.value} | {fact.interval} | {text(fact.meaning)} |" for fact in facts(result)]
    lines += ["", text(setting(result)), ""]
    if result.warnings:
        lines += [
            "### Warnings",
            "",
            *(f"- {text(sentence(printable(warning.message)))}" for warning in result.warnings),
            "",
        ]
    lines += ["### Next steps", "", *(f"{at}. {text(step)}" for at, step in enumerate(next_steps(result), start=1)), ""]
    if len(result.attackers) > 1:
        lines += ["<details><summary>The attackers</summary>", ""]
        lines += ["| attacker | risk | linked | control | top-1 |", "|---|---|---|---|---|"]
        lines += [_line(row) for row in sorted(result.attackers, key=_order)]
        lines += ["", "</details>", ""]
    lines += ["<details><summary>Repeat it</summary>", "", fenced(command(result)), "", "</details>", ""]
    lines.append("Estimates under the stated attackers, no guarantee; a stronger attacker may do better.")
    return "\n".join(lines) + "\n"


def _line(row: AttackerRow) -> str:
    cells = (
        percent(None if row.risk is None else row.risk.estimate),
        percent(row.linkage_rate.estimate),
        percent(row.control_rate),
        percent(row.top1_hit_rate),
    )
    out = f" (does not count: {text(row.disqualified[0])})" if row.disqualified else ""
    return f"| {code(row.name)}{out} | {' | '.join(cells)} |"


def _order(row: AttackerRow) -> tuple[bool, float]:
    return bool(row.disqualified), 0.0 if row.risk is None else -row.risk.estimate


def text(words: str) -> str:
    """Words with every sign of Markdown taken at its face value; nobody is mentioned by an @. What is typed is code."""
    parts = re.split(f"{CODE[0]}(.*?){CODE[1]}", words)
    return "".join(code(part) if at % 2 else _plain(part) for at, part in enumerate(parts))


def _plain(words: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(words)).replace("@", "@\u200b")


def code(name: str) -> str:
    """A name as code, whatever it holds; also inside a table."""
    shown = printable(name)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    padded = f" {shown} " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else shown
    return f"{fence}{padded}{fence}".replace("|", "\\|")


def fenced(words: str) -> str:
    """A block of code."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", words)), default=0) + 1)
    return f"{fence}\n{words}\n{fence}"
