"""A risk surface for a pull request: the answer, a line for each strength, and what to doubt, in Markdown."""

from __future__ import annotations

from cvpl.reports.markdown import code, text
from cvpl.result import SurfaceResult, SurfaceSetting
from cvpl.result.surface_answer import answer, figure_of, figure_shown, gathered_warnings, risk_read, score, setting
from cvpl.wording import percent, printable, sentence, span


def surface_markdown(result: SurfaceResult) -> str:
    """The answer, the settings, those that could not be made, and the warnings."""
    swept = "blocking" if result.sweep == "blocking" else "strength"
    heads = [swept, figure_shown(result), "95% interval", "linked", "control", "top-1", "utility"]
    if result.target is not None:
        heads.append(f"at most {percent(result.target.rate)}")
    lines = [
        f"## Risk surface of {code(result.mechanism)}",
        "",
        f"**{text(answer(result))}**",
        "",
        text(setting(result)),
        "",
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(_line(result, row) for row in result.settings),
        "",
        text(risk_read(result)),
        "",
    ]
    for failed in result.failed:
        lines += [f"- No release at {code(str(failed.strength))}: {text(sentence(printable(failed.reason)))}"]
    doubted = [row for row in result.settings if row.doubts]
    for row in doubted:
        lines += [f"- A low figure at {code(str(row.strength))} would not count: {text('; '.join(row.doubts))}."]
    if result.failed or doubted:
        lines.append("")
    warnings = gathered_warnings(result)
    if warnings:
        lines += ["### Warnings", ""]
        lines += [f"- {text(sentence(printable(warning.message)) + where)}" for warning, where in warnings]
        lines.append("")
    lines.append("Estimates under the stated attacker, no guarantee. Audit a release before it leaves the house.")
    return "\n".join(lines) + "\n"


def _line(result: SurfaceResult, row: SurfaceSetting) -> str:
    estimate, low, high = figure_of(result, row)
    cells = [
        code(str(row.strength)),
        percent(estimate),
        span(low, high),
        percent(row.linkage_rate.estimate),
        percent(None if row.control is None else row.control.rate),
        percent(row.top1_hit_rate),
        score(row.utility.mean),
    ]
    if result.target is not None:
        cells.append("yes" if row.safe else "no")
    return f"| {' | '.join(cells)} |"
