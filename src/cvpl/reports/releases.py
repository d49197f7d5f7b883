"""The table of releases that `cvpl protect` prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from cvpl.laboratory.mechanisms.hierarchies import UNCHANGED
from cvpl.workflows.made_tables import Release

if TYPE_CHECKING:
    from rich.console import Console


def show(written: Sequence[tuple[Release, Path, int | None]], rows: int, console: Console) -> None:
    """Print one line per release: file, rows and, for k-anonymity, the smallest class and the loss."""
    counted = any(k is not None for _, _, k in written)
    generalized = any(release.levels is not None for release, _, _ in written)
    page = Table(box=None, pad_edge=False, header_style="bold")
    page.add_column("file", no_wrap=True)
    page.add_column("rows", justify="right")
    if counted:
        page.add_column("smallest class", justify="right")
    if generalized:
        page.add_column("rows removed", justify="right")
        page.add_column("loss", justify="right")
        page.add_column("generalized to")
    for release, path, k in written:
        cells = [path.name, f"{len(release.frame):,}"]
        if counted:
            cells.append("" if k is None else f"{k:,}")
        if generalized:
            coarser = [f"{name}: {level}" for name, level in (release.levels or {}).items() if level != UNCHANGED]
            cells += [f"{release.removed / rows:.1%}", f"{release.loss:.3f}", ", ".join(coarser) or "none"]
        page.add_row(*cells)
    console.print(page)
