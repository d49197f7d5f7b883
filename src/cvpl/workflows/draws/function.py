"""A mechanism that is a function of the caller: calling it, with a random generator if it takes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cvpl.interruption import is_interruption

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
