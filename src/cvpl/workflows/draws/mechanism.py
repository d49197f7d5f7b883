"""What makes releases: a command run without a shell, a Python function, or a built-in mechanism.

A command that makes a release, run without a shell, with everything that it starts ended with it. Its output may
contain cells of the table. It goes to files that only this user can read, and is never printed.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal

import numpy as np

from cvpl.config.loading import ConfigLike, load
from cvpl.errors import InputError, LimitError, UsageError
from cvpl.files import write_whole
from cvpl.interruption import is_interruption
from cvpl.randomness import stream
from cvpl.result import TrialMechanism
from cvpl.tables.evaluation_only import ROW_NUMBER, IdentityKeys
from cvpl.tables.making.staged_table import stage
from cvpl.tables.source.reading_settings import Reading
from cvpl.wording import did_you_mean
from cvpl.workflows.draws import command_keeper
from cvpl.workflows.made_tables import FAMILIES, ORIGINAL_ROW, Method, Protector, Strength

Kind = Literal["command", "function", "built_in"]


@dataclass(frozen=True, eq=False)
class MechanismRunner:
    """A mechanism: `make` gives the release of a draw, as a path or a dataframe, or raises ReleaseNotMade.

    `fingerprint` changes whenever the releases may; None if that cannot be known, as for a Python function. `identity`
    gives the identity keys of releases that number people by row; None if the configuration's apply.
    """

    name: str
    kind: Kind
    make: Callable[[Draw], object]
    strength: Strength | None = None
    fingerprint: str | None = None
    identity: IdentityKeys | None = None

    @property
    def described(self) -> TrialMechanism:
        """The mechanism in a result."""
        return TrialMechanism(kind=self.kind, name=self.name, strength=self.strength)


def find_mechanism(
    mechanism: object, strength: Strength | None, config: ConfigLike | None, timeout: float | None
) -> MechanismRunner:
    """The mechanism that a caller names. Raises UsageError if it is none.

    A text is the name of a built-in mechanism, which needs a strength and a configuration, or else a command.
    """
    if callable(mechanism):
        _refuse(strength, "a function")
        return _function(mechanism)
    if not isinstance(mechanism, str):
        raise UsageError(
            f"mechanism: a {type(mechanism).__name__} is given where a command, a function, or the name of a built-in "
            f"mechanism is needed. The names are {', '.join(FAMILIES)}."
        )
    method = next((name for name in FAMILIES if mechanism.strip().replace("_", "-") == name), None)
    if method is not None:
        return _built_in(method, strength, config)
    if not is_command(mechanism):
        raise UsageError(
            f"mechanism: '{mechanism}' is no built-in mechanism ({', '.join(FAMILIES)}), and no command, which has "
            f"{{input}} and {{output}} in it. {did_you_mean(mechanism, FAMILIES)}".rstrip()
        )
    return _command(mechanism, strength, timeout)


def _refuse(strength: Strength | None, what: str) -> None:
    if strength is not None:
        raise UsageError(
            f"strength: {what} has its own settings. Leave the strength out; it is for {_names()}, and for "
            "commands with {strength}."
        )


def _names() -> str:
    return ", ".join(FAMILIES)


def _command(text: str, strength: Strength | None, timeout: float | None) -> MechanismRunner:
    command = CommandMechanism(split_command(text), timeout)
    if not command.takes_strength:
        _refuse(strength, "a command without {strength}")
    elif strength is None:
        raise UsageError("strength: the command has {strength} in it, and no strength is given. Name one.")

    def make(draw: Draw) -> object:
        return command.release(draw.table, draw.folder, draw.seed, draw.stop, strength)

    named = [_digest(Path(word)) for word in command.words if Path(word).is_file()]
    return MechanismRunner(text, "command", make, strength, _hash_parts([text, str(strength), *named]))


def _function(function: Callable[..., object]) -> MechanismRunner:
    name = getattr(function, "__name__", type(function).__name__)

    def make(draw: Draw) -> object:
        try:
            made = call_with_generator(function, draw.table, stream(draw.seed, "trial function"))
        except Exception as error:
            # Its message may contain a cell: only the exception chain shows it, to callers from Python.
            raise ReleaseNotMade(f"function '{name}' failed with a {type(error).__name__}") from error
        if is_release(made):
            return made
        raise ReleaseNotMade(
            f"function '{name}' returned a {type(made).__name__}, not a release: return a dataframe of pandas, "
            "Polars, pyarrow or DuckDB, or the path of a file"
        )

    return MechanismRunner(name, "function", make)


def _built_in(method: Method, strength: Strength | None, config: ConfigLike | None) -> MechanismRunner:
    if strength is None:
        raise UsageError(f"strength: {method} needs one, {FAMILIES[method].strength}. Name it.")
    if config is None:
        raise UsageError(
            f"mechanism {method} needs a configuration, which declares the columns to protect. Write one with "
            "`cvpl init`, check it, and pass it."
        )
    settings = config
    numbered = not any(entry.role == "id" for entry in load(settings).config.columns.values())

    def make(draw: Draw) -> object:
        try:
            made = Protector.read(draw.table, settings)[0].release(method, strength, draw.seed)
            return made.write(draw.folder / "release.parquet")
        except (UsageError, InputError) as error:
            raise ReleaseNotMade(f"mechanism '{method}' refused: {error}") from None

    identity = IdentityKeys(ROW_NUMBER, ORIGINAL_ROW) if numbered else None
    return MechanismRunner(method, "built_in", make, strength, _hash_parts([method, str(strength)]), identity)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _hash_parts(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


_GENERATORS = ("rng", "generator")
"""Parameters of these names receive a generator, in any position."""


def call_with_generator(function: Callable[..., object], given: object, rng: np.random.Generator) -> object:
    """What a function returns for what it is given and, if it takes one, a generator: by position, or by name.

    Raises what the function raises, and KeyboardInterrupt if it was interrupted.
    """
    by_place, by_name = _takes_generator(function)
    try:
        return function(given, *([rng] if by_place else ()), **({by_name: rng} if by_name else {}))
    except Exception as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        raise


def is_release(made: object) -> bool:
    """Whether what a function returned can be a release: a path, or a table that supports Arrow."""
    return isinstance(made, str | Path) or hasattr(type(made), "__arrow_c_stream__")


def _takes_generator(function: Callable[..., object]) -> tuple[bool, str | None]:
    """Whether a function takes a generator as second argument, and otherwise the name of its parameter for one.

    It takes one if it has a parameter called rng or generator, or a second parameter without a default.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False, None
    named = next(
        (
            parameter.name
            for parameter in parameters
            if parameter.name in _GENERATORS and parameter.kind is not parameter.POSITIONAL_ONLY
        ),
        None,
    )
    if named is not None:
        return False, named
    placed = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(placed) > 1 and placed[1].default is inspect.Parameter.empty, None


STDOUT, STDERR = "stdout.txt", "stderr.txt"
"""The files in a draw's folder with what a command printed."""
FAILED = "failed"
"""The folder beside a result for what failed commands printed."""


class ReleaseNotMade(Exception):  # noqa: N818 - reported with its draw; the run may go on
    """A mechanism made no release, or one that cannot be used. The message says why, without a cell of the table."""

    def __init__(self, reason: str, *, exit_code: int | None = None, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.exit_code, self.timed_out = exit_code, timed_out

    def error(self, text: str) -> UsageError | LimitError:
        """The error that ends the run with this text."""
        return LimitError(text) if self.timed_out else UsageError(text)


@dataclass(frozen=True)
class Draw:
    """One run of a mechanism: its table, a private folder for its files, and a seed."""

    table: Path
    folder: Path
    seed: int
    stop: threading.Event


def mechanism_seed(seed: int, draw: str) -> int:
    """The seed of the mechanism in a draw of this name: those of other draws, and other mechanisms, change nothing."""
    return int(stream(seed, draw).integers(2**31 - 1))


def copied_table(original: object, reading: Reading, folder: Path) -> Path:
    """A copy of the table in a new folder, so that the mechanism cannot change the original."""
    folder.mkdir(parents=True, mode=0o700)
    table = stage(original, reading, folder)
    return table if table.parent == folder else Path(shutil.copyfile(table, folder / table.name))


def changed_columns(first: Collection[str], other: Collection[str]) -> tuple[int, int] | None:
    """How many columns a release has more, and how many fewer, than that of the first draw; None if it has the same.

    Releases with other columns cannot be read together.
    """
    more, fewer = len(set(other) - set(first)), len(set(first) - set(other))
    return (more, fewer) if more or fewer else None


@contextmanager
def keeping_output(folder: Path, into: Path | None) -> Iterator[None]:
    """If no release is made, keep what a command printed in `folder` in the folder `into`, for this user only.

    Nothing is kept if it is None. What an earlier run kept there is removed: it says nothing about this one.
    """
    if into is not None:
        shutil.rmtree(into, ignore_errors=True)
    try:
        yield
    except ReleaseNotMade:
        for name in (STDOUT, STDERR):
            if into is not None and (folder / name).is_file() and (folder / name).stat().st_size:
                into.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(into / name, (folder / name).read_bytes(), owner_only=True)
        raise


def where_output_is(kept: Path | None, argument: str) -> str:
    """A sentence on what a failed command printed: where it is, or how to keep it; empty if it printed nothing.

    `argument` is the argument of the Python call that names the folder.
    """
    if kept is None:
        return f" To keep what the command prints, name a folder with --out (in Python {argument}=...)."
    return f" What the command printed is in {kept}; it may contain cells of the table." if kept.is_dir() else ""


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
            code = run_command(
                fill_placeholders(self.words, table, release, seed, strength), folder, self.timeout, stop
            )
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


def fill_placeholders(
    words: Sequence[str], table: Path, release: Path, seed: int, strength: object | None = None
) -> list[str]:
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
