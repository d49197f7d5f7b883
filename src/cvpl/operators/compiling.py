"""When compiled loops are worth their loading time."""

from __future__ import annotations

import sys

RECORDS = 200_000
"""So many records take as long in numpy as Numba takes to load."""


def worth_it(records: int) -> bool:
    """Whether so many records repay loading the compiled loops; once they are loaded, any number does."""
    return records >= RECORDS or "cvpl.operators.compiled" in sys.modules
