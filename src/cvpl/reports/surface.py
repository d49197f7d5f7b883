"""A risk surface on the terminal: the answer, a line for each strength, the rates over thresholds, what to doubt."""

from __future__ import annotations

import re
from itertools import pairwise

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import bullets, hanging, heading, plain_table
from cvpl.result import SurfaceCell, SurfaceResult, SurfaceSetting, SurfaceTarget, Warning_
from cvpl.result.surface import Strength
from cvpl.wording import UNKNOWN, percent, points, printable, sentence, span

_WIDE = 96
"""From this width on the linkage rate and the control's stand beside the risk."""
_COLUMN = 10
"""Signs that one threshold takes in the table of rates."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_FIGURES = {"attributable_rate": "attributable rate", "linkage_rate": "linkage rate"}


def answer(result: SurfaceResult) -> str:
    """What the sweep found, in a few sentences; for the terminal and for every report."""
    parts = [_met(result, result.target) if result.target is not None else _course(result)]
    if result.rises_at:
        parts.append(_not_monotone(result))
    return " ".join(parts)


def show(result: SurfaceResult, console: Console) -> None:
    """Print the summary."""
    console.print()
    console.print(Text(answer(result), style="bold"))
    console.print(Text(setting(result), style="dim"))
    _show_settings(result, console)
    _show_cells(result, console)
    _show_doubts(result, console)
    warnings = gathered_warnings(result)
    if warnings:
        heading("Read this before using a figure", console, style="bold yellow")
        for warning, where in warnings:
            hanging("-", sentence(printable(warning.message)) + where, console)
    console.print()
    console.print(
        Text("These are estimates under the stated attacker, no guarantee. Audit a release before it leaves the house.")
    )


def setting(result: SurfaceResult) -> str:
    """Who swept what, and how that attacker was chosen."""
    names = {"original": "originals", "control": "in the control"}
    sizes = ", ".join(f"{table.rows:,} {names.get(role, role)}" for role, table in result.inputs.items())
    what = "the blocking" if result.sweep == "blocking" else f"mechanism '{printable(result.mechanism)}'"
    text = f"Swept: {what}, by attacker '{printable(result.attacker)}': {sizes}."
    if result.picked is not None:
        where = "the release" if result.sweep == "blocking" else "the weakest release"
        text += (
            f" Of {result.picked.among} attackers this one was the strongest on {where}, by power at 5%; intervals "
            "allow for the picking."
        )
    return text


def gathered_warnings(result: SurfaceResult) -> list[tuple[Warning_, str]]:
    """Each warning once, at the weakest strength that raised it; and where else it was, with other figures perhaps."""
    found: dict[tuple[str, str], tuple[Warning_, list[Strength]]] = {}
    for row in result.settings:
        for warning in row.warnings:
            key = warning.rule, _NUMBERS.sub("", warning.message)
            found.setdefault(key, (warning, []))[1].append(row.strength)
    gathered = [(warning, "") for warning in result.warnings]
    for warning, (first, *others) in found.values():
        where = f" (At {_value(first)}{f'; likewise at {_named(others)}' if others else ''}.)"
        gathered.append((warning, "" if len(others) + 1 == len(result.settings) and not _figures(warning) else where))
    return gathered


def _figures(warning: Warning_) -> bool:
    return _NUMBERS.search(warning.message) is not None


def _course(result: SurfaceResult) -> str:
    """How the risk goes from one end to the other, where no target is set."""
    first, last = result.settings[0], result.settings[-1]
    if result.sweep == "blocking":
        risks = [row.risk.estimate for row in result.settings if row.risk.estimate is not None]
        ends = span(min(risks, default=None), max(risks, default=None)) or "not known"
        return f"Over {len(result.settings)} blockings the {_FIGURES[first.judged]} is {ends}."
    text = f"At {_name(first)}, the weakest, the {_risk(first)}"
    return f"{text}; at {_name(last)}, the strongest, the {_risk(last)}." if first is not last else f"{text}."


def _met(result: SurfaceResult, target: SurfaceTarget) -> str:
    limit = percent(target.rate)
    if result.sweep == "blocking":
        outside = [row for row in result.settings if not row.safe]
        if not outside:
            return f"Under all {len(result.settings)} blockings the risk stays at or below {limit}."
        return (
            f"Under {len(outside)} of {len(result.settings)} blockings the risk is above {limit}, or cannot be called "
            "lower. The attacker chooses the blocking, so the highest counts."
        )
    weakest = target.weakest
    if weakest is None:
        text = f"No setting that was tried can be said to stay at or below {limit}."
        if target.isolated:
            text += f" {_named(target.isolated)} would be below, but a stronger one is not: that may be luck."
        return f"{text} At {_name(result.settings[-1])}, the strongest, the {_risk(result.settings[-1])}."
    ends = span(weakest.low, weakest.high)
    text = (
        f"The weakest setting that stays at or below {limit} is {printable(result.mechanism)} at "
        f"{_value(weakest.strength)}: the "
        f"{_FIGURES[weakest.figure]} is {percent(weakest.estimate)} (95% interval {ends}), and its utility "
        f"{_score(weakest.utility.mean)} of 1. So do all stronger ones that were tried."
    )
    if len(weakest.held_against) > 1:
        name = printable(weakest.attacker)
        text += (
            f" It was held against all {len(weakest.held_against)} attackers, of whom '{name}' is the strongest there."
        )
    if target.isolated:
        text += f" {_named(target.isolated)} would be below too, but a stronger one is not: that may be luck."
    return text


def _not_monotone(result: SurfaceResult) -> str:
    rows = [row for row in result.settings if row.risk.estimate is not None]
    steps = [(before, row) for before, row in pairwise(rows) if row.strength in result.rises_at]
    most = max((row.risk.estimate or 0.0) - (before.risk.estimate or 0.0) for before, row in steps)
    apart = any(_above(row.risk.low, before.risk.high) for before, row in steps)
    return (
        f"The risk does not only fall with strength: it rises at {_named(result.rises_at)}, by up to "
        f"{points(most).lstrip('+')} points, {'beyond error' if apart else 'which may be error'}."
    )


def _above(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low > high


def _show_settings(result: SurfaceResult, console: Console) -> None:
    turned, title = "strength", "The strengths, weakest first"
    if result.sweep == "blocking":
        turned, title = "blocking", "The blockings, coarsest first"
    heading(title, console)
    wide = console.width >= _WIDE
    names = ["risk", "95% interval", "power 5%", "top-1", "utility"]
    if wide:
        names = ["linked", "control", *names]
    if result.target is not None:
        names.append(f"<= {result.target.rate:.4g}")
    table = plain_table((turned, "left"), *((it, "right") for it in names))
    for row in result.settings:
        risk, power = row.risk, next((it.power for it in row.power or [] if it.false_rate == 0.05), None)
        figures = [percent(risk.estimate), span(risk.low, risk.high), percent(power), percent(row.top1_hit_rate)]
        figures.append(_score(row.utility.mean))
        if wide:
            base = None if row.control is None else row.control.rate
            figures = [percent(row.linkage_rate.estimate), percent(base), *figures]
        if result.target is not None:
            figures.append("yes" if row.safe else "no")
        table.add_row(Text(printable(str(row.strength))), *figures)
    console.print(table)
    judged = {row.judged for row in result.settings}
    told = " or ".join(_FIGURES[it] for it in ("attributable_rate", "linkage_rate") if it in judged)
    read = "at the attacker's own threshold" if result.axis == "threshold" else "where 5% of the others are linked"
    hanging("", f"Risk: the {told}, {read}.", console, style="dim")
    for failed in result.failed:
        reason = sentence(printable(failed.reason))
        hanging("-", f"No release at {_value(failed.strength)}: {reason}", console)


def _show_cells(result: SurfaceResult, console: Console) -> None:
    widest = max(len(str(row.strength)) for row in result.settings)
    room = max(2, (console.width - widest) // _COLUMN)
    columns = _spread(len(result.settings[0].cells), room)
    if not columns:
        return
    heading(
        "The risk over thresholds" if result.axis == "threshold" else "The risk where so many others are linked",
        console,
    )
    first = result.settings[0].cells
    heads = [_at(first[at]) for at in columns]
    table = plain_table(("", "left"), *((it, "right") for it in heads))
    for row in result.settings:
        cells = [_cell(row, row.cells[at]) if at < len(row.cells) else UNKNOWN for at in columns]
        table.add_row(Text(printable(str(row.strength))), *cells)
    console.print(table)
    marks = []
    if result.target is not None:
        marks.append(f"* safe: at or below {percent(result.target.rate)} by the upper interval end")
    marks.append("? another figure says that more people are found")
    marks.append(f"! a neighbour differs by more than {100 * result.high_sensitivity:.0f} points")
    hanging("", "; ".join(marks) + ".", console, style="dim")


def _show_doubts(result: SurfaceResult, console: Console) -> None:
    doubted = [row for row in result.settings if row.doubts]
    if doubted:
        heading("Why a low rate would not count", console, style="bold yellow")
        bullets((f"{_value(row.strength)}: {'; '.join(row.doubts)}." for row in doubted), console)


def _cell(row: SurfaceSetting, cell: SurfaceCell) -> Text:
    rate = cell.linkage_rate if row.judged == "linkage_rate" else cell.attributable_rate
    marks = ("*" if cell.safe else "?" if cell.contradicted else " ") + ("!" if cell.steep else " ")
    return Text(percent(rate) + marks)


def _at(cell: SurfaceCell) -> str:
    return (f"{cell.threshold:.2f}" if cell.threshold is not None else percent(cell.false_rate)) + "  "


def _spread(count: int, room: int) -> list[int]:
    """Evenly spaced places, the first and the last among them."""
    if count <= room:
        return list(range(count))
    return sorted({round(at * (count - 1) / (room - 1)) for at in range(room)})


def _risk(row: SurfaceSetting) -> str:
    ends = span(row.risk.low, row.risk.high)
    text = f"{_FIGURES[row.judged]} is {percent(row.risk.estimate)}" + (f" (95% interval {ends})" if ends else "")
    return text + (", which cannot be relied on" if row.doubts else "")


def _name(row: SurfaceSetting) -> str:
    return _value(row.strength)


def _value(strength: Strength) -> str:
    return printable(str(strength))


def _named(strengths: list[Strength]) -> str:
    return ", ".join(_value(it) for it in strengths)


def _score(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"
