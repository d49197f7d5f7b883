"""Cells of the protocol on real tables: one release of everybody or of two thirds, under the paper's attacker.

Two attackers are the paper's, except for their blocks: `paper` compares records with equal keys, `compatible` records
whose keys can mean the same. Fellegi-Sunter weighs the same pairs as `compatible`. In a cell with people set aside, a
third of the table is drawn before protection and serves as control; the family of attackers is also run there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cvpl.assessment.combined import AttackerOutcome
from cvpl.assessment.diagnostics.sensitivity import column_contributions, power_drops
from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.truth import blocking_recall, false_link_rate, matching_recall, top1_hit_rate, total_recall
from cvpl.files import private_folder
from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.randomness import stream
from cvpl.search.machine import one_blas_thread
from cvpl.tables.pair import Inputs
from cvpl.utility import utility
from cvpl.workflows.made_tables import Protector, split
from cvpl.workflows.planned_audit import read_plan
from cvpl_paper.real_tables import TABLES, Change, RealTable
from cvpl_paper.weighed import weighed
from cvpl_paper.world import THRESHOLD

Figures = dict[str, Any]
Way = Literal["unprotected", "k-anonymity", "mondrian"]
People = Literal["everybody", "two thirds"]

ATTACKERS: Mapping[str, Any] = {"paper": {"preset": "paper"}, "compatible": {"blocking": "compatible"}}
RARITY: Mapping[str, Any] = {
    "rarity_reference": {
        "alignment": "release",
        "blocking": "none",
        "similarity": "rarity",
        "evidence": "reference",
    }
}
"""The family's member for untouched values, used where the whole family would only take longer."""
SET_ASIDE = 1 / 3


@dataclass(frozen=True)
class RealCell:
    """A table's release by one method at one k (1 if unprotected), perhaps changed, and the people attacked."""

    data: Path
    table: str
    way: Way
    k: int
    people: People
    seed: int
    change: Change = ""
    column: str = ""

    @property
    def release(self) -> str:
        """The name of the release."""
        return "unprotected" if self.way == "unprotected" else f"{self.way} {self.k}"

    @property
    def changed(self) -> str:
        """Any further change of the release."""
        return " ".join(part for part in (self.change, self.column) if part) or "as it is"

    @property
    def key(self) -> str:
        """The identifier of the cell within its run, independent of the location of the tables."""
        return f"{self.table}/{self.release}/{self.people}/{self.changed}/{self.seed}"

    def run(self) -> Figures:
        """Its figures; the same on every call."""
        with private_folder() as place, one_blas_thread():
            return _figures(self, place)


def _figures(cell: RealCell, place: Path) -> Figures:
    table = TABLES[cell.table]
    original, control = cell.data / table.file, None
    if cell.people == "two thirds":
        parts = split(original, share=SET_ASIDE, seed=cell.seed, out=place)
        original, control = parts.release, parts.control
    without = table.pair if cell.change == "left out" else ()
    config = table.config(cell.data, cell.seed, kept=cell.column, without=without)
    protector, _ = Protector.read(original, config | {"attacker": "paper"})
    figures, frame = _protected(cell, protector, place)
    frame = shuffle_pair(cell, table, frame)
    protected = place / "protected.csv"
    frame.write(protected)
    attackers = {**ATTACKERS, **(RARITY if cell.change == "kept" else {})}
    standing, inputs = _contest(original, protected, control, config | {"attackers": attackers})
    figures |= {
        "attackers": {name: _measured(outcome) for name, outcome in standing.outcomes.items()},
        "association": association(*(frame.category(name) for name in table.pair)) if table.pair else None,
    }
    if cell.change:
        return figures
    compatible = standing.outcomes["compatible"].measured
    if control is None:
        return figures | _utility(compatible, inputs, cell)
    figures |= {"fellegi_sunter": weighed(compatible), "contribution": _contribution(cell, compatible, inputs)}
    family, _ = _contest(original, protected, control, config | {"attacker": "default", "canaries": False})
    return figures | {"family": _family(family)}


def _protected(cell: RealCell, protector: Protector, place: Path) -> tuple[Figures, Frame]:
    """The release, its k recounted from a file, and its cost; if unprotected, the table in another order."""
    if cell.way == "unprotected":
        frame = protector.frame.take(stream(cell.seed, "unprotected").permutation(len(protector.frame)))
        return {"released": len(frame), "removed": 0, "levels": None, "loss": 0.0}, frame
    made = protector.release(cell.way, cell.k, cell.seed)
    made.write(place / f"{made.name}.csv")
    levels = None if made.levels is None else dict(made.levels)
    return {"released": len(made.frame), "removed": made.removed, "levels": levels, "loss": made.loss}, made.frame


def shuffle_pair(cell: RealCell, table: RealTable, frame: Frame) -> Frame:
    """The release with the columns of `pair` shuffled, separately or together."""
    if cell.change not in ("apart", "elsewhere"):
        return frame
    order = stream(cell.seed, f"shuffled {cell.change}").permutation(len(frame))
    moved = table.pair[1:] if cell.change == "apart" else table.pair
    categories = {name: CategoryCodes(codes[order], labels) for name, (codes, labels) in frame.categories.items()}
    return replace(frame, categories={**frame.categories, **{name: categories[name] for name in moved}})


def _contest(
    original: Path, protected: Path, control: Path | None, config: dict[str, Any]
) -> tuple[EnsembleOutcome, Inputs]:
    resolved, inputs = read_plan(original, protected, config, control, None)
    return run_attackers(resolved, inputs, lambda phase, share: None), inputs


def association(one: CategoryCodes, other: CategoryCodes) -> float | None:
    """Cramér's V of two columns: sqrt(χ² / (n (min(groups) - 1))), over rows that have both; None with one group."""
    known = (one.codes >= 0) & (other.codes >= 0)
    counts = np.zeros((len(one.labels), len(other.labels)))
    np.add.at(counts, (one.codes[known], other.codes[known]), 1)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape, default=0) < 2:
        return None
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi / (counts.sum() * (min(counts.shape) - 1))))


def _measured(outcome: AttackerOutcome) -> Figures:
    """The figures of one attacker; those at a threshold are None if it has none."""
    measured = outcome.measured
    truth, threshold = measured.truth, measured.threshold
    assert truth is not None  # noqa: S101 - releases made here have known matches
    power = {} if measured.power is None else {f"{rate:g}": one.value for rate, one in measured.power.items()}
    return {
        "linkage_rate": measured.rate.value,
        "base_rate": measured.base_rate.value,
        "attributable_rate": measured.attributable.value,
        "attributable_low": measured.attributable.low,
        "attributable_high": measured.attributable.high,
        "false_link_rate": None if threshold is None else false_link_rate(truth, THRESHOLD),
        "blocking_recall": blocking_recall(truth),
        "matching_recall": None if threshold is None else matching_recall(truth, THRESHOLD),
        "total_recall": None if threshold is None else total_recall(truth, THRESHOLD),
        "top1_hit_rate": top1_hit_rate(truth),
        "power": power,
        "pairs": measured.attack.blocks.pairs,
        "faults": list(outcome.faults),
    }


def _utility(measured: Measurement, inputs: Inputs, cell: RealCell) -> Figures:
    assert inputs.evaluation.matches is not None  # noqa: S101 - as above
    rows = inputs.evaluation.matches.original, inputs.evaluation.matches.protected
    vectorization = measured.attack.attacker.vectorization
    found = utility(inputs.pair, stream(cell.seed, "utility"), vectorization=vectorization, matches=rows)
    return {"utility": found.mean, "utility_parts": dict(found.figures)}


def _contribution(cell: RealCell, measured: Measurement, inputs: Inputs) -> Figures | None:
    """The contribution of each column, for the unprotected table and the strongest protection."""
    if cell.k not in (1, 20):
        return None
    found = column_contributions(measured, power_drops(measured, inputs))
    parts = ("structural", "link", "removal", "power_drop", "power_drop_low", "power_drop_high")
    return {column.column: {part: getattr(column, part) for part in parts} for column in found.columns}


def _family(standing: EnsembleOutcome) -> Figures:
    """The headline, with intervals corrected for the pick, and the power of every member."""
    chosen = standing.chosen.measured.at_confidence(standing.confidence)
    ends = None if chosen.power is None else chosen.power[FALSE_RATE]
    members = {name: _measured(outcome) for name, outcome in standing.outcomes.items()}
    return {
        "headline": standing.headline,
        "attributable_rate": chosen.attributable.value,
        "power": None if ends is None else ends.value,
        "power_low": None if ends is None else ends.low,
        "power_high": None if ends is None else ends.high,
        "top1_hit_rate": members[standing.headline]["top1_hit_rate"],
        "members": members,
        "reasons": list(standing.reasons),
    }
