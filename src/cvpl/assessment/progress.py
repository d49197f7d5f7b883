"""How a run reports how far it is: through a callback that the caller passes."""

from __future__ import annotations

from collections.abc import Callable

ProgressCallback = Callable[[str, float | None], None]
"""Called with the name of a phase and, where it is known, the share of it that is done."""


def ignore_progress(phase: str, share: float | None) -> None:
    """The callback of a caller who passes none."""


def prefix_progress(progress: ProgressCallback, where: str) -> ProgressCallback:
    """The same callback with `where` before the name of every phase."""
    return lambda phase, share: progress(f"{where}: {phase}", share)
