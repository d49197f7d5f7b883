"""The whole reproduction: its cells, its journal, and its output files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from cvpl.assessment.audit_result import installed_version
from cvpl.files import write_whole
from cvpl_paper.cells import VARIANTS, Cell
from cvpl_paper.charts import CHARTS, all_charts
from cvpl_paper.collected import Collected
from cvpl_paper.findings import findings_page
from cvpl_paper.journal import Journal
from cvpl_paper.running import Progress, run_all
from cvpl_paper.tables import all_files, all_tables
from cvpl_paper.world import CONFIGURATIONS, OUTLIER_RATES, RECORDS, SEEDS

TABLES, TABLES_CSV, FINDINGS = "tables.md", "tables.csv", "findings.md"
QUICK_RECORDS = 2_000


@dataclass(frozen=True)
class Reproduction:
    """A reproduction run: people per table, seeds, outlier rates."""

    records: int = RECORDS
    seeds: tuple[int, ...] = SEEDS
    outliers: tuple[float, ...] = OUTLIER_RATES
    files: ClassVar[Sequence[str]] = (TABLES, TABLES_CSV, FINDINGS, *CHARTS)

    @classmethod
    def quick(cls) -> Reproduction:
        """A small run, with the same cells for one seed."""
        return cls(QUICK_RECORDS, SEEDS[:1])

    def cells(self) -> list[Cell]:
        """The grid, then the ladder and the ablations; UMAP only if it is installed."""
        grid = [
            Cell("grid", name, outliers, seed, self.records)
            for name in CONFIGURATIONS
            for outliers in self.outliers
            for seed in self.seeds
        ]
        names = [f"{table}: {variant}" for table, variants in VARIANTS.items() for variant in variants]
        if find_spec("umap") is None:
            names.remove("projection: UMAP")
        ladder = [Cell("ladder", "ladder", 0.0, seed, self.records) for seed in self.seeds]
        ablations = [Cell("ablation", name, 0.0, seed, self.records) for name in names for seed in self.seeds]
        return grid + ladder + ablations

    def run(
        self,
        folder: Path,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        on_damaged: Callable[[str], None] | None = None,
    ) -> Sequence[Path]:
        """Run the cells missing from the folder's journal, write the tables and findings, and return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        journal = Journal(folder, {**asdict(self), "version": installed_version("cvpl")}, on_damaged=on_damaged)
        cells = self.cells()
        collected = Collected(cells, run_all(cells, journal, workers=workers, progress=progress))
        tables = all_tables(collected)
        pages = {
            TABLES: _page(self, [table.markdown() for table in tables]),
            TABLES_CSV: all_files(tables),
            FINDINGS: findings_page(collected, _how(self)),
            **all_charts(collected),
        }
        written = []
        for name, text in pages.items():
            write_whole(folder / name, text)
            written.append(folder / name)
        return written


def _how(run: Reproduction) -> str:
    seeds = f"{len(run.seeds)} seeds" if len(run.seeds) > 1 else "one seed"
    rates = ", ".join(f"{rate:.0%}" for rate in run.outliers)
    call = "cvpl reproduce --quick" if run == Reproduction.quick() else "cvpl reproduce"
    return (
        f"Made by `{call}`: {run.records:,} simulated people a table, {seeds}, outlier rates {rates}. Figures are "
        "means "
        "over seeds without outliers, at a threshold of 0.90, unless a row says otherwise."
    )


def _page(run: Reproduction, sections: Sequence[str]) -> str:
    dash = "A dash is a figure that is undefined, or that the paper does not give."
    return "\n".join(["# The paper's tables, and ours", "", _how(run), "", dash, "", *sections])
