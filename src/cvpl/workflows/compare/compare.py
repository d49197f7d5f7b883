"""The comparison of several releases of one original: risk, utility and ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cvpl import result as out
from cvpl.assessment.diagnostics.all_diagnostics import run_contributions
from cvpl.assessment.diagnostics.compared_control import compare_control
from cvpl.assessment.diagnostics.release_utility import release_utility
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks, few_people
from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.gate import gate
from cvpl.assessment.preflight import preflight
from cvpl.assessment.progress import (
    Phase,
    ProgressCallback,
    RisingProgress,
    WholeProgress,
    ignore_progress,
    parts,
    prefix_progress,
)
from cvpl.assessment.provenance import described, provenance
from cvpl.assessment.sections import diagnostics, measurements
from cvpl.assessment.sections.attackers import attacker_rows
from cvpl.assessment.verdict import best_candidate_section, risk_section, verdict
from cvpl.assessment.warnings import notices
from cvpl.assessment.work import Work
from cvpl.config.resolved import ConfigLike, ResolvedConfig
from cvpl.config.written import PolicyConfig
from cvpl.evaluation.control import FALSE_RATE
from cvpl.evaluation.intervals.paired import (
    FigureEstimate,
    SearchedRows,
    attributable_by_power,
    attributable_estimate,
    power_estimate,
)
from cvpl.evaluation.measurement import Measurement
from cvpl.result.figures import power_at
from cvpl.result.verdict import TOO_FEW
from cvpl.search.blas_threads import one_blas_thread
from cvpl.tables.pair import Inputs
from cvpl.utility import Utility
from cvpl.workflows.audit import read_tables
from cvpl.workflows.compare.inputs import NamedRelease, check_releases, named
from cvpl.workflows.compare.ranking import ReleaseFigures, ranked


def compare(
    original: object,
    releases: Sequence[object] | Mapping[str, object],
    config: ConfigLike,
    *,
    control: object | None = None,
    attackers: Sequence[str] | None = None,
    memory: int | None = None,
    progress: ProgressCallback | None = None,
) -> out.ComparisonResult:
    """Compare several releases of `original`: risk, utility, ranking and efficient frontier.

    Each release is attacked as in `cvpl.audit`, and the strongest attacker gives its risk, the figure of the audit's
    verdict. Differences between two releases are paired by person; two releases whose difference may be 0 are tied.
    `releases` are tables as in `cvpl.audit`, or a mapping from names to tables. They are read twice, so a table that
    can be read only once does not work. The other arguments are those of `cvpl.audit`. Policies in the configuration
    are applied to each release, except those on subgroups. Raises InputError with the problems of all releases.
    `progress` is called with what is being done and the share of the whole comparison that is done; each release is an
    equal part. The same inputs and seed give the same result.
    """
    whole = RisingProgress(progress or ignore_progress)
    whole(Phase.READING, None)
    given = named(releases)
    checked = check_releases(original, given, config, control, memory, attackers)
    resolved, found = checked.resolved, []
    with one_blas_thread():
        for one, part in zip(given, parts(whole, [1] * len(given)), strict=True):
            its_progress = WholeProgress(prefix_progress(part, one.name) if len(given) > 1 else part)
            its_progress(Phase.READING, None)
            inputs = read_tables(original, one.table, resolved, control)
            if progress is not None:
                its_progress.expect(Work(resolved, inputs).compared())
            found.append(_measure(one, resolved, inputs, its_progress))
            its_progress.finish()
    order = ranked(found)
    return out.ComparisonResult(
        schema="cvpl/compare/1",
        inputs=checked.inputs,
        false_rate=FALSE_RATE,
        releases=order.releases,
        differences=order.differences,
        frontier=order.frontier,
        utility_figures=order.utility_figures,
        provenance=provenance(resolved),
        suppress_below=min(item.disclosure.k for item in found),
    )


def _measure(one: NamedRelease, resolved: ResolvedConfig, inputs: Inputs, progress: ProgressCallback) -> ReleaseFigures:
    """Attack one release, and compute its utility and what is needed to compare it."""
    ensemble = run_attackers(resolved, inputs, progress)
    measured = ensemble.chosen.measured.at_confidence(ensemble.confidence)
    done, pair = measured.attack, inputs.pair
    contribution = diagnostics.contributions(run_contributions(measured, resolved, inputs, progress))
    disclosure = disclosure_of_attacks(resolved, inputs, ensemble)
    likeness = compare_control(inputs, done.seed, disclosure_of(resolved, inputs))
    progress(Phase.UTILITY, None)
    # All releases use one vectorization, whichever attacker is strongest against each.
    kept = release_utility(inputs, resolved.first_vectorization, done.seed)
    findings = preflight(resolved, inputs, likeness)
    decided = verdict(ensemble, findings, disclosure)
    assessable = decided.kind != "not_assessable"
    warned = [*notices(measured, ensemble, inputs, likeness, disclosure), *few_people(resolved, inputs)]
    asked = SearchedRows(
        done.people, done.control_rows, (pair.original.rows, 0 if pair.control is None else pair.control.rows)
    )
    rate = ensemble.reading.false_rate
    risk = None
    if rate is not None and assessable and measured.has_control:
        power = power_estimate(measured.spread, asked, rate)
        risk = None if power is None else attributable_by_power(power, rate)
    groups = None
    if inputs.evaluation.unit.codes is not None:
        groups = inputs.evaluation.unit.codes["original"], inputs.evaluation.unit.codes.get("control")
    section = _section(one, measured, ensemble, inputs, kept, contribution, diagnostics.warnings(warned))
    section = section.model_copy(
        update={
            "assessable": assessable,
            "reasons": [*ensemble.reasons, *(finding.message for finding in findings if finding.check == TOO_FEW)],
            "verdict": decided,
            "risk": risk_section(ensemble.risk, ensemble) if assessable else None,
            "best_candidate": best_candidate_section(ensemble),
            "preflight": findings,
            "policies": gate(ensemble, measured, _policies(resolved), None, {}, findings, disclosure),
        }
    )
    # Releases are ranked by what is published, so that their order tells no more than their figures.
    section = disclosure.published(section)
    return ReleaseFigures(section, risk, _attributable(measured, asked), asked, ensemble.among, groups, disclosure)


def _policies(resolved: ResolvedConfig) -> tuple[PolicyConfig, ...]:
    """The policies that a comparison can judge: it does not measure the rates of subgroups."""
    policy = resolved.config.policy
    written = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
    return tuple(one for one in written if one.figure != "maximum_subgroup_rate")


def _attributable(measured: Measurement, asked: SearchedRows) -> FigureEstimate | None:
    """The attributable rate at the threshold, the paper's figure; None for a score without a threshold."""
    if measured.attributable is None or measured.threshold is None:
        return None
    return attributable_estimate(measured.spread, asked, measured.threshold)


def _section(
    release: NamedRelease,
    measured: Measurement,
    ensemble: EnsembleOutcome,
    inputs: Inputs,
    kept: Utility,
    contribution: out.Contributions,
    warnings: list[out.Warning_],
) -> out.ComparedRelease:
    """The figures of one release alone; the rest is filled in once all are done."""
    truth, top1 = measured.truth, measured.top1_interval
    row = measurements.attacker_row(ensemble.headline, measured, (), None)
    return out.ComparedRelease(
        name=release.name,
        input=described(inputs)["protected"],
        scenario="blind" if inputs.evaluation.matches is None else inputs.evaluation.matches.scenario,
        assessable=not ensemble.reasons,
        reasons=list(ensemble.reasons),
        attacker=ensemble.headline,
        threshold=measured.threshold,
        asked=measured.attack.original.rows,
        power=power_at(measurements.power(measured), FALSE_RATE),
        attributable_rate=row.attributable_rate,
        linkage_rate=row.linkage_rate,
        control_rate=row.control_rate,
        top1_hit_rate=row.top1_hit_rate,
        top1_low=None if truth is None or top1 is None else top1.low,
        top1_high=None if truth is None or top1 is None else top1.high,
        picked=ensemble.picked,
        utility=out.ComparedUtility(
            score=None,
            correlation_preservation=kept.correlation.figure,
            marginal_similarity=kept.marginal.figure,
            downstream_accuracy_ratio=kept.downstream.figure,
            distance_preservation=kept.distance.figure,
            distance_basis=kept.distance.basis,
            accuracy_of_originals=kept.downstream.original,
            accuracy_of_release=kept.downstream.protected,
            accuracy_of_guessing=kept.downstream.commonest,
            columns=[spec.name for spec in inputs.pair.original.specs],
        ),
        risk_places=None,
        utility_places=None,
        on_frontier=None,
        beaten_by=[],
        clearly_beaten_by=[],
        feature_contribution=contribution,
        attackers=attacker_rows(ensemble),
        lower_bound=not measured.attack.exact,
        warnings=warnings,
    )
