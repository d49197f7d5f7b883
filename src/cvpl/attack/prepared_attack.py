"""An attack before its search: the people that the attacker has, and its representation, fitted on its tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.people_draw import EACH_ROW, Drawn, PeopleDraw
from cvpl.attack.representation import Representation, fit_representation
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.operators.alignment import CommonForm, DifferenceForm, Granularity, RankForm, RatioForm, add_shifts, detect
from cvpl.operators.recoding import estimate_recoding
from cvpl.operators.similarity import generalized_columns
from cvpl.randomness import stream
from cvpl.search.engine import engine_for
from cvpl.search.machine import Budget
from cvpl.tables.columns import ColumnData, Pair, Table

Ints = NDArray[np.int64]

FIRST = 500
"""What is estimated from the release without true matches comes from at most this many originals, the first that are
drawn: attackers that ask different numbers of people then share the estimates."""
MOST_KNOWN = 50_000
"""How the release writes values is estimated from at most so many originals, and so many controls."""


@dataclass(frozen=True, eq=False)
class PreparedAttack:
    """An attack before its search: the attacker's tables, and its representation, fitted on them."""

    tables: AttackedTables
    strangers: Strangers
    representation: Representation
    keys: WorkKeys


def prepare(
    pair: Pair,
    attacker: Attacker,
    *,
    seed: int,
    budget: Budget,
    most: int | None,
    shared: SharedWork,
    draw: PeopleDraw = EACH_ROW,
) -> PreparedAttack:
    """Phases 2 and 3 of an attack: vectors, fitted projection, similarity."""
    keys = WorkKeys.of(attacker, most)
    tables = shared.get_or_compute("tables", keys.tables, lambda: _attacked_tables(pair, attacker, most, seed, draw))
    strangers = shared.get_or_compute(
        "strangers", keys.strangers, lambda: _strangers(pair.control, attacker, most, seed, tables, draw)
    )
    representation = fit_representation(
        tables.original,
        tables.protected,
        attacker,
        seed,
        strangers.reference,
        engine_for(budget),
        shared=shared,
        keys=keys,
        first=tables.first,
    )
    return PreparedAttack(tables, strangers, representation, keys)


@dataclass(frozen=True, eq=False)
class AttackedTables:
    """The originals that the attacker has, before and after alignment, and the columns of the release that it knows.

    `first` are the places of the first originals of the sample, see `FIRST`.
    """

    people: Ints
    held: Table
    original: Table
    protected: Table
    form: CommonForm | None
    first: Ints


def _attacked_tables(pair: Pair, attacker: Attacker, most: int | None, seed: int, draw: PeopleDraw) -> AttackedTables:
    """The attacker's data: some of the columns, some of the people, at the granularity of the release if aligned."""
    people, first = draw_known_people(pair.original.rows, attacker.knows_people, most, seed, draw)
    original = with_errors(attacker.view(pair.original), attacker.errors, seed)
    held = original if len(people) == original.rows else original.kept(people)
    protected = attacker.view(pair.protected)
    if attacker.alignment == "none":
        return AttackedTables(people, held, held, protected, None, first)
    form = _common_form(pair, attacker, held, protected, seed)
    return AttackedTables(people, held, form.apply(held), form.apply_released(protected), form, first)


def _common_form(pair: Pair, attacker: Attacker, held: Table, protected: Table, seed: int) -> CommonForm:
    """The form in which an aligned attacker compares its records with the release."""
    granularity = detect(held, protected)
    if attacker.alignment == "cells":
        return granularity.without(generalized_columns(held, protected))
    if attacker.alignment not in ("differences", "ratios", "ranks"):
        return granularity
    control = None if pair.control is None else with_errors(attacker.view(pair.control), attacker.errors, seed)
    if attacker.alignment == "ranks":
        return rank_form(held, protected, control, seed, granularity)
    people = _known_people_of(held, control)
    compared = attacker.vectorization.compared(people)
    if attacker.alignment == "ratios":
        return RatioForm.of(people, compared)
    return DifferenceForm.of(granularity, people, protected, compared)


def rank_form(
    held: Table, protected: Table, control: Table | None, seed: int, granularity: Granularity | None = None
) -> RankForm:
    """The ranks of both tables: originals and control, at the granularity of the release, are ranked together."""
    known = _known_people_of(held, control)
    granularity = add_shifts(granularity or detect(held, protected), known, protected)
    people = granularity.apply(known)
    return RankForm(granularity, estimate_recoding(people, protected, stream(seed, "recoding")))


def _known_people_of(held: Table, control: Table | None) -> Table:
    """Originals and control as one table, evenly spaced records of large ones.

    What is estimated from both together treats them alike.
    """
    tables = [table for table in (held, control) if table is not None]
    some = [table.take(np.linspace(0, table.rows - 1, min(table.rows, MOST_KNOWN)).astype(np.intp)) for table in tables]
    if len(some) == 1:
        return some[0]
    one, other = some
    columns = {spec.name: one.columns[spec.name].joined(other.columns[spec.name]) for spec in one.specs}
    return Table("people", one.rows + other.rows, one.specs, columns)


def draw_known_people(
    rows: int, share: float, most: int | None, seed: int, draw: PeopleDraw = EACH_ROW
) -> tuple[Ints, Ints]:
    """The originals that the attacker asks, and the places among them of the first that are drawn."""
    people = np.arange(rows, dtype=np.int64)
    if share < 1:
        people = _drawn(people, max(1, round(share * rows)), "original", draw, stream(seed, "known people"))
    order = draw.order("original", people, stream(seed, "asked people"))
    asked = people if most is None or len(people) <= most else people[np.sort(order[:most])]
    first = people[np.sort(order[: min(FIRST, len(asked))])]
    return asked, np.searchsorted(asked, first)


@dataclass(frozen=True, eq=False)
class Strangers:
    """The control before and after alignment, and the reference people if the attacker needs them.

    `rows` and `reference_rows` are their rows in the control that was passed.
    """

    held: Table | None
    control: Table | None
    rows: Ints
    reference: Table | None
    reference_rows: Ints


def _strangers(
    control: Table | None,
    attacker: Attacker,
    most: int | None,
    seed: int,
    tables: AttackedTables,
    draw: PeopleDraw,
) -> Strangers:
    nobody = np.zeros(0, dtype=np.int64)
    if control is None:
        return Strangers(None, None, nobody, None, nobody)
    control = with_errors(attacker.view(control), attacker.errors, seed)
    halves = draw.halves(control.rows, stream(seed, "reference people"))
    rows, reference, known = np.arange(control.rows, dtype=np.int64), None, nobody
    if attacker.needs_reference and control.rows > 1:
        known, rows = halves
        reference = replace(control.kept(known), name="reference")
    if most is not None and len(rows) > most:
        rows = _asked_control(halves, most, seed, draw)
    held = control if len(rows) == control.rows else control.kept(rows)
    form = tables.form
    if form is None:
        return Strangers(held, held, rows, reference, known)
    reference = None if reference is None else form.apply(reference)
    return Strangers(held, form.apply(held), rows, reference, known)


def _asked_control(halves: tuple[Ints, Ints], most: int, seed: int, draw: PeopleDraw) -> Ints:
    """A sample of the control: of the half that is never a reference first, so that all attackers ask the same people.

    Their evidence can then be combined.
    """
    rng = stream(seed, "asked control")
    reference, others = halves
    if most <= len(others):
        return _drawn(others, most, "control", draw, rng)
    return np.union1d(others, _drawn(reference, most - len(others), "control", draw, rng))


def _drawn(rows: Ints, size: int, table: Drawn, draw: PeopleDraw, rng: np.random.Generator) -> Ints:
    """Some of the rows in ascending order; fewer from the same generator are a part of them."""
    return rows[np.sort(draw.order(table, rows, rng)[:size])]


def with_errors(table: Table, share: float, seed: int) -> Table:
    """The table with each value replaced, with probability `share`, by that of a row drawn from the same table.

    Columns are drawn on their own, by the names of table and column, so that a column has the same errors whatever else
    is known. A drawn row may have the same value, so at most this share is wrong. Without errors it is the same table.
    """
    if share <= 0 or not table.rows:
        return table

    def change(name: str, column: ColumnData) -> ColumnData:
        return column.take(sources(table.rows, share, stream(seed, f"errors in {table.name} {name}")))

    return table.altered({spec.name: partial(change, spec.name) for spec in table.specs})


def sources(rows: int, share: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """The row from which each row takes its value: itself or, with probability `share`, any row of the table."""
    wrong = rng.random(rows) < share
    return np.where(wrong, rng.integers(rows, size=rows), np.arange(rows)).astype(np.intp)
