"""A leaderboard on the terminal.

Whatever comes from outside (names of releases, titles) is printed as Text, never as markup.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import hanging, heading, plain_table
from cvpl.reports.leaderboard import READ, held_against, made, note, place, read_at, seconds, utility
from cvpl.result import BenchmarkResult, BenchmarkRow
from cvpl.wording import UNKNOWN, percent, printable, span


def show_benchmark(result: BenchmarkResult, console: Console) -> None:
    """All groups, one after the other."""
    console.print(Text(benchmark_headline(result), style="bold"))
    console.print(Text(READ, style="dim"))
    for group in result.groups:
        rows = result.of(group.name)
        heading(printable(group.title), console)
        _show_risk(rows, console)
        _show_rates(rows, console)
        _show_kept(rows, console)
        for row in rows:
            if note(row):
                hanging("-", f"{printable(row.name)}: {note(row)}", console, style="yellow")
    console.print()
    text = "The largest top-1 is that of any attacker; all other figures are those of the one that is named. "
    text += "These are estimates under the stated attackers, no guarantee."
    console.print(Text(text, style="dim"))


def benchmark_headline(result: BenchmarkResult) -> str:
    """How many releases were audited, in which most is found, and of how many nothing can be said."""
    rows, groups = len(result.rows), len(result.groups)
    dead = sum(row.status == "not_assessable" for row in result.rows)
    failed = sum(row.status == "failed" for row in result.rows)
    text = f"{rows} release{'s' * (rows != 1)} of {groups} data set{'s' * (groups != 1)}."
    known = [row for row in result.rows if row.risk is not None and row.risk.basis == "control"]
    if known:
        most = max(known, key=lambda row: row.shown[0] or 0.0)
        text += (
            f" The risk is highest in '{printable(most.name)}' of {printable(most.group)}: {percent(most.shown[0])}."
        )
    without = [f"{dead} not assessable"] * bool(dead) + [f"{failed} could not be audited"] * bool(failed)
    return text + (f" Without figures: {', '.join(without)}." if without else "")


def _show_risk(rows: list[BenchmarkRow], console: Console) -> None:
    heads = ("place", "right"), ("release", "name"), ("risk", "right"), ("95% interval", "right")
    table = plain_table(*heads, ("top-1", "right"), ("largest", "right"), ("held against", "left"))
    for row in rows:
        risk, low, high = row.shown
        table.add_row(
            place(row, rows),
            Text(printable(row.name)),
            percent(risk) if row.status == "assessed" else row.status.replace("_", " "),
            span(low, high),
            percent(row.top1_hit_rate),
            percent(None if row.largest_top1 is None else row.largest_top1.top1_hit_rate),
            f"{held_against(row)}, {read_at(row)}" if read_at(row) else held_against(row),
        )
    console.print(table)


def _show_rates(rows: list[BenchmarkRow], console: Console) -> None:
    console.print()
    heads = ("release", "name"), ("attributable", "right"), ("95% interval", "right"), ("linked", "right")
    table = plain_table(*heads, ("control", "right"), ("attacker", "left"))
    for row in rows:
        beyond = row.attributable_rate
        table.add_row(
            Text(printable(row.name)),
            percent(None if beyond is None else beyond.estimate),
            "" if beyond is None else span(beyond.low, beyond.high),
            percent(None if row.linkage_rate is None else row.linkage_rate.estimate),
            percent(None if row.control is None else row.control.rate),
            Text(UNKNOWN if row.attacker is None else printable(row.attacker)),
        )
    console.print(table)


def _show_kept(rows: list[BenchmarkRow], console: Console) -> None:
    console.print()
    heads = ("release", "name"), ("utility", "right"), ("seconds", "right"), ("how it was made", "left")
    table = plain_table(*heads)
    for row in rows:
        table.add_row(Text(printable(row.name)), utility(row.utility, short=True), seconds(row), Text(made(row)))
    console.print(table)
