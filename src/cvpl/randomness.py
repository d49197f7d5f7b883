"""Named random streams: one seed, and a separate stream for each purpose.

A new purpose never changes the draws of another, and no two purposes share a stream.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator for `purpose` under `seed`; every call returns the same stream."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(zlib.crc32(purpose.encode()),)))
