"""A command that makes a release, run without a shell, with everything that it starts ended with it.

Its output may contain cells of the table. It goes to files that only this user can read, and is never printed.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from cvpl.errors import UsageError
from cvpl.files import write_whole

INPUT, OUTPUT, SEED = "{input}", "{output}", "{seed}"
"""What a command has in place of the table, of the release to write, and of a number to seed its randomness."""
STDOUT, STDERR = "stdout.txt", "stderr.txt"
_POLL = 0.05
"""Seconds between two looks at a running command."""


class CommandStopped(Exception):  # noqa: N818 - the trial ends, which is no error of the command
    """The command was ended because the trial is."""


class CommandTimeout(Exception):  # noqa: N818 - reported with its round
    """The command took longer than allowed, and was ended."""


def split_command(text: str) -> tuple[str, ...]:
    """The words of a command. Raises UsageError if it cannot be split, or lacks {input} or {output}."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise UsageError("mechanism: the command has a quote that is not closed. Close it.") from None
    lacking = [part for part in (INPUT, OUTPUT) if not any(part in word for word in words)]
    if lacking:
        raise UsageError(
            f"mechanism: the command lacks {' and '.join(lacking)}. Write {INPUT} where it reads the table, {OUTPUT} "
            f"where it writes the release, and {SEED} where it takes a seed."
        )
    return words


def filled(words: Sequence[str], table: Path, release: Path, seed: int) -> list[str]:
    """The words with the table, the release and the seed in place."""
    values = {INPUT: str(table), OUTPUT: str(release), SEED: str(seed)}
    found = []
    for word in words:
        for part, value in values.items():
            word = word.replace(part, value)  # noqa: PLW2901 - filled step by step
        found.append(word)
    return found


def run_command(words: Sequence[str], folder: Path, timeout: float | None, stop: threading.Event) -> int:
    """Run a command, and return its exit code; its output is in two files in `folder`.

    It runs in a process group of its own, which is killed when the command ends, takes longer than `timeout` seconds,
    or the trial stops. Raises CommandTimeout, CommandStopped, or OSError if it cannot be started.
    """
    with (folder / STDOUT).open("wb") as out, (folder / STDERR).open("wb") as err:
        process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
            list(words), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        began = time.monotonic()
        try:
            while not _ended(process):
                if stop.is_set():
                    raise CommandStopped
                if timeout is not None and time.monotonic() - began > timeout:
                    raise CommandTimeout
                stop.wait(_POLL)
        finally:
            _end(process)
    return process.returncode


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the command has ended. It is not reaped yet, so its number is still that of its process group."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is still running of the command and of all that it started, and reap it."""
    if hasattr(os, "killpg"):
        # The group may outlive its first process: a command may leave others in the background.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def keep_output(folder: Path, into: Path | None) -> None:
    """Keep what a command printed in the folder `into`, for this user only; nothing is kept if it is None."""
    if into is None:
        return
    for name in (STDOUT, STDERR):
        if (folder / name).is_file() and (folder / name).stat().st_size:
            into.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(into / name, (folder / name).read_bytes(), owner_only=True)
