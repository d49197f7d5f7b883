"""Who is at risk, on the terminal: rates by group, small numbers hidden."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import heading, plain_table
from cvpl.result import AuditResult
from cvpl.result.people import attributable_words, control_words, linked_words, maximum_attributable_words, where
from cvpl.wording import percent, printable, span


def show_people(result: AuditResult, console: Console) -> None:
    """The maximum beside the average, then every grouping's table."""
    found = result.at_risk
    if found is None:
        return
    heading("Who is at risk", console)
    most = found.maximum
    if most.estimate is None:
        console.print(Text("All rates of groups are hidden."))
    else:
        ends = span(most.low, most.high)
        rate = f"{percent(most.estimate)} ({ends})" if ends else percent(most.estimate)
        least = "at least " if most.at_least else ""
        more = maximum_attributable_words(found)
        line = f"Most: {least}{rate}, {where(most)}; on average {percent(found.average)}."
        console.print(Text(f"{line} {more}".rstrip()))
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
            rows.add_row(
                Text(label),
                f"{row.records:,}",
                linked_words(row),
                control_words(row, found),
                attributable_words(row, found),
            )
        console.print(rows)
    note = f"Groups and numbers below {found.suppress_below} are pooled or hidden, also against subtraction."
    console.print(Text(note, style="dim"))
