"""A small table that commands protect, and its configuration."""

from __future__ import annotations

import numpy as np
import pandas as pd

CONFIG = {
    "columns": {
        "who": {"role": "id"},
        "city": {"role": "quasi_identifier", "type": "category", "recoded": False},
        "age": {"role": "quasi_identifier", "type": "numeric", "recoded": False},
        "pay": {"role": "attribute", "type": "numeric", "recoded": False},
    },
    "attackers": {"main": {"preset": "paper", "blocking": "none"}},
    "canaries": False,
}


def drawn(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(200) + 1000 * seed,
            "city": rng.choice(list("abcdef"), 200),
            "age": rng.integers(18, 80, 200),
            "pay": rng.normal(100, 20, 200).round(2),
        }
    )
