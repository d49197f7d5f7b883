"""What a sweep turns: a mechanism's strengths from the weakest to the strongest, and the release at each of them.

A mechanism is one of ours, by its name, or any function from a strength to a release.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cvpl.config.resolved import ConfigLike, ResolvedConfig
from cvpl.errors import UsageError
from cvpl.laboratory.mechanisms.perturbation import LEVELS
from cvpl.randomness import stream
from cvpl.tables.identity import ROW_NUMBER, IdentityKeys
from cvpl.workflows.protect import FAMILIES, ORIGINAL_ROW, Method, Protector, Strength

_GENERATORS = ("rng", "generator")
"""A function's parameter of such a name is given a generator, wherever it stands."""


class ReleaseNotMade(Exception):  # noqa: N818 - it is told, and the sweep goes on
    """At this strength there is no release; the message says why."""


@dataclass(frozen=True, eq=False)
class MechanismSweep:
    """A mechanism with its strengths, from the weakest to the strongest.

    `make` gives the release at a strength: a path inside the folder that it is handed, or whatever a function returned.
    It raises CannotBeMade where the mechanism itself refuses. `identity` tells who is who in releases that number their
    people by row; None where the configuration's holds. `function` tells that the mechanism is the caller's.
    """

    name: str
    strengths: tuple[Strength, ...]
    make: Callable[[Strength, Path], object]
    identity: IdentityKeys | None = None
    function: bool = False


def mechanism_sweep(
    mechanism: object,
    strengths: Iterable[object] | None,
    original: object,
    config: ConfigLike,
    resolved: ResolvedConfig,
) -> MechanismSweep:
    """The dial of a mechanism: the name of one of ours, or a function.

    The strengths of ours are put in order: k from small to large, levels from low to high, the share of correlation
    kept from large to small. Those of a function are taken in the order given, which must be from the weakest
    protection to the strongest: nobody else knows which way it turns. Without any, ours have the paper's.
    """
    if isinstance(mechanism, str):
        method = _method(mechanism)
        given = FAMILIES[method].usual if strengths is None else _listed(strengths)
        ordered = sorted((_own(method, item) for item in given), key=lambda item: _order(method, item))
        return _own_dial(method, _distinct(ordered), original, config)
    if not callable(mechanism):
        raise UsageError(
            f"mechanism: a {type(mechanism).__name__} is given where the name of a mechanism or a function from a "
            f"strength to a release is needed. The names are {', '.join(FAMILIES)}."
        )
    if strengths is None:
        raise UsageError("strengths: a function has no usual ones. List them from the weakest to the strongest.")
    return _function_dial(mechanism, _distinct([_plain(item) for item in _listed(strengths)]), resolved.config.seed)


def _method(name: str) -> Method:
    for method in FAMILIES:
        if name.replace("_", "-") == method:
            return method
    raise UsageError(
        f"mechanism: there is no mechanism {name!r}; allowed are {', '.join(FAMILIES)}. Choose one of them, or in "
        "Python pass a function from a strength to a release."
    )


def _listed(strengths: Iterable[object]) -> list[object]:
    if isinstance(strengths, str | bytes) or not isinstance(strengths, Iterable):
        raise UsageError(f"strengths: found a {type(strengths).__name__} where a list is needed, such as [2, 5, 10].")
    listed = list(strengths)
    if not listed:
        raise UsageError("strengths: none is given. Name at least one, better several from weak to strong.")
    return listed


def _distinct(strengths: Iterable[Strength]) -> tuple[Strength, ...]:
    listed = tuple(strengths)
    twice = sorted({str(item) for item in listed if listed.count(item) > 1})
    if twice:
        raise UsageError(f"strengths: {', '.join(twice)} would be tried twice. Name each strength once.")
    return listed


def _plain(strength: object) -> Strength:
    """A strength of a function: a finite number or a text."""
    if isinstance(strength, np.generic):
        strength = strength.item()
    number = isinstance(strength, int | float) and not isinstance(strength, bool) and math.isfinite(strength)
    if isinstance(strength, int | float | str) and (number or isinstance(strength, str)):
        return strength
    what = f"{strength!r}" if isinstance(strength, float) else f"a {type(strength).__name__}"
    raise UsageError(f"strengths: found {what}; allowed are finite numbers and texts. Name each setting by one.")


def _own(method: Method, strength: object) -> Strength:
    """A strength of one of our mechanisms as a number or a level; nonsense is refused before any work."""
    if isinstance(strength, np.generic):
        strength = strength.item()
    allowed = FAMILIES[method].strength
    wrong = UsageError(f"strengths: found {strength!r}; {method} takes {allowed}. Set it inside.")
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

    def make(strength: Strength, folder: Path) -> object:
        try:
            made = protector.release(method, strength)
            return made.write(folder / f"{made.name}.parquet")
        except UsageError as error:
            raise ReleaseNotMade(str(error)) from None

    numbered = protector.frame.id_name == ORIGINAL_ROW
    return MechanismSweep(method, strengths, make, IdentityKeys(ROW_NUMBER, ORIGINAL_ROW) if numbered else None)


def _function_dial(function: Callable[..., object], strengths: tuple[Strength, ...], seed: int) -> MechanismSweep:
    name = getattr(function, "__name__", type(function).__name__)
    by_place, by_name = _takes_generator(function)

    def make(strength: Strength, folder: Path) -> object:
        rng = stream(seed, f"surface {strength}")
        try:
            made = function(strength, *([rng] if by_place else []), **({by_name: rng} if by_name else {}))
        except UsageError as error:
            raise ReleaseNotMade(str(error)) from None
        except Exception as error:
            # Its message may hold a cell: the chain shows it to who calls from Python, and nothing else does.
            raise UsageError(
                f"mechanism '{name}' failed at strength {strength!r} with a {type(error).__name__}. Mend it, or leave "
                "this strength out. To say that a strength cannot be made, raise cvpl.UsageError with the reason."
            ) from error
        if isinstance(made, str | Path) or hasattr(type(made), "__arrow_c_stream__"):
            return made
        raise UsageError(
            f"mechanism '{name}' returned a {type(made).__name__} at strength {strength!r}. Return the release: a "
            "dataframe of pandas, Polars, pyarrow or DuckDB, or the path of its file."
        )

    return MechanismSweep(name, strengths, make, function=True)


def _takes_generator(function: Callable[..., object]) -> tuple[bool, str | None]:
    """Whether a function takes a generator in the second place, and else the name of its parameter for one.

    It takes one if it has a parameter called rng or generator, or a second one that it cannot be called without.
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
