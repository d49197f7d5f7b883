"""The figures of a finished run, averaged over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cvpl_paper.cells import VARIANTS, Cell, Kind
from cvpl_paper.journal import Figures
from cvpl_paper.world import CONFIGURATIONS

Pick = Callable[[Figures], Any]


@dataclass(frozen=True)
class Collected:
    """The cells of a run with their figures."""

    cells: Sequence[Cell]
    figures: Mapping[str, Figures]

    def of(self, kind: Kind, name: str, outliers: float = 0.0) -> Iterator[Figures]:
        """The figures of every seed."""
        for cell in self.cells:
            if (cell.kind, cell.name, cell.outliers) == (kind, name, outliers):
                yield self.figures[cell.key]

    def mean(self, name: str, pick: Pick, outliers: float = 0.0, kind: Kind = "grid") -> float | None:
        """The mean of a figure over seeds; None if it is undefined for any of them."""
        values = [pick(figures) for figures in self.of(kind, name, outliers)]
        return None if not values or any(value is None for value in values) else float(np.mean(values))

    def spread(self, name: str, pick: Pick, outliers: float = 0.0, kind: Kind = "grid") -> float | None:
        """The standard deviation of a figure over seeds."""
        values = [pick(figures) for figures in self.of(kind, name, outliers)]
        return None if not values or any(value is None for value in values) else float(np.std(values))

    def family(self, family: str) -> list[str]:
        """The names of a family's configurations, in the paper's order."""
        return [name for name, item in CONFIGURATIONS.items() if item.family == family]

    def variants(self, table: str) -> list[str]:
        """The variants of an ablation that were run."""
        run = {cell.name for cell in self.cells if cell.kind == "ablation"}
        return [variant for variant in VARIANTS[table] if f"{table}: {variant}" in run]


def figure(*path: str | int) -> Pick:
    """The path to a figure of a cell; None if the path does not exist."""

    def pick(figures: Figures) -> Any:
        found: Any = figures
        for part in path:
            found = None if found is None else found[part]
        return found

    return pick


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of figures; None if one of them is undefined or there are none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
