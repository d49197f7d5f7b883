"""The differences between two audits as a list of sections."""

from __future__ import annotations

from cvpl.reports.difference import Change, ResultDifference
from cvpl.reports.sections.section import TERMINAL, Column, Item, Remark, ReportSection, table_of
from cvpl.wording import percent, points, printable, sentence

_BEYOND = {True: "beyond error", False: "within error", None: "no interval"}


def difference_sections(found: ResultDifference) -> list[ReportSection]:
    """The cautions, the figures before and after, and the other differences."""
    note = (
        "Beyond error: the 95% interval of the difference excludes 0. Within error: it includes 0, judged by these two "
        "results alone; `cvpl compare` pairs people and can detect smaller differences. No interval: not comparable."
    )
    columns: tuple[Column[Change], ...] = (
        Column("figure", lambda change: change.figure, "left"),
        Column("before", lambda change: percent(change.before)),
        Column("after", lambda change: percent(change.after)),
        Column("points", lambda change: points(change.difference)),
        Column("change", _outcome, "left"),
    )
    lists = {
        "Inputs that differ": found.inputs,
        "Settings that differ": found.settings,
        "New warnings": found.new_warnings,
        "Resolved warnings": found.gone_warnings,
    }
    return [
        ReportSection(
            "changes",
            sentences=tuple(Remark(sentence(printable(line)), "notice") for line in found.cautions),
            tables=(table_of("Changes", found.changes, columns),),
            notes=(note,),
            outputs=TERMINAL,
        ),
        *(
            ReportSection(f"list-{at}", title, items=tuple(Item(printable(line)) for line in lines), outputs=TERMINAL)
            for at, (title, lines) in enumerate(lists.items(), start=1)
        ),
    ]


def _outcome(change: Change) -> str:
    return change.note or ("none" if change.difference == 0 else _BEYOND[change.beyond_error])
