"""Which columns give people away."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cvpl.reports.sections.section import SCREENS, Column, Figure, Item, Section, Table, chart_of
from cvpl.result import AuditResult, Contribution
from cvpl.wording import named, percent, points, signed_percent, span

NARROW = 76
"""Below this width of a terminal the roles are left out."""
_WIDE = 100
"""From this width of a terminal on spreads stand beside the figures."""


class _Way(NamedTuple):
    """One way to say how much a column gives away: its head, its cell, its spread, and what it means."""

    name: str
    value: Callable[[Contribution], float | None]
    words: Callable[[Contribution], str]
    spread: Callable[[Contribution], str] | None
    meaning: str


_WAYS = (
    _Way(
        "structure",
        lambda item: item.structural,
        lambda item: percent(item.structural),
        lambda item: span(item.structural_low, item.structural_high),
        "the column's share of the space in which records are compared; it says nothing of the links",
    ),
    _Way(
        "links",
        lambda item: item.link,
        lambda item: signed_percent(item.link),
        None,
        "its share of the similarity of the links that were found; below 0 where it holds them apart",
    ),
    _Way(
        "rate",
        lambda item: item.removal,
        lambda item: _change(item.removal),
        None,
        "change of the linkage rate, in percentage points, when the column is left out of the comparison. "
        "Minus: the column helps to link people. Plus: more are linked without it, because with fewer features more "
        "records look alike; the column tells people apart, and dropping it makes look-alikes, not protection",
    ),
    _Way(
        "power",
        lambda item: item.power_drop,
        lambda item: _change(item.power_drop),
        lambda item: _ends(item.power_drop_low, item.power_drop_high),
        "change of the power at 5%, in percentage points, when the column is left out: coarsen first what takes most "
        "away",
    ),
)


def columns_section(result: AuditResult) -> Section:
    """A line for each column, the one that gives people away most first, and what its figures mean."""
    heading, found = "Which columns give people away", result.feature_contribution
    known = [way for way in _WAYS if any(way.value(item) is not None for item in found.columns)]
    figure = Figure(chart_of("contributions", result), tabled=bool(known))
    if not known:
        nothing = "Nothing is known of single columns: the headline's score cannot be split over them."
        return Section("columns", heading, figures=(figure,), without_figure=nothing)
    columns = [Column("column", "left"), Column("role", "left", NARROW)]
    cells: list[Callable[[Contribution], str]] = [
        lambda item: named(item.column),
        lambda item: item.role.replace("_", "-"),
    ]
    for way in known:
        columns.append(Column(way.name))
        cells.append(way.words)
        spread = way.spread
        if spread is not None and any(spread(item) for item in found.columns):
            columns.append(Column(f"{way.name}, spread", least_width=_WIDE))
            cells.append(spread)
    rows = tuple(tuple(cell(item) for cell in cells) for item in sorted(found.columns, key=_weight))
    asked = {"rate": found.removal_asked, "power": found.power_asked}
    alike = "Columns that say the same stand in for each other: each alone may be left out without loss, both not."
    return Section(
        "columns",
        heading,
        figures=(figure,),
        tables=(Table(heading, tuple(columns), rows),),
        items=tuple(Item(f"{way.name}: {way.meaning}{_some(asked.get(way.name), result)}.") for way in known),
        items_as="quiet",
        notes=(alike,),
        outputs=SCREENS,
    )


def _some(asked: int | None, result: AuditResult) -> str:
    few = asked is not None and asked < result.inputs["original"].rows
    return f" ({asked:,} originals were asked)" if few else ""


def _change(drop: float | None) -> str:
    return points(None if drop is None else -drop)


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{points(-high)} to {points(-low)}"


def _weight(item: Contribution) -> float:
    """The columns that give people away most come first."""
    known = (value for value in (item.power_drop, item.link, item.structural) if value is not None)
    return -next(known, 0.0)
