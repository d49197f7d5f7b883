"""An audit where the data is: the tables stay in a Spark cluster, and the result comes out.

One task has all records: it reads and checks them, and runs the audit as on one machine. Only if time is saved when all
tasks share some of the searches, it fits the attackers of these instead, and three more steps follow:

    read      all tasks read the columns that are compared, and put the records in the order of one machine
    search    all tasks search as these attackers do, each some blocks, or a piece of a large one
    evaluate  one task has all records and what was found: it runs the audit as on one machine, but for these searches

So the result is that of one machine, and only fitted attackers, counts and the result itself reach this process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cvpl import result as out
from cvpl.assessment.planning.progress import Phase, ProgressCallback, WholeProgress, ignore_progress
from cvpl.assessment.planning.work import Work
from cvpl.attack.prepared_attack import prepare
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.config.loading import ConfigLike, LimitsLike
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem
from cvpl.evaluation.groups.clusters import people_draw
from cvpl.search.machine import usual_memory
from cvpl.spark.attack_searches import SearchOrder, Step, can_be_searched, read_step, search_all
from cvpl.spark.cluster import Cluster, on_cluster
from cvpl.spark.one_task import ask_at_once
from cvpl.spark.reading import column_facts, read_table
from cvpl.spark.session import session_for
from cvpl.spark.sharing import Sharing
from cvpl.spark.sources import ClusterSource, source_of
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.evaluation_only import ROW_NUMBER
from cvpl.tables.pair import Inputs
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import OwnParquet, is_spark_frame
from cvpl.workflows.planned_audit import PlannedAudit, PlanOptions, read_tables, settle_plan
from cvpl.workflows.proposal import Proposal, propose_here

Tables = Mapping[str, OwnParquet]


@dataclass(frozen=True)
class ClusterSettings:
    """What is asked of an audit in a cluster: the configuration, or limits for guessing one, a gate, and the rest."""

    config: ConfigLike | Proposal | None
    limits: LimitsLike | None
    fail_above: float | None
    memory: int | None
    asked: PlanOptions


def audit_in_cluster(
    tables: Mapping[str, Any], settings: ClusterSettings, master: str | None, progress: ProgressCallback
) -> out.AuditResult:
    """The result of an audit of tables in a cluster, by their roles: original, protected and maybe control.

    The session is that of a frame among them, else the active one, else a new one with the URL `master`.
    """
    with session_for(master, _session_of(tables)) as session, on_cluster(session) as cluster:
        sources = {role: source_of(session, table, role).counted() for role, table in tables.items()}
        config = settings.config or ask_at_once(
            {role: sources[role] for role in ("original", "protected")}, _ProposalTask(True, settings.limits)
        )
        resolved = settle_plan(config, settings.memory, with_control="control" in tables, **settings.asked)
        if resolved.control is not None and "control" not in tables:
            sources["control"] = source_of(session, resolved.control, "control").counted()
        _check_can_run(resolved, sources)
        memory = settings.memory or resolved.config.search.memory
        assumptions = config.assumptions if isinstance(config, Proposal) else None
        planned = PlannedAudit(resolved, settings.fail_above, settings.asked.get("draw_seed"), assumptions)
        said = _audit(cluster, sources, planned, memory, progress)
    return out.AuditResult.model_validate_json(said)


def propose_in_cluster(original: Any, released: Any, *, compare_sensitive: bool, limits: LimitsLike | None) -> Proposal:
    """What `propose_here` guesses from two tables of a cluster."""
    both = {"original": original, "protected": released}
    with session_for(running=_session_of(both)) as session, on_cluster(session):
        tables = {role: source_of(session, table, role).counted() for role, table in both.items()}
        found: Proposal = ask_at_once(tables, _ProposalTask(compare_sensitive, limits))
    return found


def _session_of(tables: Mapping[str, Any]) -> Any:
    """The session of a frame among the tables; None if there is none."""
    return next((table.sparkSession for table in tables.values() if is_spark_frame(table)), None)


def _audit(
    cluster: Cluster,
    sources: Mapping[str, ClusterSource],
    planned: PlannedAudit,
    memory: int | None,
    progress: ProgressCallback,
) -> str:
    """The result as JSON: of one task, or with some of the searches shared by all tasks."""
    progress(Phase.IN_CLUSTER, None)
    started: str | _Orders = ask_at_once(sources, _StartedAudit(planned, memory, cluster.sharing))
    if isinstance(started, str):
        return started
    found = _search(cluster, sources, started, planned.resolved.reading, progress)
    progress(Phase.IN_CLUSTER, None)
    names = {f"found {number}": step for number, step in enumerate(found)}
    sent = {name: ClusterSource(name, found[step]) for name, step in names.items()}
    said: str = ask_at_once({**sources, **sent}, _AuditTask(planned, memory, names))
    return said


def _search(
    cluster: Cluster,
    sources: Mapping[str, ClusterSource],
    ordered: _Orders,
    reading: Reading,
    progress: ProgressCallback,
) -> dict[Step, Any]:
    """What the searches that were ordered found, as frames that are kept in the cluster."""
    progress(Phase.READING, None)
    rows = {role: source.rows or 0 for role, source in sources.items()}
    frames = {role: cluster.gathered(source.frame, rows[role]) for role, source in sources.items()}
    facts = column_facts(frames, ordered.specs, reading)
    tables = {
        role: read_table(cluster, role, frame, ordered.specs, reading, facts, rows[role])[0]
        for role, frame in frames.items()
    }
    found: dict[Step, Any] = {}
    for number, order in enumerate(ordered.orders):
        progress(Phase.SEARCHING, number / len(ordered.orders))
        for step, frame in search_all(order, tables, found).items():
            found[step] = frame
    return found


@dataclass(frozen=True, eq=False)
class _Orders:
    """The columns that are compared, and the searches to share."""

    specs: tuple[ColumnSpec, ...]
    orders: Sequence[SearchOrder]


@dataclass(frozen=True)
class _StartedAudit:
    """Runs the audit of tables that are at hand, or fits the attackers whose searches all tasks should share."""

    planned: PlannedAudit
    memory: int | None
    sharing: Sharing

    def __call__(self, tables: Tables) -> str | _Orders:
        resolved, inputs = _read_tables(self.planned.resolved, self.memory, tables)
        pair, shared = inputs.pair, SharedWork()
        controls = 0 if pair.control is None else pair.control.rows
        # Originals who are absent from the release become the control only after their matches are known.
        able = {} if resolved.quick or resolved.control_is_absent else resolved.able(controls, pair)
        seconds = {
            name: taken
            for name, taken in Work(resolved, inputs).searches(able).items()
            if can_be_searched(able[name], resolved.levers)
        }
        records = pair.original.rows + pair.protected.rows + controls
        large = [
            (able[name], resolved.max_queries(able[name], pair.protected.rows))
            for name in self.sharing.shared(seconds, records, resolved.budget.workers)
        ]
        if not large:
            return _result(replace(self.planned, resolved=resolved), inputs, shared)
        orders = []
        for number, (attacker, asked) in enumerate(large, start=1):
            ready = prepare(
                pair,
                attacker,
                seed=resolved.config.seed,
                budget=resolved.budget,
                most=asked,
                shared=shared,
                draw=people_draw(inputs.evaluation.groups.codes),
            )
            orders.append(SearchOrder.of(ready, attacker, pair.original.rows, controls))
            shared.keep_for(WorkKeys.of(*later) for later in large[number:])
        return _Orders(pair.original.specs, orders)


@dataclass(frozen=True)
class _AuditTask:
    """Runs the audit of tables that are at hand; `searched` names the searches that were done before."""

    planned: PlannedAudit
    memory: int | None
    searched: Mapping[str, Step]

    def __call__(self, tables: Tables) -> str:
        resolved, inputs = _read_tables(self.planned.resolved, self.memory, tables)
        shared = SharedWork()
        for name, step in self.searched.items():
            shared.hand_over(*step, read_step(step, tables[name].folder))
        return _result(replace(self.planned, resolved=resolved), inputs, shared)


def _result(planned: PlannedAudit, inputs: Inputs, shared: SharedWork) -> str:
    """The result as JSON."""
    result, _ = planned.run(inputs, WholeProgress(ignore_progress), shared=shared)
    return result.to_json()


@dataclass(frozen=True)
class _ProposalTask:
    """Guesses the configuration of tables that are at hand."""

    compare_sensitive: bool
    limits: LimitsLike | None

    def __call__(self, tables: Tables) -> Proposal:
        both = tables["original"], tables["protected"]
        return propose_here(*both, compare_sensitive=self.compare_sensitive, limits=self.limits)


def _read_tables(resolved: ResolvedConfig, memory: int | None, tables: Tables) -> tuple[ResolvedConfig, Inputs]:
    """Read and check tables that are at hand.

    Without a limit that was set, what counts is the memory of this machine, not of the one that planned.
    """
    resolved = resolved.with_memory(memory or usual_memory())
    return resolved, read_tables(tables["original"], tables["protected"], resolved, tables.get("control"))


def _check_can_run(resolved: ResolvedConfig, tables: Mapping[str, ClusterSource]) -> None:
    """Refuse matches by the position of rows, which have no order in a cluster, and files that it does not have."""
    for name, attacker in resolved.attackers.items():
        if attacker.projects and attacker.projection_operator.saved_file is not None:
            what = f"attacker '{name}' uses a saved projection, a file that executors do not have"
            raise InputError([Problem("configuration", what, "Fit it anew, for example with `projection: pca`.")])
    if resolved.identity is None:
        return
    for role, key in (("original", resolved.identity.original), ("protected", resolved.identity.protected)):
        if key == ROW_NUMBER and key not in tables[role].frame.columns:
            what = "true matches are declared by the position of rows, and rows in a cluster have no order"
            cure = "Name a column that identifies people in both tables under `truth`, or audit on one machine."
            raise InputError([Problem(tables[role].name, what, cure)])
