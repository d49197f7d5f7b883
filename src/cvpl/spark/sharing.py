"""Which searches all tasks of a cluster share: those where that saves time.

One task searches with the cores of its machine. All tasks search with the cores of the cluster, but the records have to
be read once more and put in order, dealt out for each search, and sent once more to the task that evaluates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

Share = Literal["auto", "all", "none"]
Name = TypeVar("Name")

# Seconds of one core for a record, measured by `benchmarks/spark_cluster.py --share`.
_READ = 21e-6
_DEALT = 16e-6
_SENT = 11e-6
"""Sending is not spread: one task gets all records."""


@dataclass(frozen=True)
class Sharing:
    """What a user wants to be shared, and the cores of the cluster; what is found depends on neither."""

    wanted: Share
    cores: int

    def shared(self, seconds: Mapping[Name, float], records: int, here: int) -> list[Name]:
        """The searches to share, out of some that take so many `seconds` of one core.

        The tables have so many `records`, and one task has `here` cores.
        """
        if self.wanted != "auto":
            return list(seconds) if self.wanted == "all" else []
        saved = {name: (1 / here - 1 / self.cores) * taken for name, taken in seconds.items()}
        gains = {name: gain for name, taken in saved.items() if (gain := taken - _DEALT * records / self.cores) > 0}
        return list(gains) if sum(gains.values()) > (_READ / self.cores + _SENT) * records else []
