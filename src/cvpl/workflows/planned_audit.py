"""An audit whose settings are settled: its tables are read and checked, and its attackers run.

The order in which records are kept: by a hash of the whole record. Samples, splits and sums follow the order of
records. Kept in an order of their own content, the same records give the same figures, in whatever order a file lists
them. Only equal records can change places, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.assessment.audit_result import Assessment, audit_result
from cvpl.assessment.decision import verdict
from cvpl.assessment.diagnostics.all_diagnostics import run_diagnostics
from cvpl.assessment.diagnostics.release_questions import compare_control
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks
from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.planning.progress import QUICK_LOOK, Phase, WholeProgress, prefix_progress
from cvpl.assessment.planning.resources import check_embeddings, place_for
from cvpl.assessment.planning.work import Work
from cvpl.assessment.preflight import preflight
from cvpl.assessment.screening import quick_look
from cvpl.assessment.sight import add_sight_findings
from cvpl.attack.shared_work import SharedWork
from cvpl.config.loading import ConfigLike, load
from cvpl.config.resolved import FIRST_ANSWER_PEOPLE, ResolvedConfig
from cvpl.errors import InputError, Problem
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.rates import check_calibration
from cvpl.search.machine import BackgroundWorker, one_blas_thread
from cvpl.tables.columns import Pair, Table
from cvpl.tables.evaluation_only import EvaluationOnly, TrueMatches
from cvpl.tables.pair import Inputs, check_files, read_inputs
from cvpl.wording import count_phrase
from cvpl.workflows.proposal import Proposal


class PlanOptions(TypedDict, total=False):
    """What may be asked for beside a configuration: some attackers, more that are drawn, a quick look, and so on."""

    attackers: Sequence[str] | None
    draw_seed: int | None
    quick: bool
    population: float | None
    scenario: str | None


def read_plan(
    original: object,
    protected: object,
    config: ConfigLike | Proposal,
    control: object | None,
    memory: int | None,
    **asked: Unpack[PlanOptions],
) -> tuple[ResolvedConfig, Inputs]:
    """The resolved configuration and the checked tables, or every problem of both.

    Who attacks how many people is settled before the tables are read, because the memory needed depends on it.
    """
    try:
        resolved = settle_plan(config, memory, with_control=control is not None, **asked)
    except InputError as error:
        problems = list(error.problems) + check_files(original, protected, control)
        raise InputError(problems) from None
    return resolved, read_tables(original, protected, resolved, control)


def settle_plan(
    config: ConfigLike | Proposal, memory: int | None, *, with_control: bool, **asked: Unpack[PlanOptions]
) -> ResolvedConfig:
    """The resolved configuration with what was asked for beside it; `with_control` says that a control was passed."""
    resolved = load(config.config if isinstance(config, Proposal) else config, asked.get("scenario"))
    resolved = resolved.with_memory(memory).with_population(asked.get("population"))
    attackers, seed = asked.get("attackers"), asked.get("draw_seed")
    if attackers is not None:
        resolved = resolved.only(attackers)
    if seed is not None:
        resolved = resolved.with_drawn(seed, reference=with_control or resolved.has_control)
    return resolved.with_quick_look() if asked.get("quick") else resolved


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
        inferred=resolved.inferred_columns,
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


LONG = 10_000
"""With more originals than this, a caller who asks for it gets the answer of a quick look first."""


@dataclass(frozen=True)
class PlannedAudit:
    """The attackers and settings, the limit of a gate, the seed of drawn attackers, and guesses about the columns."""

    resolved: ResolvedConfig
    fail_above: float | None = None
    draw_seed: int | None = None
    assumptions: out.Assumptions | None = None

    def run(
        self,
        inputs: Inputs,
        progress: WholeProgress,
        *,
        on_preflight: Callable[[Sequence[out.Finding]], None] | None = None,
        on_first_answer: Callable[[out.Verdict], None] | None = None,
        shared: SharedWork | None = None,
    ) -> tuple[out.AuditResult, EnsembleOutcome]:
        """The result on these tables, and the attackers that gave it.

        `on_preflight` is called with the findings of the checks, `on_first_answer` with the verdict of a quick look
        before a long audit. `shared` has searches that were done before, if any.
        """
        resolved = self.resolved
        first_answer = on_first_answer is not None and not resolved.quick and takes_quick_look_first(inputs)
        if progress.is_shown:
            progress.expect(Work(resolved, inputs).audit(first_answer=first_answer))
        with one_blas_thread():
            progress(Phase.CHECKING, None)
            # A quick look leaves a core free while it prepares the release, so the checks run beside it.
            with BackgroundWorker(resolved.budget.workers if resolved.quick or first_answer else 1) as background:
                checked = background.start(partial(check_tables, resolved, inputs))
                first = None
                if first_answer:
                    first_plan = resolved.with_quick_look(FIRST_ANSWER_PEOPLE)
                    first = quick_look(first_plan, inputs, prefix_progress(progress, QUICK_LOOK))
                looked = quick_look(resolved, inputs, progress) if resolved.quick else None
                likeness, findings = checked()
            if on_preflight is not None:
                on_preflight(findings)
            if on_first_answer is not None and first is not None:
                known = add_sight_findings(findings, first, resolved, inputs)
                on_first_answer(verdict(first, known, disclosure_of_attacks(resolved, inputs, first)))
            ensemble = looked or run_attackers(resolved, inputs, progress, combining=True, shared=shared)
            progress(Phase.SIGHT, None)
            findings = add_sight_findings(findings, ensemble, resolved, inputs)
            measured = ensemble.chosen.measured.at_confidence(ensemble.confidence)
            disclosure = disclosure_of_attacks(resolved, inputs, ensemble)
            diagnosed = run_diagnostics(ensemble, measured, resolved, inputs, findings, progress, disclosure.k)
            assessment = Assessment(ensemble, measured, diagnosed, likeness, findings, disclosure, self.fail_above)
            seed = self.draw_seed
            drawn = None if seed is None else out.Randomization(seed=seed, attackers=list(resolved.drawn))
            return audit_result(assessment, resolved, inputs, drawn, self.assumptions), ensemble


def check_tables(resolved: ResolvedConfig, inputs: Inputs) -> tuple[ControlTests | None, list[out.Finding]]:
    """The comparison of the control with the originals, and the findings of the checks before the attack."""
    likeness = compare_control(inputs, resolved.config.seed, disclosure_of(resolved, inputs))
    return likeness, preflight(resolved, inputs, likeness)


def takes_quick_look_first(inputs: Inputs) -> bool:
    """Whether an audit is so long that who asks for it gets the answer of a quick look first."""
    return inputs.pair.original.rows > LONG


Ints = NDArray[np.int64]

FEWEST_PEOPLE = 2
"""The minimum number of people present, and of people absent: a control of one cannot be halved."""


def absent_as_control(inputs: Inputs) -> Inputs:
    """Split the originals by the true matches: those with a match stay, those without become the control.

    The matches must be complete, and no other control given. The remaining originals are renumbered. A column in which
    they have no value is left out, as in reading. Raises InputError if either side has fewer than two people.
    """
    matches, original = inputs.evaluation.matches, inputs.pair.original
    there = np.zeros(original.rows, dtype=bool)
    if matches is not None:
        there[matches.original] = True
    present, absent = np.flatnonzero(there), np.flatnonzero(~there)
    if matches is None or min(len(present), len(absent)) < FEWEST_PEOPLE:
        text = inputs.descriptions["original"].name
        what = f"`control: absent` finds {count_phrase(len(present), 'original')} with a match, {len(absent):,} without"
        cure = "Remove it if nearly all or none of the originals are in the release, or check `truth`."
        raise InputError([Problem(text, what, cure)])
    stays, control = original.kept(present), replace(original.kept(absent), name="control")
    named = tuple(spec.name for spec in stays.specs if stays.columns[spec.name].known().any())
    protected = _only(inputs.pair.protected, named)
    pair = Pair(_only(stays, named), protected, _only(control, named), inputs.pair.notices, inputs.pair.measured)
    whole = inputs.descriptions["original"]
    return replace(
        inputs,
        pair=pair,
        evaluation=inputs.evaluation.parted(_renumbered(matches, there), present, absent),
        descriptions=inputs.descriptions
        | {"original": replace(whole, rows=len(present)), "control": replace(whole, rows=len(absent))},
        whole=inputs.whole.parted(present, absent),
        order=_parted_order(inputs.order, present, absent),
    )


def _parted_order(order: Mapping[str, Ints], present: Ints, absent: Ints) -> Mapping[str, Ints]:
    """Return the row numbers after the split, where records are not in the order of their file."""
    if not order:
        return order
    return {**order, "original": order["original"][present], "control": order["original"][absent]}


def _only(table: Table, names: tuple[str, ...]) -> Table:
    return table if len(names) == len(table.specs) else table.only(names)


def _renumbered(matches: TrueMatches, there: NDArray[np.bool_]) -> TrueMatches:
    """Return the same matches with the new row numbers of the remaining originals."""
    place = np.cumsum(there, dtype=np.int64) - 1
    return replace(matches, original=place[matches.original])


def in_record_order(inputs: Inputs) -> Inputs:
    """Return the same tables with their records in the order of their keys."""
    order = {table: np.argsort(keys, kind="stable") for table, keys in inputs.whole.records.items()}
    pair, evaluation = inputs.pair, inputs.evaluation
    columns = {
        name: (mine.take(order["original"]), None if other is None else other.take(order["control"]))
        for name, (mine, other) in evaluation.columns.items()
    }
    released = {name: column.take(order["protected"]) for name, column in evaluation.released.items()}
    sensitive = {name: column.ordered(order) for name, column in evaluation.sensitive.items()}
    matches = None if evaluation.matches is None else evaluation.matches.kept_in(order)
    return replace(
        inputs,
        pair=replace(
            pair,
            original=pair.original.kept(order["original"]),
            protected=pair.protected.kept(order["protected"]),
            control=None if pair.control is None else pair.control.kept(order["control"]),
        ),
        evaluation=EvaluationOnly(matches, evaluation.groups.ordered(order), columns, released, sensitive),
        whole=inputs.whole.ordered(order),
        order=order if inputs.rows_have_order else {},
    )
