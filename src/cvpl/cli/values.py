"""Values of options that several commands take."""

from __future__ import annotations

import math

import typer

from cvpl.errors import UsageError


def finite_rate(value: float | None) -> float | None:
    """A rate, or none at all; Typer itself would let NaN pass its bounds."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("a number from 0 to 1 is needed, such as 0.05.")
    return value


def memory_bytes(size: str | None) -> int | None:
    """The bytes of `--memory`; None where it is not given."""
    if size is None:
        return None
    from cvpl.config.sizes import parse_size  # noqa: PLC0415 - only where it is asked for

    try:
        return parse_size(size)
    except ValueError as error:
        raise UsageError(f"--memory {size}: {error}.") from None
