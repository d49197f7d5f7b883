"""Option values shared by several commands."""

from __future__ import annotations

import math

import typer

from cvpl.errors import UsageError


def finite_rate(value: float | None) -> float | None:
    """Check a rate, if given; Typer itself would accept NaN."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("a number from 0 to 1 is needed, such as 0.05.")
    return value


def memory_bytes(size: str | None) -> int | None:
    """The bytes of `--memory`; None if it is not given."""
    if size is None:
        return None
    from cvpl.config.sizes import parse_size  # noqa: PLC0415 - only if needed

    try:
        return parse_size(size)
    except ValueError as error:
        raise UsageError(f"--memory {size}: {error}.") from None
