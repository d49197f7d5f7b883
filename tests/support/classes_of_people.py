"""People in ten classes, and settings to audit their releases."""

from __future__ import annotations

import numpy as np
import pandas as pd

COLUMNS = {
    "who": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "town": {"role": "quasi_identifier", "type": "category"},
    "pay": {"role": "attribute", "type": "numeric"},
    "sick": {"role": "sensitive"},
}
SETTINGS = {
    "columns": COLUMNS,
    "attacker": {"alignment": "release", "blocking": "none", "similarity": "rarity"},
    "canaries": False,
    "sensitivity": False,
    "singling_out": True,
}
ROWS = 200


def people(seed, first=0):
    """Ten classes of twenty people by decade and town; the pay of each is nearly their own."""
    rng = np.random.default_rng(seed)
    at = np.arange(ROWS)
    return pd.DataFrame(
        {
            "who": np.arange(first, first + ROWS),
            "age": at % 5 * 10 + 20 + rng.integers(0, 10, ROWS),
            "town": np.where(at % 10 < 5, "n", "s"),
            "pay": rng.normal(3000, 500, ROWS).round(),
            "sick": rng.choice(["yes", "no"], ROWS),
        }
    )


def generalized(table):
    """Ages in decades: a release with k = 20 by its quasi-identifiers, in which pay is kept."""
    return table.assign(age=[f"{age // 10 * 10}-{age // 10 * 10 + 9}" for age in table.age])
