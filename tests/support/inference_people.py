"""People of whom an attribute can be inferred, and settings to audit them."""

from __future__ import annotations

import numpy as np
import pandas as pd

COLUMNS = {
    "who": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "town": {"role": "quasi_identifier", "type": "category"},
    "pay": {"role": "attribute", "type": "numeric"},
    "noise": {"role": "attribute", "type": "category"},
    "sick": {"role": "sensitive"},
}
EXACT = {"report": {"suppress_below": 1}}
SETTINGS = {"columns": COLUMNS, "attacker": "paper", "canaries": False, "sensitivity": False, "inference": True}


def people(rng, rows, first=0):
    """Ages above 50 are sick more often; pay tells people apart."""
    age = rng.integers(20, 80, rows)
    sick = np.where(rng.random(rows) < 0.1 + 0.4 * (age > 50), "yes", "no")
    return pd.DataFrame(
        {
            "who": np.arange(first, first + rows),
            "age": age,
            "town": rng.choice(["n", "s", "e"], rows),
            "pay": rng.permutation(np.arange(rows) * 10 + 1000),
            "noise": rng.choice(list("abcdef"), rows),
            "sick": sick,
        }
    )
