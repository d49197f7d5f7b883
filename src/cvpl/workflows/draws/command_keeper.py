"""Runs a command, and ends with it everything that it started: a program of its own, which imports nothing of cvpl.

`run_command` starts it and holds the other end of its standard input. When the command ends, or when that end is
closed, as it is if cvpl ends or is killed, every descendant of this program is killed.

On Linux orphans below this program are handed to it, so that a process which left its process group and lost its
parent (`setsid`, a double fork) still is a descendant. Elsewhere such a process is lost. Nothing finds what another
program starts on the command's behalf, such as a container, a timer or a service.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 5.0
"""Seconds after which processes that cannot be killed, such as another user's, are left alone."""
_POLL = 0.05
_PROCESSES = Path("/proc")
_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""


def main(status: int, words: Sequence[str]) -> None:
    """Run a command to its end or to that of standard input, and write how it ended to the descriptor `status`.

    That is `code 3`, negative for a signal, or `errno 2` if it could not be started.
    """
    _adopt_orphans()
    try:
        process = subprocess.Popen(list(words), stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 - the user's own command
    except OSError as error:
        _tell(status, f"errno {error.errno or 0}")
        return
    codes: dict[int, int] = {}
    while process.pid not in codes and not select.select([0], [], [], _POLL)[0]:
        _reap(codes)
    _end_all(process.pid, codes)
    _tell(status, f"code {codes.get(process.pid, -signal.SIGKILL)}")


def _tell(status: int, how: str) -> None:
    with suppress(OSError):
        os.write(status, how.encode())


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only there

        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)


def _reap(codes: dict[int, int]) -> None:
    """Take note of every child that has ended, adopted ones too."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            codes[ended[0]] = os.waitstatus_to_exitcode(ended[1])


def _end_all(group: int, codes: dict[int, int]) -> None:
    """Kill the process group of the command, and all descendants until there are none."""
    _kill(group, whole_group=True)
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE:
        _reap(codes)
        found = descendants(os.getpid(), parents())
        if not found:
            return
        for pid in found:
            _kill(pid)
        time.sleep(0.005)


def _kill(pid: int, *, whole_group: bool = False) -> None:
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if whole_group else os.kill)(pid, signal.SIGKILL)


def descendants(pid: int, parent_of: Mapping[int, int]) -> list[int]:
    """All processes below `pid`."""
    found, level = set[int](), {pid}
    while level:
        level = {child for child, parent in parent_of.items() if parent in level} - found
        found |= level
    return sorted(found - {pid})


def parents() -> dict[int, int]:
    """The parent of every process that runs here."""
    if not (_PROCESSES / "self" / "stat").exists():
        return _listed_parents()
    found = {}
    for entry in os.listdir(_PROCESSES):  # noqa: PTH208 - names alone, often
        if entry.isdecimal():
            with suppress(OSError):  # ended meanwhile
                # After the name, which is in brackets and may hold anything: the state and the parent.
                fields = (_PROCESSES / entry / "stat").read_bytes().rpartition(b")")[2].split()
                found[int(entry)] = int(fields[1])
    return found


def _listed_parents() -> dict[int, int]:
    """The parent of each process where there is no /proc, as on macOS."""
    try:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)  # noqa: S607 - wherever it is
    except (OSError, subprocess.CalledProcessError):
        return {}
    lines = [line.split() for line in listed.stdout.splitlines()]
    # `ps` itself is below this program, and has ended.
    return {int(pid): int(parent) for pid, parent in lines if _is_there(int(pid))}


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
