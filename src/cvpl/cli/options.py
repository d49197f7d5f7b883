"""Options that several commands read alike."""

from __future__ import annotations

from cvpl.errors import UsageError


def parsed_memory(size: str) -> int:
    """The bytes of a `--memory` such as 4GB."""
    from cvpl.config.sizes import parse_size  # noqa: PLC0415 - only where it is asked for

    try:
        return parse_size(size)
    except ValueError as error:
        raise UsageError(f"--memory {size}: {error}.") from None
