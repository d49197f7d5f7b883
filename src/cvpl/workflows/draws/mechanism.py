"""What makes releases: a command, a Python function, or one of the built-in mechanisms."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cvpl.config.loading import ConfigLike, load
from cvpl.errors import InputError, UsageError
from cvpl.randomness import stream
from cvpl.result import TrialMechanism
from cvpl.tables.evaluation_only import ROW_NUMBER, IdentityKeys
from cvpl.wording import did_you_mean
from cvpl.workflows.draws.command import CommandMechanism, is_command, split_command
from cvpl.workflows.draws.function import call_with_generator, is_release
from cvpl.workflows.draws.making import Draw, ReleaseNotMade
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
    return MechanismRunner(text, "command", make, strength, _joined([text, str(strength), *named]))


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
    return MechanismRunner(method, "built_in", make, strength, _joined([method, str(strength)]), identity)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _joined(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
