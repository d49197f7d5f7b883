"""The drop of power at 5% when a column is removed: the figure that shows which column to coarsen.

    drop = power of the attacker - power of the same attacker without the column

Power at 5% is the true-positive rate at a 5% false-positive rate. Both use the same people, at most 2,000 originals and
2,000 controls, in the same blocks; fewer if densities are summed over a large release. The linkage rate may rise when
a column is removed, since fewer features make more look-alikes; power is relative to the control, where this cancels
out. The spread comes from resampling people with their scores fixed.

Without a control the power is relative to the originals without their own match, which is blind to releases of equal
records. The drop of the top-1 hit rate is computed beside it:

    drop = top-1 hit rate of the attacker - that of the same attacker without the column
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.several_attackers import for_each
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.people_draw import Drawn
from cvpl.attack.shared_work import SharedWork
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import power_at, searched_base
from cvpl.evaluation.truth import evaluate_truth
from cvpl.operators.vectorization import ColumnChoice
from cvpl.randomness import stream
from cvpl.search.machine import Budget
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class _Found:
    """The scores of originals and of those that they are compared with, and the hits; None with a control.

    `people` are the tables and rows of both sides, `matched` the rows whose hits are known.
    """

    sides: Scores
    hits: Floats | None
    people: tuple[tuple[Drawn, Ints], tuple[Drawn, Ints]]
    matched: Ints


ASKED = 2_000
FEWEST_ASKED = 500
DENSITIES = 100_000_000
"""The most pairs whose densities are summed for one column; fewer people are asked if needed, but at least 500: a
power then has a standard error of about two points, and that of a difference over the same people is smaller."""
REPLICATES = 100
MOST_COLUMNS = 40
"""Columns beyond this number are not tried."""


@dataclass(frozen=True)
class PowerDrop:
    """One column's drop, and the middle 95% of it over resampled people."""

    drop: float
    low: float
    high: float


@dataclass(frozen=True)
class PowerDrops:
    """Every column's drop, over `asked` originals.

    Without a control, `hits` has the drops of the top-1 hit rate, over the `matched` of them whose match is known.
    """

    by_column: Mapping[str, PowerDrop]
    asked: int
    hits: Mapping[str, PowerDrop]
    matched: int | None


def max_queries(attacker: Attacker, released: int) -> int:
    """The most originals, and the most controls, that are searched in `released` records without each column."""
    if attacker.evidence != "density":
        return ASKED
    return min(ASKED, max(FEWEST_ASKED, DENSITIES // max(1, released)))


def power_drops(
    measured: Measurement, inputs: Inputs, progress: Callable[[float], None] | None = None
) -> PowerDrops | None:
    """The drops of the measured attacker; None without power, with a single column, and if nothing can be refitted.

    A column used only for blocking is not compared and has no drop. `progress` is called with the share of the columns.
    """
    done = measured.attack
    compared = done.attacker.vectorization.compared(done.original)
    refitted = done.representation.maps_others and done.attacker.projection_operator.saved_file is None
    if measured.power is None or len(compared) < 2 or not refitted:
        return None
    tried = compared[:MOST_COLUMNS]
    attackers = [done.attacker, *(_without(done.attacker, column) for column in tried)]
    released = inputs.pair.protected.rows
    searched = for_each(
        attackers,
        lambda attacker, shared, budget: _scores(done, attacker, inputs, shared, budget),
        most=lambda attacker: max_queries(attacker, released),
        released=released,
        budget=done.budget,
    )
    whole = next(searched)
    if whole is None:
        return None
    rng = stream(done.seed, "power drops")
    drawn = [tuple(done.draw.resample(*side, rng) for side in whole.people) for _ in range(REPLICATES)]
    powers = [_power(whole.sides, rows) for rows in drawn]
    rng = stream(done.seed, "top-1 drops")
    again = (
        [] if whole.hits is None else [done.draw.resample("original", whole.matched, rng) for _ in range(REPLICATES)]
    )
    found, hits = {}, {}
    for number, (column, without) in enumerate(zip(tried, searched, strict=True), start=2):
        if progress is not None:
            progress(number / len(attackers))
        assert without is not None  # noqa: S101 - as with the column
        spread = [power - _power(without.sides, rows) for power, rows in zip(powers, drawn, strict=True)]
        found[column] = _drop(_power(whole.sides) - _power(without.sides), spread)
        if whole.hits is not None and without.hits is not None:
            lost = whole.hits - without.hits
            hits[column] = _drop(float(lost.mean()), [float(lost[rows].mean()) for rows in again])
    return PowerDrops(found, len(whole.sides[0]), hits, None if whole.hits is None else len(whole.hits))


def _drop(drop: float, spread: Sequence[float]) -> PowerDrop:
    low, high = np.quantile(spread, (0.025, 0.975))
    return PowerDrop(drop, float(low), float(high))


def _without(attacker: Attacker, column: str) -> Attacker:
    choices = {**attacker.vectorization.columns, column: ColumnChoice(vectorize=False)}
    vectorization = attacker.vectorization.model_copy(update={"columns": choices})
    return attacker.model_copy(update={"vectorization": vectorization})


def _scores(done: Attack, attacker: Attacker, inputs: Inputs, shared: SharedWork, budget: Budget) -> _Found | None:
    """The evidence of some originals, and of the controls or, without any, of the originals without their match.

    Without a control also whether the best candidate is right, for the originals with a known match.
    """
    most = max_queries(attacker, inputs.pair.protected.rows)
    again = attack(
        inputs.pair,
        attacker,
        seed=done.seed,
        budget=budget,
        levers=done.levers,
        most=most,
        shared=shared,
        draw=done.draw,
    )
    base = searched_base(again, inputs.evaluation.matches)
    if base is None:
        return None
    hits, matched = None, again.people[:0]
    if again.control is None and inputs.evaluation.matches is not None:
        truth = evaluate_truth(again, inputs.evaluation.matches)
        hits, matched = truth.hit[truth.has_match], again.people[truth.has_match]
    others: tuple[Drawn, Ints] = ("original", again.people)
    if again.control is not None:
        others = "control", again.control_rows
    return _Found((again.scores, base), hits, (("original", again.people), others), matched)


def _power(scores: Scores, rows: tuple[NDArray[np.int64], ...] | None = None) -> float:
    mine, base = scores if rows is None else (scores[0][rows[0]], scores[1][rows[1]])
    return power_at(mine, base, FALSE_RATE)
