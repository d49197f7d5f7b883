"""What a search may use."""

from __future__ import annotations

import os
from dataclasses import dataclass

_TILE_BYTES = 4 << 20
_GROUP_SHARE = 4
_ALIVE = 6
"""A task that works on tiles holds about so many arrays of their size."""


@dataclass(frozen=True)
class Budget:
    """Bytes for the whole audit, and threads (None: one a core). What is found never depends on either."""

    memory: int = 4 << 30
    threads: int | None = None

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self.threads or os.cpu_count() or 1

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile of scores."""
        return max(1 << 14, min(_TILE_BYTES, self.memory // (_GROUP_SHARE * _ALIVE * self.workers)))

    @property
    def group_bytes(self) -> int:
        """Bytes for the vectors and trees of the blocks that are searched at a time."""
        return max(1 << 16, self.memory // _GROUP_SHARE)
