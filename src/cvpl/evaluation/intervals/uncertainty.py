"""The intervals of one attack's figures, from its sampling units and its base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.estimates import CONFIDENCE, Estimate
from cvpl.evaluation.control import Basis
from cvpl.evaluation.groups.units import Units, choose_units
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import (
    Method,
    attributable_intervals,
    left_out_intervals,
    power_intervals,
    rate_intervals,
    top1_interval,
)
from cvpl.evaluation.truth import Truth
from cvpl.search.best import BestCandidates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The originals and, if there is one, the base that they are compared with: controls, or the best wrong scores."""

    originals: Sample
    base: Sample | None
    basis: Basis | None
    confidence: float = CONFIDENCE

    @classmethod
    def of(
        cls,
        attack: Attack,
        control: BestCandidates | None,
        base: Floats | None,
        basis: Basis | None,
        *,
        method: Method = "blocks",
        groups: Mapping[str, Ints] | None = None,
        confidence: float = CONFIDENCE,
    ) -> Uncertainty:
        """The uncertainty of an attack with base scores `base`; `groups` says which rows of a table belong together."""
        units = units_of(attack, control is not None, method, groups)
        # Only a best score hangs on one row of the release; a difference of two does not.
        plain = attack.reads_best
        originals = Sample.of(attack.found, units) if plain else Sample(attack.scores, units.original, units.kind)
        other = None
        if basis == "control" and control is not None and base is not None:
            other = Sample.of(control, units, control=True) if plain else Sample(base, units.control, units.kind)
        elif basis == "own_match_left_out" and base is not None:
            other = Sample(base, originals.unit, originals.kind)
        return cls(originals, other, basis, confidence)

    def rates(self, thresholds: Iterable[float]) -> list[Estimate]:
        """Intervals for the linkage rate at every threshold."""
        return rate_intervals(self.originals, thresholds, self.confidence)

    def base_rates(self, thresholds: Iterable[float]) -> list[Estimate] | None:
        """Intervals for the control's rate at every threshold; None without a control."""
        if self.base is None or self.basis != "control":
            return None
        return rate_intervals(self.base, thresholds, self.confidence)

    def attributable(self, thresholds: Iterable[float]) -> list[Estimate] | None:
        """Intervals for the attributable rate at every threshold; None without a base."""
        if self.base is None:
            return None
        if self.basis == "own_match_left_out":
            return left_out_intervals(self.originals, self.base.best, thresholds, self.confidence)
        return attributable_intervals(self.originals, self.base, thresholds, self.confidence)

    def powers(self, false_rates: Iterable[float]) -> list[Estimate] | None:
        """Intervals for the power at every false-positive rate; None without a base."""
        if self.base is None:
            return None
        left_out = self.basis == "own_match_left_out"
        return power_intervals(self.originals, self.base, false_rates, self.confidence, left_out=left_out)

    def top1(self, truth: Truth | None) -> Estimate | None:
        """The interval for the top-1 hit rate; None if no original has a match."""
        if truth is None or not truth.has_match.any():
            return None
        return top1_interval(self.originals, truth.hit, truth.has_match, self.confidence)


def units_of(attack: Attack, with_control: bool, method: Method, groups: Mapping[str, Ints] | None) -> Units:
    """The units of the people whom the attacker knows, and of the controls."""
    tables = ["original", "control"] if with_control else ["original"]
    blocks = attack.blocks.units(tables) if method in ("blocks", "block_bootstrap") else None
    bound = None
    if groups is not None:
        rows = {"original": attack.people, "control": attack.control_rows}
        bound = [groups[table][rows[table]] for table in tables]
    return choose_units(blocks, bound)
