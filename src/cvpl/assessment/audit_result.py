"""The result of an audit: its measurements in one document, published once, and what is decided by that."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl import result as out
from cvpl.assessment import attack_sections
from cvpl.assessment.compliance import compliance
from cvpl.assessment.diagnostics.all_diagnostics import Diagnostics
from cvpl.assessment.diagnostics.subgroup_rates import at_risk
from cvpl.assessment.disclosure import few_people
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.gate import TableFigures, gate
from cvpl.assessment.provenance import described, provenance
from cvpl.assessment.verdict import bounded, verdict_of_published
from cvpl.assessment.warnings import notices, warning_sections
from cvpl.config.attackers import SCENARIOS, scenario_columns
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.attack_figures import curve_points, evidence_shares, growth, truth_figures
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.truth import population, with_precision
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs

UNDECIDED = out.Verdict(kind="undetermined", sentence="")
"""Stands in a result until its figures are published."""


@dataclass(frozen=True, eq=False)
class Assessment:
    """One assessed release: its attackers, the chosen one's measurement, the diagnostics and the checks.

    `fail_above` is the limit of a caller's own gate.
    """

    ensemble: EnsembleOutcome
    measured: Measurement
    diagnosed: Diagnostics
    likeness: ControlTests | None
    findings: list[out.Finding]
    disclosure: Disclosure
    fail_above: float | None = None


def audit_result(
    judged: Assessment,
    resolved: ResolvedConfig,
    inputs: Inputs,
    drawn: out.Randomization | None,
    assumptions: out.Assumptions | None = None,
) -> out.AuditResult:
    """Every section of `result.json`, with figures rounded so that none tells of a few people."""
    ensemble, measured, found = judged.ensemble, judged.measured, judged.diagnosed
    done = measured.attack
    disclosure = judged.disclosure
    warned = notices(measured, ensemble, inputs, judged.likeness, disclosure, found.sensitivity)
    warned += few_people(resolved, inputs)
    measured_figures = out.AuditResult(
        schema="cvpl/audit/2",
        verdict=UNDECIDED,
        risk=ensemble.risk,
        certain=ensemble.certain,
        best_candidate=ensemble.best_candidate,
        preflight=judged.findings,
        inputs=described(inputs),
        scenario="blind" if inputs.evaluation.matches is None else inputs.evaluation.matches.scenario,
        attacker=ensemble.headline,
        attacker_scenario=_attacker_scenario(resolved),
        threshold=measured.threshold,
        calibration=attack_sections.calibration(measured),
        linkage_rate=attack_sections.rate(measured),
        risk_curve=curve_points(measured),
        worst_case_risk=measured.worst_case_risk,
        integrated_risk=measured.integrated_risk,
        blocks=attack_sections.blocks(measured, disclosure.k),
        projection=attack_sections.projection(measured),
        truth=truth_figures(measured, disclosure.k),
        evidence=evidence_shares(measured, disclosure.k),
        growth=growth(measured, disclosure.k),
        control=attack_sections.control(measured),
        attributable_rate=attack_sections.attributable(measured),
        power=attack_sections.power(measured, ensemble.reading.false_rate),
        ladder=found.ladder,
        attackers=attack_sections.attacker_rows(ensemble),
        picked=ensemble.picked,
        canaries=None if ensemble.chosen.canaries is None else ensemble.chosen.canaries.figures,
        alignment=attack_sections.alignment(measured, disclosure.grid("protected")),
        policy=None,
        validity=_validity(ensemble),
        self_linkage=found.self_linkage,
        feature_contribution=found.contributions,
        control_likeness=None if judged.likeness is None else judged.likeness.figures,
        sensitivity=found.sensitivity,
        at_risk=at_risk(found.subgroups.get(ensemble.headline), disclosure.k),
        singling_out=found.singling_out,
        membership=found.membership,
        criteria=found.criteria,
        inference=found.inference,
        techniques=list(found.techniques),
        tail=list(found.tail),
        recipients=list(found.recipients),
        warnings=warning_sections(warned),
        search=attack_sections.search(done),
        lower_bound=not done.exact,
        provenance=provenance(resolved, drawn),
        assumptions=assumptions,
        quick=resolved.quick,
        suppress_below=disclosure.k,
    )
    return _decided(disclosure.published(measured_figures), judged, resolved, inputs)


def _decided(told: out.AuditResult, judged: Assessment, resolved: ResolvedConfig, inputs: Inputs) -> out.AuditResult:
    """The published figures with what is decided by them: the verdict, the policies, and comparisons with promises."""
    ensemble, findings, k = judged.ensemble, judged.findings, judged.disclosure.k
    decided = verdict_of_published(
        ensemble, findings, k, risk=told.risk, certain=told.certain, best_candidate=told.best_candidate
    )
    criteria = judged.diagnosed.criteria
    tables = TableFigures(
        k=None if criteria is None else criteria.k,
        singled_out=None if told.singling_out is None else told.singling_out.rate,
        inferred=told.inference,
    )
    policies = gate(
        ensemble,
        judged.measured,
        resolved.config.policy,
        judged.fail_above,
        judged.diagnosed.subgroups,
        findings,
        judged.disclosure,
        tables,
    )
    among = population(resolved.config.population, inputs.pair.original.rows, told.power, k)
    told = told.model_copy(
        update={
            "verdict": decided,
            "risk": bounded(told.risk, findings),
            "certain": bounded(told.certain, findings),
            "policy": policies[0] if policies else None,
            "policies": policies,
            "population": among,
            "membership": with_precision(told.membership, among, k),
        }
    )
    return told.model_copy(update={"compliance": compliance(told, inputs.evaluation.matches)})


def _validity(ensemble: EnsembleOutcome) -> out.Validity:
    """The headline's validity, with the reasons why no attacker's figure can be read as risk."""
    reasons = list(ensemble.reasons)
    return ensemble.chosen.valid.model_copy(update={"assessable": not reasons, "reasons": reasons})


def _attacker_scenario(resolved: ResolvedConfig) -> out.AttackerScenario | None:
    """The scenario of the configuration, with what the attackers knew; null without one."""
    written = resolved.config.attacker
    if written is None or written.scenario is None:
        return None
    scenario = SCENARIOS[written.scenario]
    columns = written.knows or ()
    return out.AttackerScenario(
        name=written.scenario,
        source=scenario.source,
        who=scenario.who,
        columns=list(columns),
        errors=written.errors,
        people=scenario.people,
        knows_people=written.knows_people,
        answer=scenario.answer,
        stated=set(columns) == set(scenario_columns(resolved.config, scenario)) and written.errors == scenario.errors,
    )
