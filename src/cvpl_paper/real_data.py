"""The paper's protocol on real tables (appendix E): its cells, its journal, and its output files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from cvpl.assessment.audit_result import installed_version
from cvpl.errors import InputError, Problem
from cvpl.files import write_whole
from cvpl_paper.journal import Journal
from cvpl_paper.real_cells import RealCell, Way
from cvpl_paper.real_page import page
from cvpl_paper.real_run import RealRun
from cvpl_paper.real_tables import KS, TABLES, Change, RealTable
from cvpl_paper.running import Progress, run_all

PREFIX, PAGE, FIGURES = "real_data_", "real-data.md", "real-data.csv"
STRONGEST = max(KS)
CHANGES: tuple[Change, ...] = ("apart", "elsewhere", "left out")
WAYS: tuple[Way, ...] = ("k-anonymity", "mondrian")


@dataclass(frozen=True)
class RealData:
    """A run of the protocol on the tables in the folder `data`."""

    data: Path
    files: ClassVar[Sequence[str]] = (PAGE, FIGURES)

    def tables(self) -> list[RealTable]:
        """The tables with all files present; raises InputError if there are none."""
        found = [table for table in TABLES.values() if all(file.is_file() for file in table.files(self.data))]
        if not found:
            wanted = " or ".join(table.file for table in TABLES.values())
            cure = f"Name a folder that contains {wanted}, and the hierarchies next to it."
            raise InputError([Problem(str(self.data), "none of the real tables is in this folder", cure)])
        return found

    def cells(self) -> list[RealCell]:
        """Every release with everybody and with people set aside; then the changed ones, at the largest k."""
        return [
            cell
            for table in self.tables()
            for seed in table.seeds
            for cell in (*self._releases(table, seed), *self._changed(table, seed))
        ]

    def _releases(self, table: RealTable, seed: int) -> list[RealCell]:
        made: list[tuple[Way, int]] = [("unprotected", 1), *((way, k) for way in WAYS for k in KS)]
        # The longest cells come first, so that no core waits at the end.
        return [
            RealCell(self.data, table.name, way, k, people, seed)
            for people in ("two thirds", "everybody")
            for way, k in made
        ]

    def _changed(self, table: RealTable, seed: int) -> list[RealCell]:
        changes = [
            *((item, "") for item in (CHANGES if table.pair else ())),
            *(("kept", item) for item in table.kept_out),
        ]
        return [
            RealCell(self.data, table.name, way, STRONGEST, "two thirds", seed, change, column)
            for way in WAYS
            for change, column in changes
        ]

    def run(
        self,
        folder: Path,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        on_damaged: Callable[[str], None] | None = None,
    ) -> Sequence[Path]:
        """Run the cells missing from the folder's journal, write the page and its figures, and return the files."""
        cells = self.cells()
        folder.mkdir(parents=True, exist_ok=True)
        sums = {
            file.relative_to(self.data).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for table in self.tables()
            for file in table.files(self.data)
        }
        journal = Journal(
            folder, {"tables": sums, "version": installed_version("cvpl")}, prefix=PREFIX, on_damaged=on_damaged
        )
        run = RealRun(cells, run_all(cells, journal, workers=workers, progress=progress))
        written = []
        for name, text in {PAGE: page(run), FIGURES: run.csv()}.items():
            write_whole(folder / name, text)
            written.append(folder / name)
        return written
