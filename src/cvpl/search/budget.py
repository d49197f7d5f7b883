"""The resources of a search."""

from __future__ import annotations

from dataclasses import dataclass, field

from cvpl.search.machine import usable_cores, usable_memory

IN_PROCESS = "in_process"
"""The name of the engine that searches in this process."""
TILE_BYTES = 4 << 20
_GROUP_SHARE = 4
GROUP_BYTES = 1 << 30
_ALIVE = 6
"""The approximate number of tile-sized arrays that a task holds."""


def usual_memory() -> int:
    """Three quarters of what this process may use; 4 GiB where nothing says how much that is."""
    usable = usable_memory()
    return 4 << 30 if usable is None else usable * 3 // 4


@dataclass(frozen=True)
class Budget:
    """Bytes for the whole audit, threads (by default one for each core that may be used), and the engine that searches.

    What is found never depends on any of them; see `cvpl.search.engine`.
    """

    memory: int = field(default_factory=usual_memory)
    threads: int | None = None
    engine: str = IN_PROCESS

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self.threads or usable_cores()

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile of scores."""
        return max(1 << 14, min(TILE_BYTES, self.memory // (_GROUP_SHARE * _ALIVE * self.workers)))

    @property
    def group_bytes(self) -> int:
        """Bytes for the vectors and trees of the blocks searched at a time."""
        return max(1 << 16, min(GROUP_BYTES, self.memory // _GROUP_SHARE))
