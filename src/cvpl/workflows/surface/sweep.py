"""A running sweep: its attacker, a row for each strength, the regions, and the surface made from them.

Regions of a risk surface R(strength, τ): where it is low, where it is steep, and where it stays low. A surface is given
as rows, one per strength from the weakest to the strongest, over the same thresholds (or false-positive rates). Unknown
values are None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from cvpl import result as out
from cvpl.assessment import audit_result
from cvpl.assessment.audit_result import describe_inputs, provenance
from cvpl.assessment.combined import AttackerOutcome
from cvpl.assessment.decision import (
    attackers_left_out,
    closing_reasons,
    doubts,
    gate,
    notices,
    too_many_labels,
    warning_sections,
)
from cvpl.assessment.diagnostics.canaries import CanaryOutcome
from cvpl.assessment.diagnostics.release_questions import compare_control, release_utility
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks, few_people
from cvpl.assessment.ensemble import EnsembleOutcome, run_attacker, run_attackers
from cvpl.assessment.planning.progress import ProgressCallback
from cvpl.assessment.sight import unread_findings, unseen_findings
from cvpl.attack.attacker import Attacker
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.attack_figures import curve_points
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.measurement import Measurement, RiskReading, risk_by_control, risk_by_matches
from cvpl.evaluation.truth import top1_hit_rate
from cvpl.result.mechanisms import JudgedFigure, Strength
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs


@dataclass(frozen=True)
class EnsembleReading:
    """The reading of all attackers on a release: their names, the strongest and its figure, and why it is outside."""

    attackers: tuple[str, ...]
    headline: str
    figure: JudgedFigure
    risk: out.Risk | out.Rate | out.Attributable
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, ensemble: EnsembleOutcome, target: float, resolved: ResolvedConfig, inputs: Inputs) -> EnsembleReading:
        """Judge as the gate of an audit would, with the target as its limit: attackers must see, too."""
        headline = ensemble.chosen.measured.at_confidence(ensemble.confidence)
        disclosure = disclosure_of_attacks(resolved, inputs, ensemble)
        unseen = unseen_findings(ensemble, resolved, inputs)
        reasons = gate(ensemble, headline, None, target, {}, unseen, disclosure)[0].reasons
        risk = disclosure.published_or_none(ensemble.risk)
        rate = disclosure.published(audit_result.rate(headline))
        figure: JudgedFigure = "linkage_rate" if risk is None else "risk"
        return cls(tuple(ensemble.outcomes), ensemble.headline, figure, risk or rate, tuple(reasons))


@dataclass(frozen=True)
class SweepAttacker:
    """The attacker of a sweep, the number it was picked from, its canaries, and where risks are read."""

    name: str
    attacker: Attacker
    picked_among: int
    confidence: float
    canaries: CanaryOutcome | None
    reading: RiskReading


class Sweep:
    """The rows of a surface as they are computed. The first release decides the attacker."""

    def __init__(self, resolved: ResolvedConfig, target: float | None, asked_for: str | None) -> None:
        self.resolved, self.target, self._asked_for = resolved, target, asked_for
        self.rows: list[out.SurfaceSetting] = []
        self.failed: list[out.FailedStrength] = []
        self.verdicts: dict[Strength, EnsembleReading] = {}
        self.unseen: tuple[str, ...] | None = None
        """What no attacker sees, where all rows are of one release; None if each has its own."""
        self._sweeper: SweepAttacker | None = None
        self._inputs: dict[str, out.Input] = {}
        self._scenario = "blind"
        self._notices: list[AuditWarning] = []
        self._exact = True
        self._k = resolved.config.report.suppress_below

    @property
    def has_attacker(self) -> bool:
        """Whether the attacker has been chosen."""
        return self._sweeper is not None

    @property
    def sweeper(self) -> SweepAttacker:
        """The attacker of the sweep."""
        assert self._sweeper is not None  # noqa: S101 - used only after the sweep has begun
        return self._sweeper

    def begin(
        self, strength: Strength, inputs: Inputs, progress: ProgressCallback, *, one_release: bool = False
    ) -> AttackerOutcome:
        """Run all attackers on the first release; the strongest by risk runs the sweep, and its attack is the first.

        With `one_release` all rows are of this release, and what attackers do not see in it holds for all of them.
        """
        ensemble = run_attackers(self.resolved, inputs, progress)
        chosen = ensemble.chosen
        attacker = chosen.measured.attack.attacker
        self._sweeper = SweepAttacker(
            ensemble.headline, attacker, ensemble.picked_among, ensemble.confidence, chosen.canaries, ensemble.reading
        )
        self._inputs = {role: item for role, item in describe_inputs(inputs).items() if role != "protected"}
        if inputs.evaluation.matches is not None:
            self._scenario = inputs.evaluation.matches.scenario
        self._notices = _notices(ensemble, inputs, self.resolved)
        if one_release:
            self.unseen = tuple(closing_reasons(unseen_findings(ensemble, self.resolved, inputs)))
        elif self.target is not None:
            self.verdicts[strength] = EnsembleReading.of(ensemble, self.target, self.resolved, inputs)
        return chosen

    def attack(self, inputs: Inputs, progress: ProgressCallback, attacker: Attacker | None = None) -> AttackerOutcome:
        """Run one attack by the sweep's attacker, or by a variation of it.

        Canaries depend on the people and hardly on the release: those of the first release are used for all.
        """
        found = run_attacker(attacker or self.sweeper.attacker, self.resolved, inputs, progress)
        return replace(found, canaries=self.sweeper.canaries)

    def add(self, strength: Strength, outcome: AttackerOutcome, inputs: Inputs, useful: out.MeanUtility) -> None:
        """Add a row."""
        self.rows.append(self.row(strength, outcome, inputs, useful))

    def add_draws(self, drawn: Sequence[out.SurfaceSetting]) -> int:
        """Add the row of several draws at one strength: that of the largest risk. Return its number among them."""
        at = max(range(len(drawn)), key=lambda number: _order(drawn[number]))
        row = drawn[at]
        if len(drawn) > 1:
            risks = [item.risk.estimate for item in drawn if item.risk is not None]
            useful = [item.utility.mean for item in drawn if item.utility.mean is not None]
            safe = None if row.safe is None else all(item.safe for item in drawn)
            doubts = list(dict.fromkeys(text for item in drawn for text in item.doubts))
            row = row.model_copy(update={"draws": risks, "utilities": useful, "safe": safe, "doubts": doubts})
        self.rows.append(row)
        return at

    def row(
        self, strength: Strength, outcome: AttackerOutcome, inputs: Inputs, useful: out.MeanUtility
    ) -> out.SurfaceSetting:
        """The row of one release."""
        self._exact &= outcome.measured.attack.exact
        by = self.sweeper
        ensemble = EnsembleOutcome.of({by.name: outcome}, reading=by.reading)
        disclosure = disclosure_of_attacks(self.resolved, inputs, ensemble)
        self._k = min(self._k, disclosure.k)
        read = AttackReading(ensemble, by.picked_among, by.confidence, self.target, disclosure, self.unseen or ())
        if self.unseen is None and read.looks_safe:
            # Only a low risk needs attackers that see.
            unread = unread_findings(ensemble, self.resolved, inputs)
            read = replace(read, unseen=tuple(closing_reasons(unread)))
        return setting_row(strength, read, inputs, useful)

    def weakest(self, judge: Callable[[Strength], EnsembleReading | None]) -> out.WeakestSetting | None:
        """The weakest setting from which all are inside and that holds against all attackers; None if there is none.

        The strongest attacker on the weakest release may not be the strongest on a stronger one. So `judge` tests the
        setting's release against all attackers, and for what they cannot see (None: its release was not kept). If one
        of them exceeds the target, or is blind, the setting is outside, and the next stronger one is tried. The
        reported risk is that of the strongest there.
        """
        while (at := weakest_inside([bool(row.safe) for row in self.rows])) is not None:
            row = self.rows[at]
            verdict = self.verdicts.get(row.strength) or judge(row.strength)
            if verdict is None:
                verdict = EnsembleReading((self.sweeper.name,), self.sweeper.name, row.judged, row.shown, ())
            if not verdict.reasons:
                return out.WeakestSetting(
                    strength=row.strength,
                    attacker=verdict.headline,
                    figure=verdict.figure,
                    estimate=verdict.risk.estimate,
                    low=verdict.risk.low,
                    high=verdict.risk.high,
                    utility=row.utility,
                    held_against=list(verdict.attackers),
                )
            why = f"attacker '{verdict.headline}', the strongest at this strength: {'; '.join(verdict.reasons)}"
            cells = [cell.model_copy(update={"safe": False, "contradicted": True}) for cell in row.cells]
            self.rows[at] = row.model_copy(update={"safe": False, "doubts": [*row.doubts, why], "cells": cells})
        return None

    def result(
        self,
        sweep: Literal["mechanism", "blocking"],
        mechanism: str,
        weakest: out.WeakestSetting | None,
        *,
        function: bool = False,
    ) -> out.SurfaceResult:
        """The whole surface. Blockings have no order of strength, so none is a rise or isolated."""
        by, rows = self.sweeper, mark_steep_cells(self.rows)
        ordered = sweep == "mechanism"
        target = None
        if self.target is not None:
            inside = [bool(row.safe) for row in rows]
            target = out.SurfaceTarget(
                rate=self.target,
                inside=[row.strength for row in rows if row.safe],
                isolated=[rows[at].strength for at in isolated_settings(inside)] if ordered else [],
                weakest=weakest,
            )
        climbing = rising_settings([row.shown.estimate for row in rows]) if ordered else []
        return out.SurfaceResult.model_validate(
            {
                "schema": "cvpl/surface/1",
                "inputs": self._inputs,
                "scenario": self._scenario,
                "sweep": sweep,
                "mechanism": mechanism,
                "function": function,
                "attacker": by.name,
                "asked_for": self._asked_for,
                "attacker_settings": by.attacker.model_dump(mode="json"),
                "picked": out.Picked(among=by.picked_among, confidence=by.confidence) if by.picked_among > 1 else None,
                "canaries": Disclosure(self._k).published_or_none(None if by.canaries is None else by.canaries.figures),
                "axis": "threshold" if by.attacker.on_scale else "false_rate",
                "settings": rows,
                "failed": self.failed,
                "rises_at": [rows[at].strength for at in climbing],
                "high_sensitivity": HIGH_SENSITIVITY,
                "target": target,
                "warnings": warning_sections(self._notices),
                "lower_bound": not self._exact,
                "provenance": provenance(self.resolved),
                "suppress_below": self._k,
            }
        )


def _order(row: out.SurfaceSetting) -> tuple[float, float]:
    """By risk, then by its upper end. A risk that is unknown counts as the largest: it may be."""
    shown = row.shown
    return (
        float("inf") if shown.estimate is None else shown.estimate,
        float("inf") if shown.high is None else shown.high,
    )


def _notices(ensemble: EnsembleOutcome, inputs: Inputs, resolved: ResolvedConfig) -> list[AuditWarning]:
    """The warnings for every strength: disqualified attackers, and whether the control is valid."""
    found = []
    if len(ensemble.outcomes) > 1:
        found += [AuditWarning("attacker_disqualified", text) for text in ensemble.disqualified]
    if ensemble.left_out:
        found.append(attackers_left_out(ensemble))
    found += too_many_labels(ensemble)
    likeness = compare_control(inputs, resolved.config.seed, disclosure_of(resolved, inputs))
    if likeness is not None:
        found += [AuditWarning("control_unlike", alarm) for alarm in likeness.figures.alarms]
    return found + few_people(resolved, inputs)


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
    picked_among: int
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
            by_control = risk_by_control(name, measured, rate, self.confidence, self.picked_among)
            return self._bounded(self.disclosure.published(by_control))
        return self.disclosure.published_or_none(risk_by_matches(name, measured, self.confidence, self.picked_among))

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
        return _meets_target(high, self.target, contradicted=bool(self.objections))


def setting_row(strength: Strength, read: AttackReading, inputs: Inputs, useful: out.MeanUtility) -> out.SurfaceSetting:
    """One strength's row: risk, rates at the threshold, and cells; steep cells are marked later."""
    measured, ensemble = read.measured, read.ensemble
    done = measured.attack
    warned = notices(measured, ensemble, inputs, None, read.disclosure)
    setting = out.SurfaceSetting(
        strength=strength,
        release=describe_inputs(inputs)["protected"],
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


def mark_steep_cells(rows: Sequence[out.SurfaceSetting]) -> list[out.SurfaceSetting]:
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
        safe = _meets_target(high, read.target, contradicted=contradicted)
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


def _meets_target(high: float | None, target: float | None, *, contradicted: bool) -> bool | None:
    """Whether the upper end is at most the target and nothing contradicts it; None without a target."""
    return None if target is None else high is not None and high <= target and not contradicted


HIGH_SENSITIVITY = 0.05
"""The largest change of the rate between neighbouring cells that does not count as steep: five percentage points.

Between thresholds, which are 0.01 apart, this is the slope at which an audit warns of a steep threshold: 10 points
within 0.02. Between strengths it is the same, whatever their distance: users who change the strength by one of the
tried steps should know if the result changes with it.
"""

Rates = Sequence[Sequence[float | None]]


def steep_cells(rates: Rates, most: float = HIGH_SENSITIVITY) -> list[list[bool]]:
    """The cells of high sensitivity: some neighbour's rate differs by more than `most`.

    steep(i, j) = max over neighbours (a, b) of |R(i, j) - R(a, b)| > most

    Neighbours are the cells of the same strength at the adjacent thresholds, and those of the adjacent strengths at the
    same threshold. Both sides of a step are steep. An unknown rate makes no neighbour steep.
    """
    steep = [[False] * len(row) for row in rates]
    for i, row in enumerate(rates):
        for j, rate in enumerate(row):
            for a, b in ((i + 1, j), (i, j + 1)):
                if a < len(rates) and b < len(rates[a]) and _differ_by_more(rate, rates[a][b], most):
                    steep[i][j] = steep[a][b] = True
    return steep


def weakest_inside(inside: Sequence[bool]) -> int | None:
    """The weakest setting from which all are inside: the smallest i with inside[i], inside[i + 1], ... all true.

    A setting that is inside while a stronger one is not may be so by chance, and is not returned. None if even the
    strongest is outside. Going from the strongest down and stopping at the first that is outside is a sequence of tests
    in a fixed order: the probability of returning a setting whose true rate is above the target is that of one
    interval's upper end being too low, however many settings are tried.
    """
    found = None
    for at in reversed(range(len(inside))):
        if not inside[at]:
            break
        found = at
    return found


def isolated_settings(inside: Sequence[bool]) -> list[int]:
    """The settings that are inside while a stronger one is not."""
    first = weakest_inside(inside)
    return [at for at, is_inside in enumerate(inside) if is_inside and (first is None or at < first)]


def rising_settings(risks: Sequence[float | None]) -> list[int]:
    """The settings whose risk is above that of the next weaker setting with a known risk: not monotone there."""
    found, before = [], None
    for at, risk in enumerate(risks):
        if risk is None:
            continue
        if before is not None and risk > before:
            found.append(at)
        before = risk
    return found


def _differ_by_more(one: float | None, other: float | None, most: float) -> bool:
    return one is not None and other is not None and abs(one - other) > most
