"""A command that makes a release, run without a shell, with everything that it starts ended with it.

Its output may contain cells of the table. It goes to files that only this user can read, and is never printed.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from cvpl.errors import UsageError
from cvpl.workflows.draws import command_keeper
from cvpl.workflows.draws.making import STDERR, STDOUT, ReleaseNotMade

INPUT, OUTPUT, SEED, STRENGTH = "{input}", "{output}", "{seed}", "{strength}"
"""What a command has in place of the table, of the release to write, of a number to seed its randomness, and of a
strength."""
_SHELL = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"})
"""Words that only a shell understands."""
_POLL = 0.05
"""Seconds between two looks at a running command."""
_Wait = Callable[["subprocess.Popen[bytes]"], None]


class CommandStopped(Exception):  # noqa: N818 - the caller ends, which is no error of the command
    """The command was ended because its caller is."""


class CommandTimeout(Exception):  # noqa: N818 - reported as ReleaseNotMade
    """The command took longer than allowed, and was ended."""


@dataclass(frozen=True)
class CommandMechanism:
    """A command that makes releases, by its words; it may take `timeout` seconds for one."""

    words: tuple[str, ...]
    timeout: float | None = None

    def __post_init__(self) -> None:
        """Refuse a timeout that is none."""
        if self.timeout is not None and not (math.isfinite(self.timeout) and self.timeout > 0):
            raise UsageError(f"timeout is {self.timeout}; allowed is a number of seconds above 0.")

    @property
    def takes_strength(self) -> bool:
        """Whether {strength} is in the command."""
        return any(STRENGTH in word for word in self.words)

    def release(
        self, table: Path, folder: Path, seed: int, stop: threading.Event, strength: object | None = None
    ) -> Path:
        """Make a release of `table` in `folder`, in the table's format; what the command prints is kept there too.

        Raises ReleaseNotMade if it fails or writes nothing, and CommandStopped once `stop` is set.
        """
        release = folder / f"release{_ending(table)}"
        try:
            code = run_command(filled(self.words, table, release, seed, strength), folder, self.timeout, stop)
        except CommandTimeout:
            reason = f"the command did not end within {self.timeout:g} seconds, and was killed"
            raise ReleaseNotMade(reason, timed_out=True) from None
        except OSError as error:
            why = error.strerror or "the system refused"
            raise ReleaseNotMade(f"the command '{self.words[0]}' could not be started: {why.lower()}") from None
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            raise ReleaseNotMade(f"the command {how}", exit_code=code)
        if not release.is_file() or not release.stat().st_size:
            wrote = "an empty file" if release.is_file() else "nothing"
            raise ReleaseNotMade(f"the command ended with exit code 0 and wrote {wrote} to {OUTPUT}", exit_code=0)
        return release


def is_command(text: str) -> bool:
    """Whether a mechanism's text is meant as a command: it has a place in braces."""
    return "{" in text


def split_command(text: str) -> tuple[str, ...]:
    """The words of a command. Raises UsageError if it cannot be split, needs a shell, or lacks {input} or {output}."""
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise UsageError("mechanism: the command has a quote that is not closed. Close it.") from None
    if shell := next((word for word in words if word in _SHELL), None):
        raise UsageError(
            f"mechanism: the command has '{shell}' in it, but it runs without a shell. Write the steps into a script, "
            f'or pass them to a shell as one word: sh -c "... {INPUT} ... {OUTPUT} ..."'
        )
    lacking = [part for part in (INPUT, OUTPUT) if not any(part in word for word in words)]
    if lacking:
        raise UsageError(
            f"mechanism: the command lacks {' and '.join(lacking)}. Write {INPUT} where it reads the table, {OUTPUT} "
            f"where it writes the release, and {SEED} where it takes a seed."
        )
    return words


def filled(words: Sequence[str], table: Path, release: Path, seed: int, strength: object | None = None) -> list[str]:
    """The words with the table, the release, the seed and, if there is one, the strength in place."""
    values = {INPUT: str(table), OUTPUT: str(release), SEED: str(seed)}
    if strength is not None:
        values[STRENGTH] = str(strength)
    # In one pass, so that nothing is filled into a path or a strength.
    places = re.compile("|".join(map(re.escape, values)))
    return [places.sub(lambda found: values[found.group()], word) for word in words]


def run_command(words: Sequence[str], folder: Path, timeout: float | None, stop: threading.Event) -> int:
    """Run a command, and return its exit code; its output is in two files in `folder`.

    It and all that it starts are killed when the command ends, takes longer than `timeout` seconds, `stop` is set, or
    this process ends in whatever way. Raises CommandTimeout, CommandStopped, or OSError if it cannot be started.
    """
    run = _run_kept if os.name == "posix" and sys.executable else _run_alone
    with (folder / STDOUT).open("wb") as out, (folder / STDERR).open("wb") as err:
        return run(words, out, err, partial(_wait, timeout=timeout, stop=stop))


def _run_kept(words: Sequence[str], out: IO[bytes], err: IO[bytes], wait: _Wait) -> int:
    """Run a command below a keeper, which ends when its standard input is closed, and everything below it first."""
    reading_end, writing_end = os.pipe()
    call = [sys.executable, "-I", "-S", command_keeper.__file__, str(writing_end), *words]
    with os.fdopen(reading_end, "rb") as status:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                call, stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True, pass_fds=(writing_end,)
            )
        finally:
            os.close(writing_end)
        try:
            wait(process)
        finally:
            _end_keeper(process)
        kind, _, number = status.read().decode().partition(" ")
    if kind == "errno":
        raise OSError(int(number), os.strerror(int(number)))
    return int(number) if kind == "code" else process.returncode or -signal.SIGKILL


def _end_keeper(process: subprocess.Popen[bytes]) -> None:
    """Have a keeper end everything below it; one that does not end is killed itself."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(command_keeper.PATIENCE + 1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run_alone(words: Sequence[str], out: IO[bytes], err: IO[bytes], wait: _Wait) -> int:
    """Run a command where there is no keeper, as on Windows: the command alone is killed."""
    process = subprocess.Popen(list(words), stdin=subprocess.DEVNULL, stdout=out, stderr=err)  # noqa: S603 - as above
    try:
        wait(process)
    finally:
        process.kill()
        process.wait()
    return process.returncode


def _wait(process: subprocess.Popen[bytes], *, timeout: float | None, stop: threading.Event) -> None:
    """Wait for the end of a process. Raises CommandTimeout or CommandStopped if it is to end before."""
    began = time.monotonic()
    while process.poll() is None:
        if stop.is_set():
            raise CommandStopped
        if timeout is not None and time.monotonic() - began > timeout:
            raise CommandTimeout
        stop.wait(_POLL)


def _ending(table: Path) -> str:
    """The file extension of a table; `.csv.gz` is kept whole."""
    ending = table.suffix
    return Path(table.stem).suffix + ending if ending.lower() == ".gz" else ending
