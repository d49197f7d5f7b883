"""The configuration and the tables of one audit: settled, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from cvpl.assessment.planning.resources import check_embeddings, place_for
from cvpl.config.loading import ConfigLike, load
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem
from cvpl.evaluation.calibration import check_calibration
from cvpl.tables.absent import absent_as_control
from cvpl.tables.keys.record_order import in_record_order
from cvpl.tables.pair import Inputs, check_files, read_inputs
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
