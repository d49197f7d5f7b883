"""The whole audit: two tables and a configuration in, a result out."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from cvpl import result as out
from cvpl.assessment.decision import warning_sections
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.planning.attack_cost import measure_speed
from cvpl.assessment.planning.progress import Phase, ProgressCallback, WholeProgress, ignore_progress
from cvpl.assessment.planning.resources import ResourceEstimate, estimate_resources
from cvpl.assessment.planning.work import Work
from cvpl.attack.saved_projection import save_projection
from cvpl.config.loading import ConfigLike, LimitsLike, named_files
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import UsageError
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.files import check_outputs
from cvpl.tables.source.source import is_spark_frame
from cvpl.workflows.exposed_records import PerPersonFile, per_person_warning
from cvpl.workflows.planned_audit import PlannedAudit, PlanOptions, check_tables, read_plan, takes_quick_look_first
from cvpl.workflows.proposal import Proposal, propose_here

Engine = Literal["spark"]
"""Where an audit runs if it is not this process."""


class ProjectionNotSavedError(UsageError):
    """The audit is finished, but its projection could not be saved. `result` is the result of the audit."""

    def __init__(self, why: str, result: out.AuditResult) -> None:
        super().__init__(f"The projection was not saved: {why}")
        self.result = result


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
    per_person: str | Path | None = None,
    per_person_id: bool = False,
    overwrite: bool = False,
    engine: Engine | None = None,
    master: str | None = None,
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

    `engine="spark"` audits tables that are in a Spark cluster: DataFrames of Spark, which need no `engine`, names of
    tables in the session's catalog, or Parquet folders. The session is the one that runs, or a new one with `master` as
    the URL of the cluster. The result is that of one machine; the tables stay where they are.

    `save_projection_to` names a file for the linear projection of the strongest attacker. If that one has none, or the
    file cannot be written, ProjectionNotSavedError is raised after the audit; it holds the `result`.

    `per_person` names a CSV file with a line for every original: its rank under the strongest attacker, the share of
    those outside the release with as much evidence, whether it is linked, and the columns that expose it most. With
    `per_person_id` it has the values of the id column too. Only you can read it; an existing file is refused without
    `overwrite`. The result says that there is such a file, and nothing of what is in it.

    `on_preflight` is called with the findings of the checks before the full audit's attacks. `on_first_answer` is
    called with the verdict of a quick look, if there are more than 10,000 originals; the full audit then refines it.
    """
    whole = WholeProgress(progress or ignore_progress)
    whole(Phase.READING, None)
    _check_call(config, fail_above=fail_above, limits=limits, quick=quick)
    wanted = PerPersonFile.requested(per_person, overwrite=overwrite, with_ids=per_person_id)
    seed = _seed_of_draw(randomize)
    asked = PlanOptions(attackers=attackers, draw_seed=seed, quick=quick, population=population, scenario=scenario)
    tables = {"original": original, "protected": protected} | ({} if control is None else {"control": control})
    if engine is not None or any(is_spark_frame(table) for table in tables.values()):
        if save_projection_to is not None:
            raise UsageError("a projection is not saved from a cluster. Leave out `save_projection_to`.")
        if wanted is not None:
            raise UsageError("records are not ranked one by one in a cluster. Leave out `per_person`.")
        from cvpl.workflows.cluster_audit import (  # noqa: PLC0415 - nothing of Spark unless needed
            ClusterSettings,
            audit_in_cluster,
        )

        settings = ClusterSettings(config, limits, fail_above, memory, asked)
        result = audit_in_cluster(tables, settings, master, whole)
        if on_preflight is not None:
            on_preflight(result.preflight)
        whole.finish()
        return result
    if wanted is not None:
        wanted.check([original, protected, control, *_files_of(config)])
    config = config or propose(original, protected, compare_sensitive=True, limits=limits)
    assumptions = config.assumptions if isinstance(config, Proposal) else None
    resolved, inputs = read_plan(original, protected, config, control, memory, **asked)
    if save_projection_to is not None:
        _check_can_save(Path(save_projection_to), resolved, [original, protected, control, config])
    ids = None if wanted is None else wanted.ids(original, resolved, inputs)
    planned = PlannedAudit(resolved, fail_above, seed, assumptions)
    result, ensemble = planned.run(inputs, whole, on_preflight=on_preflight, on_first_answer=on_first_answer)
    if wanted is not None:
        wanted.write(inputs, ensemble, ids)
        result = _add_warning(result, per_person_warning(ensemble, inputs))
    whole.finish()
    if save_projection_to is not None:
        _save_projection(Path(save_projection_to), ensemble, result)
    return result


def _check_call(
    config: ConfigLike | Proposal | None, *, fail_above: float | None, limits: LimitsLike | None, quick: bool
) -> None:
    """Refuse a call that makes no sense, before any work."""
    if fail_above is not None and not 0 <= fail_above <= 1:
        raise UsageError(f"fail_above is {fail_above}; allowed is a rate from 0 to 1")
    if limits is not None and config is not None:
        raise UsageError(
            "limits are for an audit without a configuration. Set `reading.limits` in the configuration, or pass them "
            "to `cvpl.propose`."
        )
    if quick and fail_above is not None:
        raise UsageError("a gate needs the full audit: a quick look leaves out canaries. Leave out quick=True.")
    if fail_above is not None and (config is None or isinstance(config, Proposal)):
        raise UsageError(
            "a gate needs a configuration: a decision must not rest on guessed roles. Write one with `cvpl.propose`, "
            "check it, and pass it."
        )


def _add_warning(result: out.AuditResult, warning: AuditWarning) -> out.AuditResult:
    return result.model_copy(update={"warnings": [*result.warnings, *warning_sections([warning])]})


def _files_of(config: ConfigLike | Proposal | None) -> list[Path]:
    """The configuration's file, and the files that it names."""
    return [Path(config), *named_files(Path(config))] if isinstance(config, str | Path) else []


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
    findings = check_tables(resolved, inputs)[1]
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


def propose(
    original: object,
    released: object,
    *,
    compare_sensitive: bool = False,
    limits: LimitsLike | None = None,
    engine: Literal["spark"] | None = None,
) -> Proposal:
    """Propose a configuration for a table and its release, with a reason for every guess.

    Tables are paths (CSV, TSV, Parquet, Excel, DuckDB) or dataframes that support Arrow. Roles, types, blocking keys
    and identities are guessed from names, counts and how the two tables agree; comments contain no cell. A column that
    seems sensitive is proposed as such, so no attacker compares it; with `compare_sensitive` it is compared. `limits`
    are those of `reading.limits` that are not the default, such as {"rows": 2_000_000_000}; the proposal has them too.
    With `engine="spark"`, or for DataFrames of Spark, the tables stay in the cluster, as in an audit.
    Raises InputError if the tables cannot be compared, and LimitError if one is beyond a limit.
    """
    found = propose_here
    if engine is not None or is_spark_frame(original):
        from cvpl.workflows.cluster_audit import propose_in_cluster  # noqa: PLC0415 - nothing of Spark unless needed

        found = propose_in_cluster
    return found(original, released, compare_sensitive=compare_sensitive, limits=limits)
