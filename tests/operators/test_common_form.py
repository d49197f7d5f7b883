"""The common form in which attackers compare both tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl

PEOPLE = 400
CONFIG = {
    "columns": {
        "admitted": {"role": "quasi_identifier", "type": "datetime", "features": ["elapsed_days"]},
        "discharged": {"role": "quasi_identifier", "type": "datetime", "features": ["elapsed_days"]},
        "weight": {"role": "attribute", "type": "numeric"},
    },
    "attacker": "default",
    "canaries": False,
    "sensitivity": False,
    "seed": 1,
}


def stays(count: int, rng: np.random.Generator, unit: str) -> pd.DataFrame:
    """Two times for everybody, and a number that tells nobody apart."""
    steps = {"s": 86_400, "h": 24}[unit]
    admitted = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700 * steps, count), unit=unit)
    discharged = admitted + pd.to_timedelta(rng.integers(steps, 20 * steps, count), unit=unit)
    return pd.DataFrame({"admitted": admitted, "discharged": discharged, "weight": rng.integers(0, 5, count)})


@pytest.mark.parametrize(
    ("unit", "cut", "seen"), [("s", "s", True), ("s", "min", True), ("s", "D", False), ("h", "h", False)]
)
def test_the_time_of_day_outlasts_a_shift_by_whole_days(unit, cut, seen):
    """Times are shifted by days of their own, so differences change too; whole hours tell hardly anybody apart."""
    rng = np.random.default_rng(4)
    everybody = stays(3 * PEOPLE, rng, unit)
    original, control = everybody.iloc[:PEOPLE], everybody.iloc[PEOPLE:]
    released = original.sample(frac=1, random_state=2)
    for name in ("admitted", "discharged"):
        released[name] += pd.to_timedelta(np.rint(150 * rng.normal(size=PEOPLE)), unit="D")
        released[name] = released[name].dt.floor(cut)
    found = cvpl.audit(original, released, CONFIG, control=control, attackers=["differences"])
    power = next(one.power for one in found.attackers[0].power if one.false_rate == 0.05)
    assert power > 0.95 if seen else power < 0.5
    grains = {one.column: one.grain for one in found.alignment}
    assert ("time of admitted" in grains) == seen


def test_released_numbers_that_differ_in_their_last_bit_are_one():
    """0.3 and 0.1 + 0.2 in one column ended an audit with an internal error."""
    rng = np.random.default_rng(0)
    original, control = (
        pd.DataFrame({"x": np.round(3 * rng.normal(size=count), 3), "y": rng.normal(size=count).round(3)})
        for count in (200, 400)
    )
    released = original.assign(x=(np.round(original.x, 1) * 10).round() * 0.1)
    released.loc[::2, "x"] = released.x[::2].round(1)
    assert {0.3, 0.1 * 3} <= set(released.x)
    columns = {name: {"role": "quasi_identifier", "type": "numeric"} for name in ("x", "y")}
    found = cvpl.audit(
        original, released, {"columns": columns, "attacker": "default"}, control=control, attackers=["nearest"]
    )
    assert found.risk.low > 0.5
