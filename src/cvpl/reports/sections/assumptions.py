"""What an audit without a configuration assumed: the columns, and what the user should check."""

from __future__ import annotations

from cvpl.reports.sections.section import TERMINAL, WRITTEN, Column, Item, Output, Remark, ReportSection, table_of
from cvpl.result import AssumedColumn, Assumptions
from cvpl.wording import named, printable, sentence, typed

ASSUMED = "Assumptions about the columns"
_MOST_NAMES = 8
"""A short list names at most this many columns of a role."""


def assumptions_section(assumptions: Assumptions | None, outputs: frozenset[Output] = WRITTEN) -> ReportSection:
    """A row for each column, with what to check first; nothing if a configuration was given.

    The terminal shows it before the audit, so the report on the terminal does not repeat it.
    """
    if assumptions is None:
        return ReportSection("assumptions")
    columns: tuple[Column[AssumedColumn], ...] = (
        Column("column", lambda item: named(item.column), "name"),
        Column("used as", _role_and_type, "left"),
        Column("why", _reason, "left"),
    )
    doubtful_first = sorted(assumptions.columns, key=lambda item: item.doubt is None)
    text = (
        "There was no configuration, so roles and types are guesses, and the figures are only as good as they are. "
        f"Correct what is wrong in the {typed('audit.yaml')} that was used, and audit again with it."
    )
    return ReportSection(
        "assumptions",
        ASSUMED,
        sentences=(*_unread(assumptions), Remark(text, "notice")),
        tables=(table_of(ASSUMED, doubtful_first, columns, style="stacked"),),
        items=tuple(Item(sentence(printable(note))) for note in assumptions.notes),
        outputs=outputs,
    )


def brief_assumptions(assumptions: Assumptions) -> ReportSection:
    """The roles with their columns, and the columns to check first; for the terminal, before a short summary."""
    roles: dict[str, list[str]] = {}
    for item in assumptions.columns:
        roles.setdefault(item.role.replace("_", "-"), []).append(named(item.column))
    doubtful = [named(item.column) for item in assumptions.columns if item.doubt is not None]
    lists = "; ".join(f"{role}: {_names(found)}" for role, found in roles.items())
    check = f" Check first: {_names(doubtful)}." if doubtful else ""
    text = f"No configuration: roles and types are guesses (reasons: {typed('--details')}).{check}"
    sentences = (*_unread(assumptions), Remark(text, "notice"), Remark(f"{lists}."))
    return ReportSection("assumptions", sentences=sentences, outputs=TERMINAL)


def _unread(assumptions: Assumptions) -> tuple[Remark, ...]:
    """The first sentence, if the release has labels that nothing explains: a low risk does not say that it is safe."""
    names = [named(item.column) for item in assumptions.columns if item.unread]
    if not names:
        return ()
    text = (
        f"Labels of the release in {_names(names)} are not in the original and nothing explains them, so no attacker "
        "can read them, and the risk may be too low."
    )
    return (Remark(text, "notice"),)


def _names(found: list[str]) -> str:
    more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
    return f"{', '.join(found[:_MOST_NAMES])}{more}"


def _role_and_type(item: AssumedColumn) -> str:
    words = item.role.replace("_", "-")
    if item.type is not None:
        words += f", {item.type}"
    return f"{words}, blocking key" if item.blocks else words


def _reason(item: AssumedColumn) -> str:
    return sentence(printable(f"check: {item.doubt}" if item.doubt is not None else item.reason))
