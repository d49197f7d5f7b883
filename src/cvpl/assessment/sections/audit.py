"""The result of an audit, assembled from its measurements. Nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl import result as out
from cvpl.assessment.diagnostics.all_diagnostics import Diagnostics
from cvpl.assessment.disclosure import few_people
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.gate import TableFigures
from cvpl.assessment.provenance import described, provenance
from cvpl.assessment.sections import diagnostics, measurements
from cvpl.assessment.sections.attackers import attacker_rows
from cvpl.assessment.sections.compliance import compliance
from cvpl.assessment.sections.formal_criteria import criteria
from cvpl.assessment.sections.inference import inference
from cvpl.assessment.sections.population import population, with_precision
from cvpl.assessment.sections.release_report import recipients, tail, techniques
from cvpl.assessment.sections.scenario import attacker_scenario
from cvpl.assessment.verdict import best_candidate_section, bounded, risk_section, verdict
from cvpl.assessment.warnings import notices
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.control_likeness import ControlLikeness
from cvpl.evaluation.curve_points import curve_points
from cvpl.evaluation.evidence import evidence_shares
from cvpl.evaluation.growth import growth
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.truth_figures import truth_figures
from cvpl.result.published import Disclosure
from cvpl.tables.pair import Inputs


@dataclass(frozen=True, eq=False)
class Assessment:
    """One assessed release: its attackers, the chosen one's measurement, the diagnostics, the checks and the gate."""

    ensemble: EnsembleOutcome
    measured: Measurement
    diagnosed: Diagnostics
    likeness: ControlLikeness | None
    findings: list[out.Finding]
    policies: list[out.PolicyOutcome]
    disclosure: Disclosure


def table_figures(found: Diagnostics, disclosure: Disclosure) -> TableFigures:
    """The figures of a gate that belong to the release, as they are published."""
    singled = disclosure.published_or_none(found.singling_out)
    return TableFigures(
        k=None if found.criteria is None else found.criteria.classes.k,
        singled_out=None if singled is None else singled.rate,
        inferred=disclosure.published_or_none(inference(found.inference)),
    )


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
    result = out.AuditResult(
        schema="cvpl/audit/2",
        verdict=verdict(ensemble, judged.findings, disclosure),
        risk=bounded(risk_section(ensemble.risk, ensemble), judged.findings),
        certain=bounded(risk_section(ensemble.certain, ensemble), judged.findings),
        best_candidate=best_candidate_section(ensemble),
        preflight=judged.findings,
        inputs=described(inputs),
        scenario="blind" if inputs.evaluation.matches is None else inputs.evaluation.matches.scenario,
        attacker=ensemble.headline,
        attacker_scenario=attacker_scenario(resolved),
        threshold=measured.threshold,
        calibration=measurements.calibration(measured),
        linkage_rate=measurements.rate(measured),
        risk_curve=curve_points(measured),
        worst_case_risk=measured.worst_case_risk,
        integrated_risk=measured.integrated_risk,
        blocks=measurements.blocks(measured, disclosure.k),
        projection=measurements.projection(measured),
        truth=truth_figures(measured, disclosure.k),
        evidence=evidence_shares(measured, disclosure.k),
        growth=growth(measured, disclosure.k),
        control=measurements.control(measured),
        attributable_rate=measurements.attributable(measured),
        power=measurements.power(measured, ensemble.reading.false_rate),
        ladder=found.ladder,
        attackers=attacker_rows(ensemble),
        picked=ensemble.picked,
        canaries=None if ensemble.chosen.canaries is None else ensemble.chosen.canaries.figures,
        alignment=measurements.alignment(measured, disclosure.grid("protected")),
        policy=judged.policies[0] if judged.policies else None,
        policies=judged.policies,
        validity=diagnostics.validity(ensemble),
        self_linkage=diagnostics.self_linkage(found, ensemble.chosen.copied),
        feature_contribution=diagnostics.contributions(found.contributions),
        control_likeness=diagnostics.likeness(judged.likeness),
        sensitivity=found.sensitivity,
        at_risk=diagnostics.at_risk(found.subgroups.get(ensemble.headline), disclosure.k),
        singling_out=found.singling_out,
        membership=found.membership,
        criteria=criteria(found.criteria),
        inference=inference(found.inference),
        techniques=techniques(found.techniques, resolved),
        tail=tail(found.tail),
        recipients=recipients(found.recipients, judged.findings),
        warnings=diagnostics.warnings(warned),
        search=measurements.search(done),
        lower_bound=not done.exact,
        provenance=provenance(resolved, drawn),
        assumptions=assumptions,
        quick=resolved.quick,
        suppress_below=disclosure.k,
    )
    told = disclosure.published(result)
    setting, people = resolved.config.population, inputs.pair.original.rows
    among = population(setting, people, told.power, disclosure.k)
    inside = with_precision(told.membership, among, disclosure.k)
    told = told.model_copy(update={"population": among, "membership": inside})
    return told.model_copy(update={"compliance": compliance(told, inputs.evaluation.matches)})
