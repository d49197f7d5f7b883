"""Class sizes where a suppressed cell may have any value, as sdcMicro counts them.

ARX and pycanon take a suppressed cell for a value of its own; sdcMicro lets it match every value. Its classes are never
smaller, so k is never smaller either.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import Codes, combined_codes

Ints = NDArray[np.int64]

MOST_COMPARED = 100_000_000
"""The most records compared over all pairs of patterns of suppression; beyond it the sizes are not computed."""


def compatible_sizes(columns: Sequence[Codes], rows: int) -> Ints | None:
    """For each record, the number of records, itself included, that agree in every column that both of them know.

    A code of -1 agrees with every value. Records are compared pattern by pattern: records that know the same columns
    have one pattern. None if there are too many patterns (`MOST_COMPARED`).
    """
    known = combined_codes([(codes >= 0).astype(np.int32) for codes in columns], rows)
    patterns = [np.flatnonzero(known == pattern) for pattern in range(int(known.max(initial=-1)) + 1)]
    if len(patterns) * rows > MOST_COMPARED:
        return None
    if len(patterns) == 1:
        keys = combined_codes([codes for codes in columns if codes[0] >= 0], rows)
        return np.bincount(keys)[keys]
    sizes = np.zeros(rows, dtype=np.int64)
    for mine in patterns:
        for theirs in patterns:
            both = [codes for codes in columns if codes[mine[0]] >= 0 and codes[theirs[0]] >= 0]
            together = np.concatenate([mine, theirs])
            keys = combined_codes([codes[together] for codes in both], len(together))
            counts = np.bincount(keys[len(mine) :], minlength=int(keys.max()) + 1)
            sizes[mine] += counts[keys[: len(mine)]]
    return sizes
