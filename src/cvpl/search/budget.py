"""What a search may use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

IN_PROCESS = "in_process"
"""The name of the engine that searches in this process."""
_TILE_BYTES = 4 << 20
_GROUP_SHARE = 4
_GROUP_BYTES = 1 << 30
_ALIVE = 6
"""A task that works on tiles holds about so many arrays of their size."""


def usual_memory() -> int:
    """Three quarters of what the machine has; 4 GiB where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4
    except (AttributeError, ValueError, OSError):
        return 4 << 30


@dataclass(frozen=True)
class Budget:
    """Bytes for the whole audit, threads (by default one a core), and the engine that searches (`cvpl.search.engine`).

    What is found never depends on any of them.
    """

    memory: int = field(default_factory=usual_memory)
    threads: int | None = None
    engine: str = IN_PROCESS

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
        return max(1 << 16, min(_GROUP_BYTES, self.memory // _GROUP_SHARE))
