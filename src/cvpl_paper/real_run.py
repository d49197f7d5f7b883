"""The figures of a finished run on real tables, averaged over seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cvpl_paper.journal import Figures
from cvpl_paper.real_cells import RealCell
from cvpl_paper.real_tables import TABLES, RealTable

AS_IT_IS = "as it is"


@dataclass(frozen=True)
class RealRun:
    """The cells of a run with their figures."""

    cells: Sequence[RealCell]
    figures: Mapping[str, Figures]

    @property
    def tables(self) -> list[RealTable]:
        """The tables that were run."""
        names = {cell.table for cell in self.cells}
        return [table for name, table in TABLES.items() if name in names]

    def releases(self, table: str) -> list[str]:
        """The names of a table's releases, the unprotected one first."""
        return list(dict.fromkeys(cell.release for cell in self.cells if cell.table == table))

    def all(self, table: str, release: str, people: str, changed: str = AS_IT_IS) -> Iterator[Figures]:
        """The figures of every seed."""
        for cell in self.cells:
            if (cell.table, cell.release, cell.people, cell.changed) == (table, release, people, changed):
                yield self.figures[cell.key]

    def values(self, table: str, release: str, people: str, *path: str, changed: str = AS_IT_IS) -> list[Any]:
        """One figure of every seed; None if the path does not exist."""
        found = []
        for value in self.all(table, release, people, changed):
            at: Any = value
            for part in path:
                at = None if at is None else at.get(part)
            found.append(at)
        return found

    def mean(self, table: str, release: str, people: str, *path: str, changed: str = AS_IT_IS) -> float | None:
        """The mean over seeds; None if the figure is undefined for any of them."""
        values = self.values(table, release, people, *path, changed=changed)
        return None if not values or any(value is None for value in values) else float(np.mean(values))

    def csv(self) -> str:
        """A line for every figure of every cell, with all digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["table", "release", "people", "changed", "seed", "figure", "value"])
        for cell in self.cells:
            for name, value in _flat(self.figures[cell.key]):
                writer.writerow([cell.table, cell.release, cell.people, cell.changed, cell.seed, name, value])
        return text.getvalue()


def _flat(figures: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested figures by their path, without lists."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif not isinstance(value, list):
            yield f"{before}{name}", "" if value is None else value if isinstance(value, str) else repr(value)
