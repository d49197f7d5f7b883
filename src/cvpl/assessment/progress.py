"""Progress reporting through a callback that the caller passes."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, float | None], None]
"""Called with the name of a phase and, if known, the share of it that is done."""


def ignore_progress(phase: str, share: float | None) -> None:
    """The callback used if the caller passes none."""


def prefix_progress(progress: ProgressCallback, where: str) -> ProgressCallback:
    """The same callback with `where` prefixed to the name of every phase."""
    return lambda phase, share: progress(f"{where}: {phase}", share)
