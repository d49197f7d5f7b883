"""A mechanism that is a function of the caller: whether it takes a random generator, and how."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

_GENERATORS = ("rng", "generator")
"""Parameters of these names receive a generator, in any position."""


def generator_arguments(
    function: Callable[..., object], rng: np.random.Generator
) -> tuple[list[np.random.Generator], dict[str, np.random.Generator]]:
    """The arguments that pass a generator to a function: by position, or by name; both empty if it takes none."""
    by_place, by_name = _takes_generator(function)
    return [rng] if by_place else [], {by_name: rng} if by_name else {}


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
