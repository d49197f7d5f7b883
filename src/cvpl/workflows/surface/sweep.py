"""A running sweep: its attacker, the rows so far, and the surface made from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cvpl import result as out
from cvpl.assessment import audit_result
from cvpl.assessment.audit_result import described, provenance
from cvpl.assessment.combined import AttackerOutcome
from cvpl.assessment.decision import attackers_left_out, closing_reasons, gate, too_many_labels, warning_sections
from cvpl.assessment.diagnostics.canaries import CanaryOutcome
from cvpl.assessment.diagnostics.release_questions import compare_control
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks, few_people
from cvpl.assessment.ensemble import EnsembleOutcome, run_attacker, run_attackers
from cvpl.assessment.planning.progress import ProgressCallback
from cvpl.assessment.sight import unread_findings, unseen_findings
from cvpl.attack.attacker import Attacker
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.measurement import RiskReading
from cvpl.result.mechanisms import JudgedFigure, Strength
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs
from cvpl.workflows.surface.regions import HIGH_SENSITIVITY, isolated, rises, weakest_inside
from cvpl.workflows.surface.rows import AttackReading, setting_row, with_steepness


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
    among: int
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
            ensemble.headline, attacker, ensemble.among, ensemble.confidence, chosen.canaries, ensemble.reading
        )
        self._inputs = {role: item for role, item in described(inputs).items() if role != "protected"}
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
        read = AttackReading(ensemble, by.among, by.confidence, self.target, disclosure, self.unseen or ())
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
        by, rows = self.sweeper, with_steepness(self.rows)
        ordered = sweep == "mechanism"
        target = None
        if self.target is not None:
            inside = [bool(row.safe) for row in rows]
            target = out.SurfaceTarget(
                rate=self.target,
                inside=[row.strength for row in rows if row.safe],
                isolated=[rows[at].strength for at in isolated(inside)] if ordered else [],
                weakest=weakest,
            )
        climbing = rises([row.shown.estimate for row in rows]) if ordered else []
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
                "picked": out.Picked(among=by.among, confidence=by.confidence) if by.among > 1 else None,
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
