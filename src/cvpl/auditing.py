"""The whole audit: two tables and a configuration in, a result out."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from cvpl import assembly
from cvpl import result as out
from cvpl.attack import attack
from cvpl.config.plan import ConfigLike, Plan, load
from cvpl.diagnostics.progressive import climb
from cvpl.diagnostics.removal import removal
from cvpl.diagnostics.self_linkage import SelfLinkage, leave_one_out, perturbed
from cvpl.diagnostics.validity import Validity, validity
from cvpl.errors import InputError, Problem, UsageError
from cvpl.evaluation.contradictions import Notice, contradictions
from cvpl.evaluation.contribution import link, structural, structural_spread
from cvpl.evaluation.measurement import Measurement, measure
from cvpl.evaluation.rates import integrated_risk, worst_case_risk
from cvpl.gate import gate
from cvpl.operators.projection import Saved
from cvpl.planning import AuditPlan, check_embeddings, make_plan, place_for
from cvpl.representation import linear
from cvpl.saved_projection import save_projection
from cvpl.streams import stream
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
    memory: int | None = None,
    save_projection_to: str | Path | None = None,
    report: Report | None = None,
) -> out.AuditResult:
    """Measure how well the people of `original` can be linked to records of `protected`.

    Tables are paths (CSV, CSV.gz, Parquet) or dataframes that speak Arrow. `config` is the path of an audit.yaml, a
    mapping of the same form, or an AuditConfig. `control` is a table of people known to be absent from the release; it
    takes the place of the configuration's. `fail_above` sets the policy's limit, `memory` the bytes that may be used in
    place of `search.memory`. Raises InputError with every problem of tables and configuration, and LimitError where
    the memory does not suffice. The same inputs and seed give the same result, whatever the threads and the memory.
    """
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise UsageError(f"fail_above is {fail_above}; allowed is a rate from 0 to 1")
    say = report or _silent
    say("reading", None)
    plan, inputs = _read(original, protected, config, control, memory)
    # Matrix products run on one core each, inside our own threads: results then never depend on their number.
    with threadpool_limits(limits=1, user_api="blas"):
        measured = {name: _measure(name, plan, inputs, say) for name in plan.attackers}
        headline = next(iter(measured))
        result = _assemble(headline, measured, plan, inputs, fail_above, say)
    if save_projection_to is not None:
        representation = measured[headline].attack.representation
        save_projection(save_projection_to, representation.space, representation.projection)
    return result


def plan_audit(
    original: object,
    protected: object,
    config: ConfigLike,
    *,
    control: object | None = None,
    memory: int | None = None,
) -> AuditPlan:
    """What an audit with these arguments would compare, and what it would take, without doing it."""
    return make_plan(*_read(original, protected, config, control, memory))


def _read(
    original: object, protected: object, config: ConfigLike, control: object | None, memory: int | None
) -> tuple[Plan, Inputs]:
    """The resolved configuration and the checked tables, or every problem of both."""
    try:
        plan = load(config)
    except InputError as error:
        problems = list(error.problems) + check_files(original, protected, control)
        raise InputError(problems) from None
    if memory is not None:
        plan = replace(plan, budget=replace(plan.budget, memory=memory))
    inputs = read_inputs(
        original,
        protected,
        plan.specs,
        control=plan.control if control is None else control,
        reading=plan.reading,
        identity=plan.identity,
        declared=plan.declared,
        groups=plan.groups,
        memory=plan.budget.memory,
        place=lambda rows: place_for(rows, plan),
    )
    if not inputs.pair.original.specs:
        what = "no observable column is in every table"
        raise InputError([Problem("configuration", what, "Declare columns that the tables have in common.")])
    check_embeddings(plan, inputs)
    return plan, inputs


def _measure(name: str, plan: Plan, inputs: Inputs, say: Report) -> Measurement:
    label = "searching" if len(plan.attackers) == 1 else f"searching ({name})"
    done = attack(
        inputs.pair,
        plan.attackers[name],
        seed=plan.config.seed,
        budget=plan.budget,
        levers=plan.levers,
        progress=lambda share: say(label, share),
    )
    control = done.search_control(lambda share: say(f"{label}, control", share))
    say("evaluating", None)
    return measure(
        done,
        inputs.matches,
        control,
        grid=plan.config.grid.values(),
        method=plan.config.intervals.method,
        groups=inputs.groups,
    )


def _assemble(
    name: str,
    all_measured: dict[str, Measurement],
    plan: Plan,
    inputs: Inputs,
    fail_above: float | None,
    say: Report,
) -> out.AuditResult:
    measured = all_measured[name]
    done, threshold, grid = measured.attack, measured.threshold, plan.config.grid.values()
    best, on_scale = done.found.best, done.attacker.on_scale
    say("self-linkage", None)
    self_linkage = {
        table: leave_one_out(done, table, threshold, stream(done.seed, f"self-linkage {table}"))
        for table in ("original", "protected")
    }
    copied = perturbed(done, threshold, stream(done.seed, "self-linkage perturbed"))
    valid = validity(done, copied, stream(done.seed, "validity"))
    say("feature contribution", None)
    contribution = _contribution(measured)
    say("progressive evaluation", None)
    ladder = None if threshold is None else climb(done, threshold)
    warnings = _warnings(measured, valid, inputs)
    return out.AuditResult(
        schema="cvpl/audit/1",
        inputs={
            role: out.Input(name=it.name, rows=it.rows, columns=it.columns, sha256=it.sha256)
            for role, it in inputs.descriptions.items()
        },
        scenario="blind" if inputs.matches is None else inputs.matches.scenario,
        attacker=name,
        threshold=threshold,
        calibration=assembly.calibration(measured),
        linkage_rate=assembly.rate(measured),
        risk_curve=assembly.curve(measured, grid),
        worst_case_risk=worst_case_risk(best, grid) if on_scale else None,
        integrated_risk=integrated_risk(best, grid) if on_scale else None,
        blocks=assembly.blocks(measured),
        projection=assembly.projection(measured),
        truth=assembly.truth(measured),
        growth=assembly.growth(measured),
        control=assembly.control(measured),
        attributable_rate=assembly.attributable(measured),
        power=assembly.power(measured),
        ladder=None
        if ladder is None
        else out.Ladder(
            rungs=[out.RungRate(**vars(rung)) for rung in ladder.rungs], stopped_early=ladder.stopped_early
        ),
        attackers=[assembly.attacker_row(key, value) for key, value in all_measured.items()],
        policy=gate(all_measured, measured, valid, plan.config.policy, fail_above),
        validity=_validity(valid),
        self_linkage=out.SelfLinkage(
            original=_self_rate(self_linkage["original"]),
            protected=_self_rate(self_linkage["protected"]),
            perturbed=None if copied is None else _self_rate(copied),
        ),
        feature_contribution=contribution,
        warnings=[out.Warning_(rule=notice.rule, message=notice.message) for notice in warnings],
        search=assembly.search(done),
        lower_bound=not done.exact,
        provenance=out.Provenance(
            seed=done.seed,
            versions={"python": platform.python_version()} | {it: version(it) for it in ("cvpl", "numpy", "duckdb")},
            config=plan.config.model_dump(mode="json", exclude_none=True),
        ),
    )


def _contribution(measured: Measurement) -> out.Contributions:
    done, threshold = measured.attack, measured.threshold
    space, fitted = done.representation.space, linear(done.representation.projection)
    shares: dict[str, float] = {}
    spread: dict[str, tuple[float, float]] = {}
    if fitted is not None and fitted.variances is not None:
        shares = structural(space, fitted.loadings, fitted.variances)
        spread = structural_spread(done, stream(done.seed, "structural"))
    links = None if threshold is None else link(done, threshold, stream(done.seed, "links"))
    columns = dict.fromkeys(space.owners)
    drops: dict[str, float] = {}
    asked = None
    # A map of both tables at once would have to be drawn anew, and a saved one is not fitted at all.
    refitted = done.representation.maps_others and not isinstance(done.attacker.projection, Saved)
    if threshold is not None and len(columns) > 1 and refitted:
        for column in columns:
            drops[column], rows = removal(done, column, threshold, stream(done.seed, "removal"))
            asked = len(rows)
    roles = {spec.name: spec.role for spec in done.original.specs}
    return out.Contributions(
        columns=[
            out.Contribution(
                column=column,
                role=roles[column],
                structural=shares.get(column),
                structural_low=spread[column][0] if column in spread else None,
                structural_high=spread[column][1] if column in spread else None,
                link=None if links is None else links.get(column),
                removal=drops.get(column),
            )
            for column in columns
        ],
        removal_asked=asked,
    )


def _warnings(measured: Measurement, valid: Validity, inputs: Inputs) -> list[Notice]:
    found = [Notice("not_assessable", reason) for reason in valid.reasons]
    found += contradictions(assembly.figures(measured))
    if not measured.attack.exact:
        asked, share = ", ".join(measured.attack.levers.used), f"{measured.attack.share_examined:.2%}"
        found.append(
            Notice(
                "pairs_left_out",
                f"by request ({asked}) only {share} of the pairs that share a block were examined: the linkage rate is "
                "a lower bound, and may be far too low",
            )
        )
    if measured.threshold is None and measured.attack.attacker.on_scale:
        found.append(
            Notice("threshold_not_attainable", "no threshold keeps the false link rate as low as was asked for")
        )
    if inputs.pair.control is not None and measured.control is None:
        found.append(Notice("control_unused", "this projection has no map for people outside the two tables"))
    if inputs.matches is not None and not len(inputs.matches.original):
        found.append(Notice("no_matches", "the declared identities have nobody in common: no match is known"))
    return found + [Notice("columns", notice) for notice in inputs.pair.notices]


def _validity(valid: Validity) -> out.Validity:
    shift = valid.shift if valid.shift is not None and np.isfinite(valid.shift) else None
    fields = {**vars(valid), "reasons": list(valid.reasons), "shift": shift}
    return out.Validity(assessable=valid.assessable, **fields)


def _self_rate(found: SelfLinkage) -> out.SelfRate:
    return out.SelfRate(rate=found.rate, top1_hit_rate=found.top1_hit_rate, asked=found.asked, records=found.records)


def _silent(phase: str, share: float | None) -> None:
    """Nobody listens."""
