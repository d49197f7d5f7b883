"""Progress: a callback that hears the name of a phase and, where it is known, the share of it that is done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

Progress = Callable[[str, float | None], None]


def silent(phase: str, share: float | None) -> None:
    """Report nothing."""


def of_release(progress: Progress, name: str) -> Progress:
    """The same callback, with the name of a release before every phase."""
    return partial(_named, progress, name)


def _named(progress: Progress, name: str, phase: str, share: float | None) -> None:
    progress(f"{name}: {phase}", share)
