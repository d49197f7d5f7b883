"""Rates by group as they are published: each a multiple of a step that its number of people supports."""

from __future__ import annotations

from dataclasses import replace

from cvpl.evaluation.groups.subgroups import GroupRow, GroupTable, Maximum, Subgroups
from cvpl.result.rounding import RoundingGrid, grid_of, rounded_count


def rounded_rates(found: Subgroups, k: int) -> Subgroups:
    """The rates with every row rounded by its own number of people; exact with k = 1.

    Lower bounds are rounded down and upper ones up, so a range never gets narrower.
    """
    if k <= 1:
        return found
    tables = tuple(GroupTable(table.name, tuple(_row(row, k) for row in table.rows)) for table in found.tables)
    people = sum(row.records for row in found.tables[0].rows)
    whole = grid_of(people, k)
    average = whole.nearest(found.average)
    known = [row.attributable for table in tables for row in table.rows if row.attributable is not None]
    return replace(
        found,
        tables=tables,
        average=average,
        maximum=_maximum(found, tables, average, whole),
        maximum_attributable=max(known, default=None),
    )


def _row(row: GroupRow, k: int) -> GroupRow:
    grid = grid_of(row.records, k)
    # A lower bound of 0, or an upper one of 1, says nothing.
    at_least = None if row.at_least is None else grid.down(row.at_least) or None
    at_most = None if row.at_most is None or grid.up(row.at_most) >= 1 else grid.up(row.at_most)
    return replace(
        row,
        records=rounded_count(row.records, k),
        linked=None if row.linked is None else grid.nearest(row.linked),
        at_least=at_least,
        at_most=at_most,
        low=None if row.low is None or (row.linked is None and at_least is None) else grid.down(row.low),
        high=None if row.high is None or (row.linked is None and at_most is None) else grid.up(row.high),
        control=None if row.control is None else grid.nearest(row.control),
        attributable=None if row.attributable is None else grid.nearest(row.attributable),
    )


def _maximum(found: Subgroups, tables: tuple[GroupTable, ...], average: float, whole: RoundingGrid) -> Maximum:
    """The largest rate, with the figures of its row as that is published, and never below the average."""
    most = found.maximum
    pairs = [
        (name.name, row, new)
        for name, table in zip(found.tables, tables, strict=True)
        for row, new in zip(name.rows, table.rows, strict=True)
    ]
    estimate = average
    for name, row, new in pairs:
        if most.table is not None and (name, row.label) == (most.table, most.label):
            estimate = max(average, new.linked if new.linked is not None else new.at_least or 0.0)
    low = next((new.low for _, row, new in pairs if row.low == most.low and new.low is not None), whole.down(most.low))
    high = next((new.high for _, row, new in pairs if row.high == most.high), whole.up(most.high))
    return replace(most, estimate=estimate, low=min(low, estimate), high=1.0 if high is None else max(high, estimate))
