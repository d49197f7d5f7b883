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
from cvpl.assessment.ensemble import Standing, contest
from cvpl.assessment.gate import gate
from cvpl.assessment.preflight import preflight
from cvpl.assessment.provenance import described, provenance
from cvpl.assessment.resources import AuditPlan, check_embeddings, make_plan, place_for
from cvpl.assessment.sections import diagnostics, measurements
from cvpl.assessment.verdict import best_candidate_section, risk_section, verdict
from cvpl.assessment.warnings import notices
from cvpl.attack.saved_projection import save_projection
from cvpl.config.resolved import ConfigLike, Plan, load
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
    plan, inputs = read_plan(original, protected, config, control, memory)
    if attackers is not None:
        plan = plan.only(attackers)
    drawn = None
    if randomize is not False:
        seed = secrets.randbits(32) if randomize is True else int(randomize)
        known = set(plan.attackers)
        plan = plan.with_drawn(seed, reference=inputs.pair.control is not None)
        drawn = out.Randomization(seed=seed, attackers=[name for name in plan.attackers if name not in known])
    # Matrix products run on one core each, inside our own threads: results then never depend on their number.
    with threadpool_limits(limits=1, user_api="blas"):
        say("checking the tables", None)
        likeness = likeness_of(plan, inputs)
        findings = preflight(plan, inputs, likeness)
        if on_preflight is not None:
            on_preflight(findings)
        standing = contest(plan, inputs, say)
        looked = Looked(likeness, findings)
        result = _assemble(standing, plan, inputs, fail_above, drawn, looked, say)
    if save_projection_to is not None:
        representation = standing.chosen.measured.attack.representation
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
) -> AuditPlan:
    """What an audit with these arguments would compare, and what it would take, without doing it."""
    plan, inputs = read_plan(original, protected, config, control, memory)
    plan = plan if attackers is None else plan.only(attackers)
    findings = preflight(plan, inputs, likeness_of(plan, inputs))
    return replace(make_plan(plan, inputs), findings=tuple(findings))


def read_plan(
    original: object, protected: object, config: ConfigLike, control: object | None, memory: int | None
) -> tuple[Plan, Inputs]:
    """The resolved configuration and the checked tables, or every problem of both."""
    try:
        plan = load(config)
    except InputError as error:
        problems = list(error.problems) + check_files(original, protected, control)
        raise InputError(problems) from None
    plan = plan.within(memory)
    return plan, read_tables(original, protected, plan, control)


def read_tables(original: object, protected: object, plan: Plan, control: object | None) -> Inputs:
    """The checked tables of one audit under a resolved configuration, or every problem of theirs."""
    inputs = read_inputs(
        original,
        protected,
        plan.specs,
        control=plan.control if control is None else control,
        reading=plan.reading,
        identity=plan.identity,
        declared=plan.declared,
        groups=plan.groups,
        subgroups=plan.subgroups,
        memory=plan.budget.memory,
        place=lambda rows: place_for(rows, plan),
    )
    if control is None and plan.control_is_absent:
        inputs = absent_as_control(inputs)
    if not inputs.pair.original.specs:
        what = "no observable column is in every table"
        raise InputError([Problem("configuration", what, "Declare columns that the tables have in common.")])
    check_embeddings(plan, inputs)
    return inputs


@dataclass(frozen=True, eq=False)
class Looked:
    """What was seen before any attack: how alike control and originals are, and the findings of the checks."""

    likeness: ControlLikeness | None
    findings: list[out.Finding]


def likeness_of(plan: Plan, inputs: Inputs) -> ControlLikeness | None:
    """How alike control and originals are; None without a control."""
    pair = inputs.pair
    if pair.control is None:
        return None
    return control_likeness(pair.original, pair.control, stream(plan.config.seed, "likeness"))


def _assemble(
    standing: Standing,
    plan: Plan,
    inputs: Inputs,
    fail_above: float | None,
    drawn: out.Randomization | None,
    looked: Looked,
    say: Report,
) -> out.AuditResult:
    name, contenders = standing.headline, standing.contenders
    measured = standing.chosen.measured.at_confidence(standing.confidence)
    done, threshold, grid = measured.attack, measured.threshold, plan.config.grid.values()
    scores, on_scale = done.scores, done.attacker.on_scale
    say("self-linkage", None)
    self_linkage = {
        table: leave_one_out(done, table, threshold, stream(done.seed, f"self-linkage {table}"))
        for table in ("original", "protected")
    }
    say("feature contribution", None)
    drops = power_drops(measured, inputs) if plan.runs_sensitivity else None
    contribution = diagnostics.contributions(measured, drops)
    say("progressive evaluation", None)
    ladder = None if threshold is None else climb(done, threshold)
    say("who is at risk", None)
    asked = [key for key in contenders if key == name or (standing.among == 1 and _asks(plan))]
    people = {key: diagnostics.rates_by_group(contenders[key].measured, plan, inputs) for key in asked}
    likeness, findings = looked.likeness, looked.findings
    swings = _sensitivity(standing, plan, inputs, say)
    warnings = notices(measured, standing, inputs, likeness, swings)
    outcomes = gate(standing, measured, plan.config.policy, fail_above, people, findings)
    copied = standing.chosen.copied
    at_risk = people.get(name)
    return out.AuditResult(
        schema="cvpl/audit/2",
        verdict=verdict(standing, findings),
        risk=risk_section(standing.risk, standing),
        certain=risk_section(standing.certain, standing),
        best_candidate=best_candidate_section(standing),
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
        power=measurements.power(measured, standing.reading.false_rate),
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
                risk_section(standing.risk_of(key), standing),
            )
            for key, one in contenders.items()
        ],
        picked=standing.picked,
        canaries=diagnostics.canaries(standing.chosen.canaries),
        alignment=None
        if done.granularity is None
        else [out.AlignedColumn(column=column, grain=grain) for column, grain in done.granularity.describe()],
        policy=outcomes[0] if outcomes else None,
        policies=outcomes,
        validity=diagnostics.validity(standing.chosen.valid, standing.reasons),
        self_linkage=out.SelfLinkage(
            original=diagnostics.self_rate(self_linkage["original"]),
            protected=diagnostics.self_rate(self_linkage["protected"]),
            perturbed=None if copied is None else diagnostics.self_rate(copied),
        ),
        feature_contribution=contribution,
        control_likeness=None if likeness is None else diagnostics.likeness(likeness),
        sensitivity=swings,
        at_risk=None if at_risk is None else diagnostics.at_risk(at_risk, plan.config.report.suppress_below),
        warnings=[out.Warning_(rule=it.rule, message=it.message, docs=it.docs) for it in warnings],
        search=measurements.search(done),
        lower_bound=not done.exact,
        provenance=provenance(plan, drawn),
    )


def _asks(plan: Plan) -> bool:
    """Whether a policy bounds the largest rate over subgroups, for which all are asked where none was picked."""
    policy = plan.config.policy
    policies = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
    return any(it.figure == "maximum_subgroup_rate" for it in policies)


def _sensitivity(standing: Standing, plan: Plan, inputs: Inputs, say: Report) -> out.Sensitivity | None:
    """The variations of the headline, or of the first attacker that has a threshold; null where they were not run."""
    if not plan.runs_sensitivity:
        return None
    running = standing.qualified or standing.contenders
    able = {key: it.measured for key, it in running.items() if it.measured.attack.attacker.on_scale}
    name = standing.headline if standing.headline in able else next(iter(able), None)
    if name is None or able[name].threshold is None:
        return None
    say("sensitivity", None)
    done, threshold = able[name].attack, able[name].threshold
    assert threshold is not None  # noqa: S101 - just seen
    found = sensitivity(inputs.pair, done.attacker, threshold, inputs.matches, seed=done.seed, budget=done.budget)
    return diagnostics.sensitivity(name, found)


def _silent(phase: str, share: float | None) -> None:
    """Nobody listens."""
