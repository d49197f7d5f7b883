"""What this process may use of the machine: the memory and cores that are there, and the limits set on it.

A container, a batch job or a system service often may use less than the machine has. Linux keeps such limits in
control groups: in files of one tree (version 2), or of a tree for each resource (version 1). A group is also bound by
the groups around it, so all of them are read. Inside a container the path of a group may lead outside of what can be
seen there: groups that are not there are passed over, and the outermost that can be seen is the container's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path

ROOT = Path("/")
_OWN_GROUPS = "proc/self/cgroup"
_GROUPS = "sys/fs/cgroup"
_UNLIMITED = "max"


def usable_memory(root: Path = ROOT) -> int | None:
    """Bytes that this process may use: those of the machine, or of the tightest limit; None where nothing says.

    `root` is the folder under which `proc` and `sys` are looked for.
    """
    limits = [limit for limit in _memory_limits(root) if limit > 0]
    machine = _physical_memory()
    return min(limits if machine is None else [machine, *limits], default=None)


@cache
def usable_cores(root: Path = ROOT) -> int:
    """Cores that this process may use, at least one; a limit on a part of a core counts as the whole of it."""
    try:
        # Missing on macOS and Windows.
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, *(ceil(limit) for limit in _core_limits(root)), os.cpu_count() or allowed))


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _memory_limits(root: Path) -> Iterator[int]:
    for folder in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            if (limit := _numbers(folder / name)) is not None:
                yield limit[0]


def _core_limits(root: Path) -> Iterator[float]:
    """Microseconds of work allowed in a period, over the microseconds of the period."""
    for folder in _groups(root, "cpu"):
        both = _numbers(folder / "cpu.max")
        if both is None:
            quota, period = _numbers(folder / "cpu.cfs_quota_us"), _numbers(folder / "cpu.cfs_period_us")
            both = None if quota is None or period is None else [*quota, *period]
        # Version 1 says -1 where there is no limit.
        if both is not None and len(both) == 2 and min(both) > 0:
            yield both[0] / both[1]


def _groups(root: Path, resource: str) -> Iterator[Path]:
    """The folders of this process's groups for a resource in both versions, each with those around it."""
    try:
        lines = (root / _OWN_GROUPS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        resources, _, path = rest.partition(":")
        if resources and resource not in resources.split(","):
            continue
        top = root / _GROUPS / resources
        if resources and not top.is_dir():
            # Two resources of one tree, such as "cpu,cpuacct", may have a folder for each.
            top = root / _GROUPS / resource
        inner = top / path.strip().lstrip("/")
        yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(top))


def _numbers(file: Path) -> list[int] | None:
    """The whole numbers in a file; None where it is not there, sets no limit, or cannot be understood."""
    try:
        words = file.read_text(encoding="utf-8").split()
        return [int(word) for word in words] if words and _UNLIMITED not in words else None
    except (OSError, ValueError):
        return None
