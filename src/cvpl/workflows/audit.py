"""The whole audit: two tables and a configuration in, a result out."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cvpl import result as out
from cvpl.assessment.aside import Aside
from cvpl.assessment.diagnostics.all_diagnostics import run_diagnostics
from cvpl.assessment.diagnostics.compared_control import compare_control
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks
from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.gate import gate
from cvpl.assessment.preflight import preflight
from cvpl.assessment.progress import (
    QUICK_LOOK,
    Phase,
    ProgressCallback,
    WholeProgress,
    ignore_progress,
    prefix_progress,
)
from cvpl.assessment.resources import ResourceEstimate, check_embeddings, estimate_resources, place_for
from cvpl.assessment.screening import quick_look
from cvpl.assessment.sections.audit import Assessment, audit_result, table_figures
from cvpl.assessment.speed import measure_speed
from cvpl.assessment.verdict import verdict
from cvpl.assessment.work import Work
from cvpl.attack.saved_projection import save_projection
from cvpl.config.limits import LimitsLike
from cvpl.config.loading import ConfigLike, load
from cvpl.config.people_asked import FIRST_ANSWER_PEOPLE
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.evaluation.calibration import check_calibration
from cvpl.evaluation.control_likeness import ControlLikeness
from cvpl.files import check_outputs
from cvpl.search.blas_threads import one_blas_thread
from cvpl.tables.absent import absent_as_control
from cvpl.tables.pair import Inputs, check_files, read_inputs
from cvpl.tables.record_order import in_record_order
from cvpl.workflows.propose import Proposal, propose


class ProjectionNotSavedError(UsageError):
    """The audit is finished, but its projection could not be saved. `result` is the result of the audit."""

    def __init__(self, why: str, result: out.AuditResult) -> None:
        super().__init__(f"The projection was not saved: {why}")
        self.result = result


LONG = 10_000
"""With more originals than this, a caller who asks for it gets the answer of a quick look first."""


def audit(
    original: object,
    protected: object,
    config: ConfigLike | Proposal | None = None,
    *,
    control: object | None = None,
    fail_above: float | None = None,
    attackers: Sequence[str] | None = None,
    randomize: bool | int = False,
    quick: bool = False,
    population: float | None = None,
    scenario: str | None = None,
    memory: int | None = None,
    limits: LimitsLike | None = None,
    save_projection_to: str | Path | None = None,
    progress: ProgressCallback | None = None,
    on_preflight: Callable[[Sequence[out.Finding]], None] | None = None,
    on_first_answer: Callable[[out.Verdict], None] | None = None,
) -> out.AuditResult:
    """Measure how well the people of `original` can be linked to records of `protected`.

    Tables are paths (CSV, TSV, Parquet, Excel, DuckDB) or dataframes that support Arrow. `config` is the path of an
    audit.yaml, a mapping of the same form, or an AuditConfig. Without one, roles and types are guessed as `propose`
    does, except that no column is left out as sensitive; the result lists them under `assumptions`. A gate needs a
    configuration: a decision must not rest on a guess. `control` is a table of people known to be absent from the
    release; it replaces the configuration's. `fail_above` sets the policy's limit; `memory` is a limit in bytes that
    replaces `search.memory`; `limits` are those of `reading.limits` that are not the default, for an audit without a
    configuration. Raises InputError with every problem of tables and configuration, and LimitError if there
    is not enough memory. The same inputs and seed give the same result, whatever the number of threads and the memory.

    `attackers` selects some of the configuration's attackers, for example from the family of `attacker: default`; the
    others are not run. `randomize` adds three attackers drawn from a wider family by a new seed, which is recorded in
    the result; pass a number to use it as the seed and repeat such a run.

    `quick` takes a first look: at most 4,000 originals and controls against the whole release, so intervals are wider,
    without canaries and sensitivity analyses. A gate needs the full audit.

    `population` is the number of people that the originals are part of, or, below 1, the share of them that is in the
    table; it replaces the configuration's. The result then tells how many links are right (`result.population`).

    `scenario` names a situation in which the family attacks, such as "motivated_intruder"; it replaces the
    configuration's, and sets the columns and errors of what attackers know (`result.attacker_scenario`).

    `progress` is called with what is being done and the share of the whole audit that is done, which never falls and is
    1 at the end. The share is None while the tables are read, since the work is not known before. It is a share of the
    time: after the seconds s at the share p, about s (1 - p) / p seconds are left.

    `save_projection_to` names a file for the linear projection of the strongest attacker. If that one has none, or the
    file cannot be written, ProjectionNotSavedError is raised after the audit; it holds the `result`.

    `on_preflight` is called with the findings of the checks before the full audit's attacks. `on_first_answer` is
    called with the verdict of a quick look, if there are more than 10,000 originals; the full audit then refines it.
    """
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise UsageError(f"fail_above is {fail_above}; allowed is a rate from 0 to 1")
    whole = WholeProgress(progress or ignore_progress)
    whole(Phase.READING, None)
    if limits is not None and config is not None:
        raise UsageError(
            "limits are for an audit without a configuration. Set `reading.limits` in the configuration, or pass them "
            "to `cvpl.propose`."
        )
    config = config or propose(original, protected, compare_sensitive=True, limits=limits)
    if quick and fail_above is not None:
        raise UsageError("a gate needs the full audit: a quick look leaves out canaries. Leave out quick=True.")
    assumptions = config.assumptions if isinstance(config, Proposal) else None
    if assumptions is not None and fail_above is not None:
        raise UsageError(
            "a gate needs a configuration: a decision must not rest on guessed roles. Write one with `cvpl.propose`, "
            "check it, and pass it."
        )
    seed = _seed_of_draw(randomize)
    resolved, inputs = read_plan(
        original,
        protected,
        config,
        control,
        memory,
        attackers=attackers,
        draw_seed=seed,
        quick=quick,
        population=population,
        scenario=scenario,
    )
    if save_projection_to is not None:
        _check_can_save(Path(save_projection_to), resolved, [original, protected, control, config])
    drawn = None if seed is None else out.Randomization(seed=seed, attackers=list(resolved.drawn))
    first_answer = on_first_answer is not None and not quick and takes_quick_look_first(inputs)
    if progress is not None:
        whole.expect(Work(resolved, inputs).audit(first_answer=first_answer))
    with one_blas_thread():
        whole(Phase.CHECKING, None)
        # A quick look leaves a core free while it prepares the release, so the checks run beside it.
        with Aside(resolved.budget.workers if quick or first_answer else 1) as aside:
            checked = aside.start(partial(_check, resolved, inputs))
            first = None
            if first_answer:
                first_plan = resolved.quickly(FIRST_ANSWER_PEOPLE)
                first = quick_look(first_plan, inputs, prefix_progress(whole, QUICK_LOOK))
            looked = quick_look(resolved, inputs, whole) if quick else None
            likeness, findings = checked()
        if on_preflight is not None:
            on_preflight(findings)
        if on_first_answer is not None and first is not None:
            on_first_answer(verdict(first, findings, disclosure_of_attacks(resolved, inputs, first)))
        ensemble = looked or run_attackers(resolved, inputs, whole, combining=True)
        measured = ensemble.chosen.measured.at_confidence(ensemble.confidence)
        disclosure = disclosure_of_attacks(resolved, inputs, ensemble)
        diagnosed = run_diagnostics(ensemble, measured, resolved, inputs, whole, disclosure.k)
        policies = gate(
            ensemble,
            measured,
            resolved.config.policy,
            fail_above,
            diagnosed.subgroups,
            findings,
            disclosure,
            table_figures(diagnosed, inputs, disclosure),
        )
        assessment = Assessment(ensemble, measured, diagnosed, likeness, findings, policies, disclosure)
        result = audit_result(assessment, resolved, inputs, drawn, assumptions)
    whole.finish()
    if save_projection_to is not None:
        _save_projection(Path(save_projection_to), ensemble, result)
    return result


def _save_projection(file: Path, ensemble: EnsembleOutcome, result: out.AuditResult) -> None:
    """Save the projection of the strongest attacker; raises ProjectionNotSavedError if that cannot be done."""
    representation = ensemble.chosen.measured.attack.representation
    try:
        records = representation.original.rows + representation.protected.rows
        save_projection(file, representation.space, representation.projection, records)
    except UsageError:
        why = f"the strongest attacker, '{ensemble.headline}', has no linear projection. Run only attackers with one."
        raise ProjectionNotSavedError(why, result) from None
    except OSError as error:
        why = f"{file}: {error.strerror or 'the system refused'}. Name another file."
        raise ProjectionNotSavedError(why, result) from None


def _check(resolved: ResolvedConfig, inputs: Inputs) -> tuple[ControlLikeness | None, list[out.Finding]]:
    """The comparison of the control with the originals, and the findings of the checks before the attack."""
    likeness = compare_control(inputs, resolved.config.seed, disclosure_of(resolved, inputs))
    return likeness, preflight(resolved, inputs, likeness)


def _check_can_save(file: Path, resolved: ResolvedConfig, inputs: Sequence[object]) -> None:
    """Refuse a file for the projection that cannot be written or is an input, and attackers without a projection."""
    check_outputs([file], inputs, overwrite=True)
    if not file.parent.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{file}: there is no such folder, or it is not writable. Name another file.")
    if not any(item.projects and item.projection_operator.is_linear for item in resolved.attackers.values()):
        raise UsageError(
            "none of the attackers has a linear projection (pca, robust_pca, random, saved), so there is none to save. "
            "Name an attacker that has one, such as `paper`, or do not ask for the projection."
        )


def takes_quick_look_first(inputs: Inputs) -> bool:
    """Whether an audit is so long that who asks for it gets the answer of a quick look first."""
    return inputs.pair.original.rows > LONG


def plan_audit(
    original: object,
    protected: object,
    config: ConfigLike | Proposal,
    *,
    control: object | None = None,
    attackers: Sequence[str] | None = None,
    randomize: bool | int = False,
    quick: bool = False,
    first_answer: bool = False,
    page: bool = False,
    scenario: str | None = None,
    memory: int | None = None,
) -> ResourceEstimate:
    """What an audit with these arguments would compare, and what it would take, without doing it.

    With `randomize` attackers are drawn as an audit draws them; the plan tells the seed, which repeats the draw. With
    `first_answer` a long audit takes a quick look first, as on the command line. With `page` the page is written too.
    """
    seed = _seed_of_draw(randomize)
    resolved, inputs = read_plan(
        original,
        protected,
        config,
        control,
        memory,
        attackers=attackers,
        draw_seed=seed,
        quick=quick,
        scenario=scenario,
    )
    findings = _check(resolved, inputs)[1]
    speed = measure_speed()
    work = Work(resolved, inputs, speed)
    steps = [work.reading(), *work.audit(first_answer=first_answer and takes_quick_look_first(inputs))]
    if page:
        steps.append(work.page())
    planned = estimate_resources(resolved, inputs, steps)
    return replace(planned, findings=tuple(findings), draw_seed=seed, free=speed.share)


def _seed_of_draw(randomize: bool | int) -> int | None:
    """The seed that draws more attackers: one made now, the one that is given, or None where none are drawn."""
    if randomize is False:
        return None
    return secrets.randbits(32) if randomize is True else int(randomize)


def read_plan(
    original: object,
    protected: object,
    config: ConfigLike | Proposal,
    control: object | None,
    memory: int | None,
    *,
    attackers: Sequence[str] | None = None,
    draw_seed: int | None = None,
    quick: bool = False,
    population: float | None = None,
    scenario: str | None = None,
) -> tuple[ResolvedConfig, Inputs]:
    """The resolved configuration and the checked tables, or every problem of both.

    `attackers`, `draw_seed` and `quick` settle who attacks how many people before the tables are read, because the
    memory needed depends on it.
    """
    try:
        resolved = load(config.config if isinstance(config, Proposal) else config, scenario)
    except InputError as error:
        problems = list(error.problems) + check_files(original, protected, control)
        raise InputError(problems) from None
    resolved = resolved.within(memory).among(population)
    if attackers is not None:
        resolved = resolved.only(attackers)
    if draw_seed is not None:
        resolved = resolved.with_drawn(draw_seed, reference=control is not None or resolved.has_control)
    if quick:
        resolved = resolved.quickly()
    return resolved, read_tables(original, protected, resolved, control)


def read_tables(
    original: object, protected: object, resolved: ResolvedConfig, control: object | None, *, checks: bool = True
) -> Inputs:
    """Read and check the tables of one audit under a resolved configuration; raises InputError with every problem.

    Without `checks`, what only the checks before an attack need is not read; `preflight` must not follow.
    """
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
        sensitive=resolved.sensitive,
        weights=resolved.weights,
        equal_rows=resolved.runs_singling_out,
        checks=checks,
        secrets=resolved.read_secrets,
        memory=resolved.budget.memory,
        threads=resolved.budget.workers,
        place=lambda rows: place_for(rows, resolved),
    )
    inputs = in_record_order(inputs)
    if control is None and resolved.control_is_absent:
        inputs = absent_as_control(inputs)
    if not inputs.pair.original.specs:
        what = "no observable column has a value in every table"
        raise InputError([Problem("configuration", what, "Declare columns that the tables have in common.")])
    resolved.check_population(inputs.pair.original.rows)
    resolved.check_scenario(has_control=inputs.pair.control is not None)
    check_calibration(
        resolved.attackers.values(), inputs.evaluation.matches, has_control=inputs.pair.control is not None
    )
    check_embeddings(resolved, inputs)
    return inputs
