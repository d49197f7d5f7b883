"""Who is at risk, on the terminal: rates by group, small numbers hidden."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import heading, plain_table
from cvpl.result import AuditResult, GroupRate
from cvpl.result.people import where
from cvpl.wording import UNKNOWN, percent, printable, span


def show_people(result: AuditResult, console: Console) -> None:
    """The maximum beside the average, then every grouping's table."""
    found = result.at_risk
    if found is None:
        return
    heading("Who is at risk", console)
    most = found.maximum
    if most.estimate is None:
        console.print(Text("No group's rate can be told."))
    else:
        hidden = any(row.linked is None for it in found.tables for row in it.rows)
        ends = span(most.low, most.high)
        told = f"{percent(most.estimate)} ({ends})" if ends else percent(most.estimate)
        beyond = found.maximum_attributable
        more = ""
        if beyond is not None:
            more = f" Beyond look-alikes: {'at least ' if hidden else ''}{percent(beyond)} of a group."
        least = "at least " if most.at_least else ""
        console.print(Text(f"Most: {least}{told}, {where(most)}; on average {percent(found.average)}.{more}"))
    for grouping in found.tables:
        rows = plain_table(
            (printable(grouping.name), "left"),
            ("originals", "right"),
            ("linked", "right"),
            ("control", "right"),
            ("attributable", "right"),
        )
        for row in grouping.rows:
            label = f"{row.groups} small groups" if row.label is None else printable(row.label)
            rows.add_row(Text(label), f"{row.records:,}", _linked(row), percent(row.control), percent(row.attributable))
        console.print(rows)
    note = f"Groups and numbers below {found.suppress_below} are pooled or hidden, also against subtraction."
    console.print(Text(note, style="dim"))


def _linked(row: GroupRate) -> str:
    if row.linked is not None:
        return percent(row.linked)
    if row.at_most is not None:
        return f"at most {percent(row.at_most)}"
    return UNKNOWN if row.at_least is None else f"at least {percent(row.at_least)}"
