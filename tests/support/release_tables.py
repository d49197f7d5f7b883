"""Tables with a release in decades, of which singling out and formal criteria are asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cvpl

COLUMNS = {
    "who": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "town": {"role": "quasi_identifier", "type": "category"},
    "job": {"role": "quasi_identifier", "type": "category"},
    "pay": {"role": "attribute", "type": "numeric"},
    "sick": {"role": "sensitive"},
}
SETTINGS = {"columns": COLUMNS, "attacker": "paper", "canaries": False, "sensitivity": False, "singling_out": True}
EXACT = {"report": {"suppress_below": 1}}


def people(rng, rows, first=0):
    return pd.DataFrame(
        {
            "who": np.arange(first, first + rows),
            "age": rng.integers(20, 80, rows),
            "town": rng.choice(["n", "s", "e"], rows),
            "job": rng.choice(list("abcd"), rows),
            "pay": rng.normal(3000, 500, rows).round(),
            "sick": rng.choice(["yes", "no"], rows, p=[0.2, 0.8]),
        }
    )


@pytest.fixture(scope="module", name="tables")
def made_tables():
    """Originals, a release in which ages are decades and pay is gone noisy, and a control."""
    rng = np.random.default_rng(11)
    original, control = people(rng, 240), people(rng, 240, 1000)
    released = original.assign(age=[f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in original.age])
    released = released.assign(pay=(original.pay + rng.normal(0, 200, 240)).round())
    return original, released, control


def audited(tables, more=None, **arguments):
    original, released, control = tables
    return cvpl.audit(original, released, SETTINGS | (more or {}), control=control, **arguments)
