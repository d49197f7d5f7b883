"""The three most effective changes to a release, each with what it gains."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.reports.sections.next_steps import CHANCE, column_steps, next_steps, telling_columns
from cvpl.result import AuditResult
from cvpl.result.comparison_group import comparison_group
from cvpl.wording import named, percent, points

MOST = 3
WITHIN_ERROR = "Whichever single column is left out, the change of the power at 5% lies within error."


@dataclass(frozen=True)
class Action:
    """A column, the power with and without it, and the gain in points with its interval."""

    column: str
    before: str
    after: str
    gain: str
    interval: str


@dataclass(frozen=True)
class Actions:
    """The changes that were measured, a note on how, and sentences if there are none."""

    rows: tuple[Action, ...]
    note: str
    sentences: tuple[str, ...]


def actions(result: AuditResult) -> Actions:
    """The columns without which the power at 5% falls most, for certain and by at least 2 points.

    The power without a column is power - drop, both measured on this release. Without such a column there are
    sentences instead: every effect lies within error, nothing needs to change, or the effects were not measured.
    """
    own, k = result.power_at(CHANCE), result.suppress_below
    assessable = result.validity.assessable and result.verdict.kind != "not_assessable"
    telling = telling_columns(result) if assessable and result.verdict.kind != "indistinguishable_from_zero" else []
    if not telling:
        found = column_steps(result) if assessable else next_steps(result)
        known = any(item.power_drop is not None for item in result.feature_contribution.columns)
        nothing = WITHIN_ERROR if known else "How much each column gives away was not measured."
        return Actions((), "", tuple(found[:1]) or (nothing,))
    rows = tuple(
        Action(
            named(item.column),
            "" if own is None else percent(own.power, k=k),
            "" if own is None else percent(max(0.0, own.power - (item.power_drop or 0.0))),
            points(-(item.power_drop or 0.0)),
            f"{points(-(item.power_drop_high or 0.0))} to {points(-(item.power_drop_low or 0.0))}",
        )
        for item in telling[:MOST]
    )
    note = (
        f"Originals linked when 5% of {comparison_group(result)} are linked, measured again on this release without "
        "the column. Coarsening gains less than removing, and gains do not add up: audit again."
    )
    return Actions(rows, note, ())
