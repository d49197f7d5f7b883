"""Sampling units of an interval.

If the table declares that rows belong together (a household, an account, a person with several rows), whole groups are
the units. Otherwise, with 20 blocks or more, blocks are: their records share candidates. Otherwise single people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Kind = Literal["people", "blocks", "groups"]

FEWEST_BLOCKS = 20


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of every original and control, in one numbering; None if each record is its own unit."""

    kind: Kind
    original: Ints | None = None
    control: Ints | None = None


EACH = Units("people")


def choose_units(blocks: Sequence[Ints] | None, groups: Sequence[Ints] | None) -> Units:
    """The units for originals and, where there is a second array, controls.

    `blocks` is None if blocks do not separate candidates (several schemes), `groups` is None if no rows belong
    together. Groups take precedence over blocks. Fewer than 20 blocks with originals are too few.
    """
    if groups is not None:
        return _units("groups", groups)
    if blocks is not None and len(np.unique(blocks[0])) >= FEWEST_BLOCKS:
        return _units("blocks", blocks)
    return EACH


def _units(kind: Kind, codes: Sequence[Ints]) -> Units:
    joined = np.unique(np.concatenate(list(codes)), return_inverse=True)[1].reshape(-1).astype(np.int64)
    parts = np.split(joined, np.cumsum([len(part) for part in codes])[:-1])
    return Units(kind, parts[0], parts[1] if len(parts) > 1 else None)
