"""The choice between numpy and compiled loops."""

from __future__ import annotations

import sys

RECORDS = 200_000
"""The number of records that takes numpy as long as Numba takes to load."""


def worth_it(records: int, enough: int = RECORDS) -> bool:
    """Whether the compiled loops save time for this number of records; once Numba is loaded, they always do."""
    return records >= enough or "numba" in sys.modules
