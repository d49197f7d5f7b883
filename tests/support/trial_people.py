"""A small table whose rows trials draw, and its configuration."""

from __future__ import annotations

import numpy as np
import pandas as pd

PEOPLE = 200
CONFIG = {
    "columns": {
        "who": {"role": "id"},
        "city": {"role": "quasi_identifier", "type": "category", "block": "exact", "recoded": False},
        "age": {"role": "quasi_identifier", "type": "numeric", "recoded": False},
        "pay": {"role": "attribute", "type": "numeric", "recoded": False},
    },
    "attacker": "paper",
    "canaries": False,
}


def drawn(size=PEOPLE, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(size),
            "city": rng.choice(list("abcdef"), size),
            "age": rng.integers(18, 80, size),
            "pay": rng.normal(100, 20, size).round(2),
        }
    )
