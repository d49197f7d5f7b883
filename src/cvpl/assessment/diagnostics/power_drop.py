"""The drop of power at 5% when a column is removed: the figure that shows which column to coarsen.

    drop = power of the attacker - power of the same attacker without the column

Power at 5% is the true-positive rate at a 5% false-positive rate. Both use the same people, at most 2,000 originals and
2,000 controls, in the same blocks; fewer if densities are summed over a large release. The linkage rate may rise when
a column is removed, since fewer features make more look-alikes; power is relative to the control, where this cancels
out. The spread comes from resampling people with their scores fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.evaluation.attack_rates import searched_base
from cvpl.evaluation.control import FALSE_RATE, power_at
from cvpl.evaluation.measurement import Measurement
from cvpl.operators.vectorization import ColumnChoice
from cvpl.randomness import stream
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]
Scores = tuple[Floats, Floats]

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
    """Every column's drop, over `asked` originals."""

    by_column: Mapping[str, PowerDrop]
    asked: int


def most_asked(attacker: Attacker, released: int) -> int:
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
    shared = SharedWork()
    whole = _scores(done, done.attacker, inputs, shared)
    if whole is None:
        return None
    rng = stream(done.seed, "power drops")
    drawn = [tuple(rng.integers(len(side), size=len(side)) for side in whole) for _ in range(REPLICATES)]
    powers = [_power(whole, rows) for rows in drawn]
    found = {}
    tried = compared[:MOST_COLUMNS]
    for number, column in enumerate(tried, start=1):
        if progress is not None:
            progress(number / (1 + len(tried)))
        without = _scores(done, _without(done.attacker, column), inputs, shared)
        assert without is not None  # noqa: S101 - as with the column
        spread = [power - _power(without, rows) for power, rows in zip(powers, drawn, strict=True)]
        low, high = np.quantile(spread, (0.025, 0.975))
        found[column] = PowerDrop(_power(whole) - _power(without), float(low), float(high))
    return PowerDrops(found, len(whole[0]))


def _without(attacker: Attacker, column: str) -> Attacker:
    choices = {**attacker.vectorization.columns, column: ColumnChoice(vectorize=False)}
    vectorization = attacker.vectorization.model_copy(update={"columns": choices})
    return attacker.model_copy(update={"vectorization": vectorization})


def _scores(done: Attack, attacker: Attacker, inputs: Inputs, shared: SharedWork) -> Scores | None:
    """The evidence of some originals, and of the controls or, without any, of the originals without their match."""
    most = most_asked(attacker, inputs.pair.protected.rows)
    shared.keep_for([WorkKeys.of(attacker, most)])
    again = attack(
        inputs.pair, attacker, seed=done.seed, budget=done.budget, levers=done.levers, most=most, shared=shared
    )
    base = searched_base(again, inputs.evaluation.matches)
    return None if base is None else (again.scores, base)


def _power(scores: Scores, rows: tuple[NDArray[np.int64], ...] | None = None) -> float:
    mine, base = scores if rows is None else (scores[0][rows[0]], scores[1][rows[1]])
    return power_at(mine, base, FALSE_RATE)
