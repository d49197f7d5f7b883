"""Tables drawn from one population."""

from __future__ import annotations

import numpy as np
import pandas as pd


def drawn(seed, size=200):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "city": rng.choice(["north", "south", "east"], size),
            "age": rng.integers(18, 80, size).astype(float),
            "pay": rng.integers(100, 400, size).astype(float),
        }
    )
