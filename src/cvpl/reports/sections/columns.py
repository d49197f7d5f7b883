"""Which columns give people away."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cvpl.answers.column_effects import ColumnEffects, EffectFigure, column_effects
from cvpl.reports.sections.section import SCREENS, Column, Figure, Item, ReportSection, chart_of, table_of
from cvpl.result import AuditResult, Contribution
from cvpl.wording import counted, named, percent, points, signed_percent, span

NARROW = 76
"""Terminals narrower than this leave out the roles."""
_WIDE = 100
"""Terminals at least this wide show spreads beside the figures."""


class _ColumnMeasure(NamedTuple):
    """One measure of how much a column gives away: its name, value, cell, spread, meaning and unit."""

    name: str
    value: Callable[[Contribution], float | None]
    cell: Callable[[Contribution], str]
    spread: Callable[[Contribution], str] | None
    meaning: str
    unit: str = ""

    @property
    def head(self) -> str:
        """The head of its column: cells in percent have their sign, those in points have it here."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


_SHORT: dict[EffectFigure, str] = {"risk": "risk", "top1_hit_rate": "top-1", "power": "power"}
_MEASURES = (
    _ColumnMeasure(
        "structure",
        lambda item: item.structural,
        lambda item: percent(item.structural),
        lambda item: span(item.structural_low, item.structural_high),
        "the column's share of the space in which records are compared; independent of the links",
    ),
    _ColumnMeasure(
        "links",
        lambda item: item.link,
        lambda item: signed_percent(item.link),
        None,
        "its share of the similarity of the links that were found; negative if it pushes linked records apart",
    ),
    _ColumnMeasure(
        "rate",
        lambda item: item.removal,
        lambda item: _change(item.removal),
        None,
        "change of the linkage rate, in percentage points, when the column is left out of the comparison. "
        "Minus: the column helps to link people. Plus: more people are linked without it, because with fewer features "
        "more records look alike; the column distinguishes people, and dropping it adds look-alikes, not protection",
        "points",
    ),
)


def _effect(effects: ColumnEffects) -> _ColumnMeasure:
    """The measure by the figure that counts: the risk, the top-1 hit rate, or the power."""

    def drop(item: Contribution) -> float | None:
        return effects.drops[item.column].drop if item.column in effects.drops else None

    def spread(item: Contribution) -> str:
        found = effects.drops.get(item.column)
        return "" if found is None else _ends(found.low, found.high)

    return _ColumnMeasure(
        _SHORT[effects.figure],
        drop,
        lambda item: _change(drop(item)),
        spread,
        f"change of {effects.name}, in percentage points, when the column is left out; coarsen the column with the "
        "largest drop first",
        "points",
    )


def columns_section(result: AuditResult) -> ReportSection:
    """One row per column, the one that gives people away most first, and the meaning of the figures."""
    heading, found = "Which columns give people away", result.feature_contribution
    effects = column_effects(result)
    measures = (*_MEASURES, _effect(effects))
    known = [measure for measure in measures if any(measure.value(item) is not None for item in found.columns)]
    figure = Figure(chart_of("contributions", result), tabled=bool(known))
    all_within = bool(effects.drops) and effects.none_certain
    nothing_certain = (
        f"Whichever single column is left out, the change of {effects.name} lies within error." if all_within else ""
    )
    if not known:
        nothing = "No figures for single columns: the score of the headline attacker cannot be split by column."
        return ReportSection("columns", heading, figures=(figure,), without_figure=nothing)
    columns: list[Column[Contribution]] = [
        Column("column", lambda item: named(item.column), "left"),
        Column("role", lambda item: item.role.replace("_", "-"), "left", NARROW),
    ]
    for measure in known:
        columns.append(Column(measure.head, measure.cell))
        spread = measure.spread
        if spread is not None and any(spread(item) for item in found.columns):
            columns.append(Column(f"{measure.head}, spread", spread, least_width=_WIDE))
    rows = sorted(found.columns, key=lambda item: _weight(item, effects))
    searched_people = found.top1_asked if effects.figure == "top1_hit_rate" else found.power_asked
    searched = {"rate": found.removal_asked, _SHORT[effects.figure]: searched_people}
    alike = (
        "Columns with the same information can replace each other: leaving out one of them may change nothing, leaving "
        "out all of them does."
    )
    return ReportSection(
        "columns",
        heading,
        figures=(figure,),
        without_figure=nothing_certain,
        tables=(table_of(heading, rows, columns),),
        items=tuple(
            Item(f"{measure.name}: {measure.meaning}{sample_words(searched.get(measure.name), result)}.")
            for measure in known
        ),
        items_as="quiet",
        notes=(alike,),
        outputs=SCREENS,
    )


def sample_words(searched: int | None, result: AuditResult) -> str:
    """The size of a sample in words; nothing if all originals were searched."""
    if searched is None or searched >= result.inputs["original"].rows:
        return ""
    return f" (sample of {counted(searched, 'original')})"


def _change(drop: float | None) -> str:
    return points(None if drop is None else -drop)


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{points(-high)} to {points(-low)}"


def _weight(item: Contribution, effects: ColumnEffects) -> float:
    """The sort key: columns that give people away most come first."""
    drop = effects.drops.get(item.column)
    known = (value for value in (None if drop is None else drop.drop, item.link, item.structural) if value is not None)
    return -next(known, 0.0)
