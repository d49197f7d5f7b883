"""The whole audit: two tables and a configuration in, a result out."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from threadpoolctl import threadpool_limits

from cvpl import result as out
from cvpl.assessment.diagnostics.power_drop import power_drops
from cvpl.assessment.diagnostics.progressive import climb
from cvpl.assessment.diagnostics.self_linkage import leave_one_out
from cvpl.assessment.diagnostics.sensitivity import sensitivity
from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.gate import gate
from cvpl.assessment.preflight import preflight
from cvpl.assessment.provenance import described, provenance
from cvpl.assessment.resources import ResourceEstimate, check_embeddings, estimate_resources, place_for
from cvpl.assessment.sections import diagnostics, measurements
from cvpl.assessment.verdict import best_candidate_section, risk_section, verdict
from cvpl.assessment.warnings import notices
from cvpl.attack.saved_projection import save_projection
from cvpl.config.resolved import ConfigLike, ResolvedConfig, load
from cvpl.errors import InputError, Problem, UsageError
from cvpl.evaluation.control_likeness import ControlLikeness, control_likeness
from cvpl.evaluation.rates import integrated_risk, worst_case_risk
from cvpl.randomness import stream
from cvpl.tables.absent import absent_as_control
from cvpl.tables.pair import Inputs, check_files, read_inputs

Report = Callable[[str, float | None], None]
"""Called with the name of a phase and, where it is known, the share of it that is done."""


def audit(
    original: object,
    protected: object,
    config: ConfigLike,
    *,
    control: object | None = None,
    fail_above: float | None = None,
    attackers: Sequence[str] | None = None,
    randomize: bool | int = False,
    memory: int | None = None,
    save_projection_to: str | Path | None = None,
    report: Report | None = None,
    on_preflight: Callable[[Sequence[out.Finding]], None] | None = None,
) -> out.AuditResult:
    """Measure how well the people of `original` can be linked to records of `protected`.

    Tables are paths (CSV, CSV.gz, Parquet) or dataframes that speak Arrow. `config` is the path of an audit.yaml, a
    mapping of the same form, or an AuditConfig. `control` is a table of people known to be absent from the release; it
    takes the place of the configuration's. `fail_above` sets the policy's limit, `memory` the bytes that may be used in
    place of `search.memory`. Raises InputError with every problem of tables and configuration, and LimitError where
    the memory does not suffice. The same inputs and seed give the same result, whatever the threads and the memory.

    `attackers` names some of the configuration's attackers, for example of the family of `attacker: default`; the
    others are not run. With `randomize` three more are drawn from a wider family by a seed that is made now and stands
    in the result; a number is taken for the seed itself, to repeat such a run.

    `on_preflight` is called with the findings of the checks before any attack starts.
    """
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise UsageError(f"fail_above is {fail_above}; allowed is a rate from 0 to 1")
    say = report or _silent
    say("reading", None)
    resolved, inputs = read_plan(original, protected, config, control, memory)
    if attackers is not None:
        resolved = resolved.only(attackers)
    drawn = None
    if randomize is not False:
        seed = secrets.randbits(32) if randomize is True else int(randomize)
        known = set(resolved.attackers)
        resolved = resolved.with_drawn(seed, reference=inputs.pair.control is not None)
        drawn = out.Randomization(seed=seed, attackers=[name for name in resolved.attackers if name not in known])
    # Matrix products run on one core each, inside our own threads: results then never depend on their number.
    with threadpool_limits(limits=1, user_api="blas"):
        say("checking the tables", None)
        likeness = likeness_of(resolved, inputs)
        findings = preflight(resolved, inputs, likeness)
        if on_preflight is not None:
            on_preflight(findings)
        ensemble = run_attackers(resolved, inputs, say)
        looked = PreAttackChecks(likeness, findings)
        result = _assemble(ensemble, resolved, inputs, fail_above, drawn, looked, say)
    if save_projection_to is not None:
        representation = ensemble.chosen.measured.attack.representation
        save_projection(save_projection_to, representation.space, representation.projection)
    return result


def plan_audit(
    original: object,
    protected: object,
    config: ConfigLike,
    *,
    control: object | None = None,
    attackers: Sequence[str] | None = None,
    memory: int | None = None,
) -> ResourceEstimate:
    """What an audit with these arguments would compare, and what it would take, without doing it."""
    resolved, inputs = read_plan(original, protected, config, control, memory)
    resolved = resolved if attackers is None else resolved.only(attackers)
    findings = preflight(resolved, inputs, likeness_of(resolved, inputs))
    return replace(estimate_resources(resolved, inputs), findings=tuple(findings))


def read_plan(
    original: object, protected: object, config: ConfigLike, control: object | None, memory: int | None
) -> tuple[ResolvedConfig, Inputs]:
    """The resolved configuration and the checked tables, or every problem of both."""
    try:
        resolved = load(config)
    except InputError as error:
        problems = list(error.problems) + check_files(original, protected, control)
        raise InputError(problems) from None
    resolved = resolved.within(memory)
    return resolved, read_tables(original, protected, resolved, control)


def read_tables(original: object, protected: object, resolved: ResolvedConfig, control: object | None) -> Inputs:
    """The checked tables of one audit under a resolved configuration, or every problem of theirs."""
    inputs = read_inputs(
        original,
        protected,
        resolved.specs,
        control=resolved.control if control is None else control,
        reading=resolved.reading,
        identity=resolved.identity,
        declared=resolved.declared,
        groups=resolved.groups,
        subgroups=resolved.subgroups,
        memory=resolved.budget.memory,
        place=lambda rows: place_for(rows, resolved),
    )
    if control is None and resolved.control_is_absent:
        inputs = absent_as_control(inputs)
    if not inputs.pair.original.specs:
        what = "no observable column is in every table"
        raise InputError([Problem("configuration", what, "Declare columns that the tables have in common.")])
    check_embeddings(resolved, inputs)
    return inputs


@dataclass(frozen=True, eq=False)
class PreAttackChecks:
    """What was seen before any attack: how alike control and originals are, and the findings of the checks."""

    likeness: ControlLikeness | None
    findings: list[out.Finding]


def likeness_of(resolved: ResolvedConfig, inputs: Inputs) -> ControlLikeness | None:
    """How alike control and originals are; None without a control."""
    pair = inputs.pair
    if pair.control is None:
        return None
    return control_likeness(pair.original, pair.control, stream(resolved.config.seed, "likeness"))


def _assemble(
    ensemble: EnsembleOutcome,
    resolved: ResolvedConfig,
    inputs: Inputs,
    fail_above: float | None,
    drawn: out.Randomization | None,
    looked: PreAttackChecks,
    say: Report,
) -> out.AuditResult:
    name, outcomes = ensemble.headline, ensemble.outcomes
    measured = ensemble.chosen.measured.at_confidence(ensemble.confidence)
    done, threshold, grid = measured.attack, measured.threshold, resolved.config.grid.values()
    scores, on_scale = done.scores, done.attacker.on_scale
    say("self-linkage", None)
    self_linkage = {
        table: leave_one_out(done, table, threshold, stream(done.seed, f"self-linkage {table}"))
        for table in ("original", "protected")
    }
    say("feature contribution", None)
    drops = power_drops(measured, inputs) if resolved.runs_sensitivity else None
    contribution = diagnostics.contributions(measured, drops)
    say("progressive evaluation", None)
    ladder = None if threshold is None else climb(done, threshold)
    say("who is at risk", None)
    asked = [key for key in outcomes if key == name or (ensemble.among == 1 and _asks(resolved))]
    people = {key: diagnostics.rates_by_group(outcomes[key].measured, resolved, inputs) for key in asked}
    likeness, findings = looked.likeness, looked.findings
    swings = _sensitivity(ensemble, resolved, inputs, say)
    warnings = notices(measured, ensemble, inputs, likeness, swings)
    policies = gate(ensemble, measured, resolved.config.policy, fail_above, people, findings)
    copied = ensemble.chosen.copied
    at_risk = people.get(name)
    return out.AuditResult(
        schema="cvpl/audit/2",
        verdict=verdict(ensemble, findings),
        risk=risk_section(ensemble.risk, ensemble),
        certain=risk_section(ensemble.certain, ensemble),
        best_candidate=best_candidate_section(ensemble),
        preflight=findings,
        inputs=described(inputs),
        scenario="blind" if inputs.matches is None else inputs.matches.scenario,
        attacker=name,
        threshold=threshold,
        calibration=measurements.calibration(measured),
        linkage_rate=measurements.rate(measured),
        risk_curve=measurements.curve(measured, grid),
        worst_case_risk=worst_case_risk(scores, grid) if on_scale else None,
        integrated_risk=integrated_risk(scores, grid) if on_scale else None,
        blocks=measurements.blocks(measured),
        projection=measurements.projection(measured),
        truth=measurements.truth(measured),
        evidence=measurements.evidence(measured),
        growth=measurements.growth(measured),
        control=measurements.control(measured),
        attributable_rate=measurements.attributable(measured),
        power=measurements.power(measured, ensemble.reading.false_rate),
        ladder=None
        if ladder is None
        else out.Ladder(
            rungs=[out.RungRate(**vars(rung)) for rung in ladder.rungs], stopped_early=ladder.stopped_early
        ),
        attackers=[
            measurements.attacker_row(
                key,
                one.measured,
                one.faults,
                diagnostics.canaries(one.canaries),
                risk_section(ensemble.risk_of(key), ensemble),
            )
            for key, one in outcomes.items()
        ],
        picked=ensemble.picked,
        canaries=diagnostics.canaries(ensemble.chosen.canaries),
        alignment=None
        if done.granularity is None
        else [out.AlignedColumn(column=column, grain=grain) for column, grain in done.granularity.describe()],
        policy=policies[0] if policies else None,
        policies=policies,
        validity=diagnostics.validity(ensemble.chosen.valid, ensemble.reasons),
        self_linkage=out.SelfLinkage(
            original=diagnostics.self_rate(self_linkage["original"]),
            protected=diagnostics.self_rate(self_linkage["protected"]),
            perturbed=None if copied is None else diagnostics.self_rate(copied),
        ),
        feature_contribution=contribution,
        control_likeness=None if likeness is None else diagnostics.likeness(likeness),
        sensitivity=swings,
        at_risk=None if at_risk is None else diagnostics.at_risk(at_risk, resolved.config.report.suppress_below),
        warnings=[out.Warning_(rule=warning.rule, message=warning.message, docs=warning.docs) for warning in warnings],
        search=measurements.search(done),
        lower_bound=not done.exact,
        provenance=provenance(resolved, drawn),
    )


def _asks(resolved: ResolvedConfig) -> bool:
    """Whether a policy bounds the largest rate over subgroups, for which all are asked where none was picked."""
    policy = resolved.config.policy
    policies = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
    return any(item.figure == "maximum_subgroup_rate" for item in policies)


def _sensitivity(
    ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs, say: Report
) -> out.Sensitivity | None:
    """The variations of the headline, or of the first attacker that has a threshold; null where they were not run."""
    if not resolved.runs_sensitivity:
        return None
    running = ensemble.qualified or ensemble.outcomes
    able = {key: item.measured for key, item in running.items() if item.measured.attack.attacker.on_scale}
    name = ensemble.headline if ensemble.headline in able else next(iter(able), None)
    if name is None or able[name].threshold is None:
        return None
    say("sensitivity", None)
    done, threshold = able[name].attack, able[name].threshold
    assert threshold is not None  # noqa: S101 - just seen
    found = sensitivity(inputs.pair, done.attacker, threshold, inputs.matches, seed=done.seed, budget=done.budget)
    return diagnostics.sensitivity(name, found)


def _silent(phase: str, share: float | None) -> None:
    """Nobody listens."""
