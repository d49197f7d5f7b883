"""The settings of a sweep: a mechanism's strengths from the weakest to the strongest, and the release at each.

A mechanism is a built-in one, by its name, a command, or any function from a strength to a release.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from cvpl.config.loading import ConfigLike
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import UsageError
from cvpl.files import private_folder
from cvpl.laboratory.mechanisms.perturbation import LEVELS
from cvpl.randomness import stream
from cvpl.tables.evaluation_only import ROW_NUMBER, IdentityKeys
from cvpl.workflows.draws.mechanism import (
    STRENGTH,
    CommandMechanism,
    ReleaseNotMade,
    call_with_generator,
    copied_table,
    is_command,
    is_release,
    keeping_output,
    mechanism_seed,
    split_command,
    where_output_is,
)
from cvpl.workflows.made_tables import FAMILIES, ORIGINAL_ROW, Method, Protector, Strength


@dataclass(frozen=True, eq=False)
class MechanismSweep:
    """A mechanism with its strengths, from the weakest to the strongest.

    `make` gives the release at a strength in one draw, counted from 0: a path inside the folder it receives, or
    whatever a function returned. It raises ReleaseNotMade if the mechanism itself refuses. `identity` gives the
    identity keys of releases that number people by row; None if the configuration's apply. `function` says that the
    mechanism is a function of the caller. `advice` says what to do if no release could be made.
    """

    name: str
    strengths: tuple[Strength, ...]
    make: Callable[[Strength, Path, int], object]
    identity: IdentityKeys | None = None
    function: bool = False
    advice: Callable[[], str] = str


def mechanism_sweep(
    mechanism: object,
    strengths: Iterable[object] | None,
    original: object,
    config: ConfigLike,
    resolved: ResolvedConfig,
    timeout: float | None = None,
    output: Path | None = None,
) -> MechanismSweep:
    """The sweep of a mechanism: the name of a built-in one, a command, or a function.

    Strengths of built-in mechanisms are sorted: k from small to large, levels from low to high, the share of
    correlation kept from large to small. Those of a command or a function keep the given order, which must be from the
    weakest protection to the strongest, since cvpl cannot know it. Without any, built-in mechanisms use the paper's.
    A command may take `timeout` seconds for a release. What it prints is kept in the folder `output` if it fails.
    """
    if isinstance(mechanism, str) and is_command(mechanism):
        command = CommandMechanism(split_command(mechanism), timeout)
        if not command.takes_strength:
            raise UsageError(f"mechanism: the command lacks {STRENGTH}. Write it where the command takes the strength.")
        if strengths is None:
            raise UsageError("strengths: a command has no defaults. List them from the weakest to the strongest.")
        listed = _distinct([_plain(item) for item in _list_strengths(strengths)])
        return _command_dial(mechanism, command, listed, original, resolved, output)
    if isinstance(mechanism, str):
        method = _method(mechanism)
        given = FAMILIES[method].usual if strengths is None else _list_strengths(strengths)
        ordered = sorted((_own(method, item) for item in given), key=lambda item: _order(method, item))
        return _own_dial(method, _distinct(ordered), original, config)
    if not callable(mechanism):
        raise UsageError(
            f"mechanism: a {type(mechanism).__name__} is given where the name of a mechanism or a function from a "
            f"strength to a release is needed, or a command. The names are {', '.join(FAMILIES)}."
        )
    if strengths is None:
        raise UsageError("strengths: a function has no defaults. List them from the weakest to the strongest.")
    return _function_dial(
        mechanism, _distinct([_plain(item) for item in _list_strengths(strengths)]), resolved.config.seed
    )


def _seed(seed: int, draw: int) -> int:
    """The seed of one of several draws at a strength; the first has that of the configuration."""
    return mechanism_seed(seed, f"surface draw {draw}") if draw else seed


def _method(name: str) -> Method:
    for method in FAMILIES:
        if name.replace("_", "-") == method:
            return method
    raise UsageError(
        f"mechanism: there is no mechanism {name!r}; allowed are {', '.join(FAMILIES)}. Choose one of them, or pass a "
        "command with {input}, {output} and {strength}, or in Python a function from a strength to a release."
    )


def _list_strengths(strengths: Iterable[object]) -> list[object]:
    if isinstance(strengths, str | bytes) or not isinstance(strengths, Iterable):
        raise UsageError(f"strengths: found a {type(strengths).__name__} where a list is needed, such as [2, 5, 10].")
    listed = list(strengths)
    if not listed:
        raise UsageError("strengths: none is given. Name at least one, preferably several from weak to strong.")
    return listed


def _distinct(strengths: Iterable[Strength]) -> tuple[Strength, ...]:
    listed = tuple(strengths)
    twice = sorted({str(item) for item in listed if listed.count(item) > 1})
    if twice:
        raise UsageError(f"strengths: {', '.join(twice)} would be tried twice. Name each strength once.")
    return listed


def _plain(strength: object) -> Strength:
    """A strength of a command or a function: a finite number or a text."""
    if isinstance(strength, np.generic):
        strength = strength.item()
    number = isinstance(strength, int | float) and not isinstance(strength, bool) and math.isfinite(strength)
    if isinstance(strength, int | float | str) and (number or isinstance(strength, str)):
        return strength
    what = f"{strength!r}" if isinstance(strength, float) else f"a {type(strength).__name__}"
    raise UsageError(f"strengths: found {what}; allowed are finite numbers and texts. Name each setting by one.")


def _own(method: Method, strength: object) -> Strength:
    """A strength of a built-in mechanism as a number or a level; invalid ones raise UsageError before any work."""
    if isinstance(strength, np.generic):
        strength = strength.item()
    allowed = FAMILIES[method].strength
    wrong = UsageError(f"strengths: found {strength!r}; {method} takes {allowed}. Choose one of these.")
    if method == "perturbation":
        if strength not in LEVELS:
            raise wrong
        return str(strength)
    if isinstance(strength, bool):
        raise wrong
    try:
        number = float(str(strength))
    except ValueError:
        raise wrong from None
    if method == "synthetic":
        if not 0 <= number <= 1:
            raise wrong
        return number
    if not (math.isfinite(number) and number == int(number) and number >= 2):
        raise wrong
    return int(number)


def _order(method: Method, strength: Strength) -> float:
    if method == "perturbation":
        return list(LEVELS).index(str(strength))
    return -float(strength) if method == "synthetic" else float(strength)


def _own_dial(method: Method, strengths: tuple[Strength, ...], original: object, config: ConfigLike) -> MechanismSweep:
    protector, _ = Protector.read(original, config)

    def make(strength: Strength, folder: Path, draw: int) -> object:
        try:
            made = protector.release(method, strength, _seed(protector.seed, draw))
            return made.write(folder / f"{made.name}{f'_{draw + 1}' if draw else ''}.parquet")
        except UsageError as error:
            raise ReleaseNotMade(str(error)) from None

    numbered = protector.frame.id_name == ORIGINAL_ROW
    return MechanismSweep(method, strengths, make, IdentityKeys(ROW_NUMBER, ORIGINAL_ROW) if numbered else None)


def _command_dial(
    text: str,
    command: CommandMechanism,
    strengths: tuple[Strength, ...],
    original: object,
    resolved: ResolvedConfig,
    output: Path | None,
) -> MechanismSweep:
    def make(strength: Strength, folder: Path, draw: int) -> object:
        number = strengths.index(strength) + 1
        seed = mechanism_seed(resolved.config.seed, f"surface command {strength} {draw}")
        kept = None if output is None else output / f"strength_{number:02d}_draw_{draw + 1:02d}"
        with private_folder(folder) as work, keeping_output(work, kept):
            table = copied_table(original, resolved.reading, work / "in")
            made = command.release(table, work, seed, threading.Event(), strength)
            ending = made.name.removeprefix(made.name.partition(".")[0])
            return made.rename(folder / f"release_{number}_{draw + 1}{ending}")

    return MechanismSweep(text, strengths, make, advice=partial(where_output_is, output, "folder"))


def _function_dial(function: Callable[..., object], strengths: tuple[Strength, ...], seed: int) -> MechanismSweep:
    name = getattr(function, "__name__", type(function).__name__)

    def make(strength: Strength, folder: Path, draw: int) -> object:
        rng = stream(_seed(seed, draw), f"surface {strength}")
        try:
            made = call_with_generator(function, strength, rng)
        except UsageError as error:
            raise ReleaseNotMade(str(error)) from None
        except Exception as error:
            # Its message may contain a cell: only the exception chain shows it, to callers from Python.
            raise UsageError(
                f"mechanism '{name}' failed at strength {strength!r} with a {type(error).__name__}. Fix it, or leave "
                "this strength out. To report that a strength cannot be made, raise cvpl.UsageError with the reason."
            ) from error
        if is_release(made):
            return made
        raise UsageError(
            f"mechanism '{name}' returned a {type(made).__name__} at strength {strength!r}. Return the release: a "
            "dataframe of pandas, Polars, pyarrow or DuckDB, or the path of its file."
        )

    return MechanismSweep(name, strengths, make, function=True)
