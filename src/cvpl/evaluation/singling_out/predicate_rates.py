"""How often predicates from the release single out one original, and one of as many people who are not in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, beyond_chance
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT
from cvpl.evaluation.intervals.shares import Component, ratio_bounds, sampling_design
from cvpl.evaluation.singling_out.predicate_columns import LabelGroups
from cvpl.evaluation.singling_out.predicates import (
    COLUMNS,
    WRITTEN,
    Predicate,
    QueryTable,
    SeenRelease,
    write_predicates,
)
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ends = tuple[float, float]

FEWEST = 20
"""With fewer predicates there is no interval."""


@dataclass(frozen=True)
class PredicateRate:
    """The predicates of one number of columns.

    `rate` is the share that exactly one original meets, `control` the share that exactly one of as many controls meets,
    `attributable` is (rate - control) / (1 - control). Intervals are None with fewer than 20 predicates; `control` and
    `attributable` are None without a control, and `attributable` also if every predicate singles out a control.
    """

    columns: int
    predicates: int
    rate: float
    interval: Ends | None
    control: float | None = None
    attributable: float | None = None
    attributable_interval: Ends | None = None


def predicate_rates(
    original: Table,
    released: Table,
    control: Table | None,
    rng: np.random.Generator,
    *,
    units: Ints | None = None,
    wanted: int = WRITTEN,
    confidence: float = CONFIDENCE,
) -> list[PredicateRate]:
    """Write predicates of one, two and three columns from the release, and test them; empty if there are none.

    `units` has the unit of every original, if several rows belong together. Intervals hold together: with several
    numbers of columns each has a higher confidence.
    """
    names = [spec.name for spec in released.specs if spec.name in original.columns]
    specs = {spec.name: spec for spec in released.specs}
    groups = [LabelGroups.of(specs[name], released.columns[name]) for name in names]
    release = SeenRelease.of(released, names, groups)
    written = {columns: write_predicates(release, columns, wanted, rng) for columns in COLUMNS}
    written = {columns: found for columns, found in written.items() if found}
    people = QueryTable(original, names, groups)
    others = None if control is None or not control.rows else QueryTable(control, names, groups)
    each = 1 - (1 - confidence) / max(1, len(written))
    return [predicate_outcomes(columns, found, people, others, units, each) for columns, found in written.items()]


def predicate_outcomes(
    columns: int,
    predicates: Sequence[Predicate],
    people: QueryTable,
    others: QueryTable | None,
    units: Ints | None,
    confidence: float,
) -> PredicateRate:
    """How often the predicates single out people and others."""
    hits, person = singled_out(predicates, people, units)
    rate = float(hits.mean())
    enough = len(predicates) >= FEWEST
    mine = Component(hits, person)
    drawn = sampling_design([mine], least=LEAST_EFFECT, alike=True)
    ends = drawn.cautious_ends(rate, len(hits), confidence) if enough else None
    if others is None:
        return PredicateRate(columns, len(predicates), rate, ends)
    base = among_as_many(predicates, others, people.rows)
    control = float(base.mean())
    attributable = None if control >= 1 else beyond_chance(rate, control)
    within = None
    if enough and attributable is not None:
        within = _attributable_ends(mine, Component(base), confidence)
    return PredicateRate(columns, len(predicates), rate, ends, control, attributable, within)


def singled_out(predicates: Sequence[Predicate], table: QueryTable, units: Ints | None = None) -> tuple[Floats, Ints]:
    """1 for each predicate that exactly one record meets, else 0; and the unit of each predicate.

    Predicates that single out the same person, or people of one of the `units`, are one unit; every other predicate is
    a unit of its own.
    """
    found = [table.meeting(predicate, 1) for predicate in predicates]
    hits = np.array([float(len(rows) == 1) for rows in found])
    own = np.arange(table.rows) if units is None else units
    person = np.array([own[rows[0]] if len(rows) == 1 else -1 - at for at, rows in enumerate(found)], dtype=np.int64)
    return hits, np.unique(person, return_inverse=True)[1].astype(np.int64).reshape(len(found))


def among_as_many(predicates: Sequence[Predicate], table: QueryTable, people: int) -> Floats:
    """For each predicate the probability that exactly one of `people` records of the table meets it.

    If c records of a larger table meet it, and each is kept with probability λ = people / rows, that is
    c λ (1 - λ)^(c - 1). A smaller table is taken as it is: a predicate that few people meet then singles one out less
    often than in a larger table, so the rate of the control is too low rather than too high.
    """
    smaller = table.rows <= people
    met = np.array([len(table.meeting(item, 1 if smaller else None)) for item in predicates], dtype=np.float64)
    if smaller:
        return np.asarray(met == 1, dtype=np.float64)
    share = people / table.rows
    kept: Floats = np.where(met > 0, met * share * (1 - share) ** np.maximum(met - 1, 0), 0.0)
    return kept


def _attributable_ends(mine: Component, base: Component, confidence: float) -> Ends:
    """Ends for 1 - (1 - rate) / (1 - control), from the ends of the two rates."""
    rate, control = float(mine.success.mean()), float(base.success.mean())
    weight = (1 - rate) / (1 - control)
    one, other = Component(mine.success, mine.unit), Component(base.success, None, -weight)
    drawn = sampling_design([one], least=LEAST_EFFECT, alike=True)
    plain = sampling_design([other], least=LEAST_EFFECT)
    ends = (
        drawn.cautious_ends(rate, len(mine.success), confidence),
        plain.ends(control, len(base.success), confidence),
    )
    top, bottom = ((1 - item, 1 - high, 1 - low) for item, (low, high) in zip((rate, control), ends, strict=True))
    low, high = ratio_bounds(top, bottom)
    return 1 - high, 1 - low
