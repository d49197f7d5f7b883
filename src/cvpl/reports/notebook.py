"""Results in a notebook: the verdict or answer, and a short table."""

from __future__ import annotations

from html import escape

from cvpl.result import AuditResult, SurfaceResult
from cvpl.result.facts import facts
from cvpl.result.surface_answer import answer, figure_of, figure_shown, named, score
from cvpl.wording import percent, printable, sentence, span


def audit_notebook(result: AuditResult) -> str:
    """The verdict and the main figures."""
    rows = [(fact.name, fact.value + (f" ({fact.interval})" if fact.interval else "")) for fact in facts(result)]
    rows += [("attacker", result.attacker), ("originals", f"{result.inputs['original'].rows:,}")]
    rows += [("check", sentence(finding.message)) for finding in result.preflight if finding.closes_gate]
    rows.append(("warnings", ", ".join(warning.rule for warning in result.warnings) or "none"))
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(printable(value))}</td></tr>" for name, value in rows)
    return f"<div><p><strong>{escape(printable(result.verdict.sentence))}</strong></p><table>{cells}</table></div>"


def surface_notebook(result: SurfaceResult) -> str:
    """The answer and a line for each strength."""
    heads = "".join(f"<th>{item}</th>" for item in ("strength", figure_shown(result), "95% interval", "utility"))
    rows = []
    for row in result.settings:
        estimate, low, high = figure_of(result, row)
        cells = named(row.strength), percent(estimate), span(low, high), score(row.utility.mean)
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return f"<div><p><strong>{escape(answer(result))}</strong></p><table><tr>{heads}</tr>{''.join(rows)}</table></div>"
