"""The row of a surface from an attacker's figures at one strength."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from cvpl import result as out
from cvpl.assessment import audit_result
from cvpl.assessment.audit_result import described
from cvpl.assessment.combined import AttackerOutcome
from cvpl.assessment.decision import doubts, notices, warning_sections
from cvpl.assessment.diagnostics.release_questions import release_utility
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.evaluation.attack_figures import curve_points
from cvpl.evaluation.measurement import Measurement, risk_by_control, risk_by_matches
from cvpl.evaluation.truth import top1_hit_rate
from cvpl.result.mechanisms import Strength
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs
from cvpl.workflows.surface.regions import HIGH_SENSITIVITY, steep_cells


def utility_of(inputs: Inputs, outcome: AttackerOutcome) -> out.MeanUtility:
    """The utility of the release by the attacker's features, so that both describe the same structure."""
    done = outcome.measured.attack
    found = release_utility(inputs, done.attacker.vectorization, done.seed)
    return out.MeanUtility(mean=found.mean, distance_basis=found.distance.basis, **found.figures)


@dataclass(frozen=True, eq=False)
class AttackReading:
    """One attack at one strength, the number of attackers it was picked from, and the confidence of its intervals.

    Its figures are as they are published, by `disclosure`. `unseen` is what no attacker sees in the release.
    """

    ensemble: EnsembleOutcome
    among: int
    confidence: float
    target: float | None
    disclosure: Disclosure
    unseen: tuple[str, ...] = ()

    @cached_property
    def measured(self) -> Measurement:
        """The figures with intervals corrected for the pick."""
        return self.ensemble.chosen.measured.at_confidence(self.confidence)

    @cached_property
    def risk(self) -> out.Risk | None:
        """The risk at this strength; None if it is unknown."""
        name, measured, rate = self.ensemble.headline, self.measured, self.ensemble.reading.false_rate
        if rate is not None and measured.has_control:
            by_control = risk_by_control(name, measured, rate, self.confidence, self.among)
            return self._bounded(self.disclosure.published(by_control))
        return self.disclosure.published_or_none(risk_by_matches(name, measured, self.confidence, self.among))

    def _bounded(self, risk: out.Risk) -> out.Risk:
        """Nothing bounds what attackers cannot see."""
        return risk.model_copy(update={"high": 1.0}) if self.unseen and risk.high is not None else risk

    @property
    def looks_safe(self) -> bool:
        """Whether the risk is within the target or, without one, cannot be told from 0: then attackers must see."""
        risk = self.risk
        return bool(self.meets_target) if self.target is not None else risk is None or risk.low is None or risk.low <= 0

    @cached_property
    def objections(self) -> tuple[str, ...]:
        """Why the risk does not count as within the target, apart from its own upper end."""
        found = (
            *doubts(self.ensemble, self.measured, "risk"),
            *_found_more(self.measured, self.target, self.disclosure),
            *self.unseen,
        )
        if self.target is not None and self.risk is None:
            return (*found, "the risk is unknown: there is neither a control nor a known match")
        return found

    @property
    def meets_target(self) -> bool | None:
        """Whether the upper end of the risk is at most the target and nothing contradicts it; None without a target."""
        high = None if self.risk is None else self.risk.high
        return _meets(high, self.target, contradicted=bool(self.objections))


def setting_row(strength: Strength, read: AttackReading, inputs: Inputs, useful: out.MeanUtility) -> out.SurfaceSetting:
    """One strength's row: risk, rates at the threshold, and cells; steep cells are marked later."""
    measured, ensemble = read.measured, read.ensemble
    done = measured.attack
    warned = notices(measured, ensemble, inputs, None, read.disclosure)
    setting = out.SurfaceSetting(
        strength=strength,
        release=described(inputs)["protected"],
        asked=done.original.rows,
        pairs=done.blocks.pairs,
        threshold=measured.threshold,
        judged="linkage_rate" if read.risk is None else "risk",
        risk=read.risk,
        linkage_rate=audit_result.rate(measured),
        control=audit_result.control(measured),
        attributable_rate=audit_result.attributable(measured),
        power=audit_result.power(measured, ensemble.reading.false_rate),
        top1_hit_rate=None if measured.truth is None else top1_hit_rate(measured.truth),
        utility=useful,
        doubts=list(read.objections),
        safe=read.meets_target,
        cells=_cells(read),
        warnings=warning_sections(warned),
    )
    return read.disclosure.published(setting)


def with_steepness(rows: Sequence[out.SurfaceSetting]) -> list[out.SurfaceSetting]:
    """The rows with their steep cells marked, by rate."""
    rates = [[_rate(cell) for cell in row.cells] for row in rows]
    steep = steep_cells(rates, HIGH_SENSITIVITY)
    return [
        row.model_copy(
            update={
                "cells": [
                    cell.model_copy(update={"steep": is_steep}) for cell, is_steep in zip(row.cells, marks, strict=True)
                ]
            }
        )
        for row, marks in zip(rows, steep, strict=True)
    ]


def _rate(cell: out.SurfaceCell) -> float | None:
    return cell.linkage_rate if cell.attributable_rate is None else cell.attributable_rate


def _cells(read: AttackReading) -> list[out.SurfaceCell]:
    measured, figure = read.measured, _figure(read.measured)
    cells = []
    for exact in curve_points(measured):
        point = read.disclosure.published(exact)
        at = measured if exact.threshold is None else measured.read_at(exact.threshold)
        contradicted = bool(doubts(read.ensemble, at, figure) or read.objections) or read.meets_target is False
        high = point.high if figure == "linkage_rate" else point.attributable_high
        safe = _meets(high, read.target, contradicted=contradicted)
        cells.append(out.SurfaceCell(**point.model_dump(), contradicted=contradicted, safe=safe))
    return cells


def _figure(measured: Measurement) -> Literal["attributable_rate", "linkage_rate"]:
    return "linkage_rate" if measured.basis is None else "attributable_rate"


def _found_more(measured: Measurement, target: float | None, disclosure: Disclosure) -> tuple[str, ...]:
    """If the best candidate is the right person for more than the target, no rate below it counts."""
    hits = None if measured.truth is None else top1_hit_rate(measured.truth)
    if target is None or hits is None or hits <= target:
        return ()
    shown = disclosure.grid("matched").up(hits)
    return (f"the best candidate is the right person for {shown:.1%}, more than the target",)


def _meets(high: float | None, target: float | None, *, contradicted: bool) -> bool | None:
    """Whether the upper end is at most the target and nothing contradicts it; None without a target."""
    return None if target is None else high is not None and high <= target and not contradicted
