"""An audit where the data is: the tables stay in a Spark cluster, and the result comes out.

It takes up to four steps, of which the first three are for large tables only:

    fit       one task has all records: it reads and checks them, and fits every attacker that searches many pairs
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
from cvpl.assessment.progress import Phase, ProgressCallback, WholeProgress, ignore_progress
from cvpl.attack.prepared_attack import prepare
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.config.limits import LimitsLike
from cvpl.config.loading import ConfigLike
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem
from cvpl.search.budget import usual_memory
from cvpl.spark.attack_searches import SearchOrder, Step, can_be_searched, read_step, search_all
from cvpl.spark.cluster import Cluster, on_cluster
from cvpl.spark.one_task import ask_at_once
from cvpl.spark.reading import column_facts, read_table
from cvpl.spark.session import session_for
from cvpl.spark.sources import ClusterSource, is_spark_frame, source_of
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.identity import ROW_NUMBER
from cvpl.tables.own_parquet import OwnParquet
from cvpl.tables.pair import Inputs
from cvpl.workflows.planned_audit import PlannedAudit
from cvpl.workflows.proposal import Proposal, propose_here
from cvpl.workflows.reading import PlanOptions, read_tables, settle_plan

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
            {role: sources[role] for role in ("original", "protected")}, _Proposed(True, settings.limits)
        )
        resolved = settle_plan(config, settings.memory, with_control="control" in tables, **settings.asked)
        if resolved.control is not None and "control" not in tables:
            sources["control"] = source_of(session, resolved.control, "control").counted()
        _check_can_run(resolved, sources)
        memory = settings.memory or resolved.config.search.memory
        assumptions = config.assumptions if isinstance(config, Proposal) else None
        planned = PlannedAudit(resolved, settings.fail_above, settings.asked.get("draw_seed"), assumptions)
        found = _search(cluster, sources, resolved, memory, progress)
        progress(Phase.IN_CLUSTER, None)
        names = {f"found {number}": step for number, step in enumerate(found)}
        sent = {name: ClusterSource(name, found[step]) for name, step in names.items()}
        said = ask_at_once({**sources, **sent}, _Audited(planned, memory, names))
    return out.AuditResult.model_validate_json(said)


def propose_in_cluster(original: Any, released: Any, *, compare_sensitive: bool, limits: LimitsLike | None) -> Proposal:
    """What `propose_here` guesses from two tables of a cluster."""
    both = {"original": original, "protected": released}
    with session_for(running=_session_of(both)) as session, on_cluster(session):
        tables = {role: source_of(session, table, role) for role, table in both.items()}
        found: Proposal = ask_at_once(tables, _Proposed(compare_sensitive, limits))
    return found


def _session_of(tables: Mapping[str, Any]) -> Any:
    """The session of a frame among the tables; None if there is none."""
    return next((table.sparkSession for table in tables.values() if is_spark_frame(table)), None)


def _search(
    cluster: Cluster,
    sources: Mapping[str, ClusterSource],
    resolved: ResolvedConfig,
    memory: int | None,
    progress: ProgressCallback,
) -> dict[Step, Any]:
    """What the searches of many pairs found, as frames that are kept in the cluster."""
    rows = {role: source.rows or 0 for role, source in sources.items()}
    # Originals who are absent from the release become the control only after their matches are known.
    if resolved.quick or resolved.control_is_absent or rows["original"] * rows["protected"] < cluster.many:
        return {}
    progress(Phase.FITTING, None)
    ordered: _Orders = ask_at_once(sources, _Ordered(resolved, memory, cluster.many))
    if not ordered.orders:
        return {}
    progress(Phase.READING, None)
    frames = {role: source.frame for role, source in sources.items()}
    facts = column_facts(frames, ordered.specs, resolved.reading)
    tables = {
        role: read_table(cluster, role, frame, ordered.specs, resolved.reading, facts, rows[role])[0]
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
    """The columns that are compared, and the searches of many pairs."""

    specs: tuple[ColumnSpec, ...]
    orders: Sequence[SearchOrder]


@dataclass(frozen=True)
class _Ordered:
    """Fits the attackers whose searches compare at least `many` pairs, on tables that are at hand."""

    resolved: ResolvedConfig
    memory: int | None
    many: int

    def __call__(self, tables: Tables) -> _Orders:
        resolved, inputs = _read(self.resolved, self.memory, tables, checks=False)
        pair, shared = inputs.pair, SharedWork()
        controls = 0 if pair.control is None else pair.control.rows
        most = {
            name: resolved.most_asked(attacker, pair.protected.rows)
            for name, attacker in resolved.able(controls, pair).items()
        }
        large = [
            (resolved.attackers[name], asked)
            for name, asked in most.items()
            if can_be_searched(resolved.attackers[name], resolved.levers)
            and min(pair.original.rows, asked or pair.original.rows) * pair.protected.rows >= self.many
        ]
        orders = []
        for number, (attacker, asked) in enumerate(large, start=1):
            ready = prepare(
                pair, attacker, seed=resolved.config.seed, budget=resolved.budget, most=asked, shared=shared
            )
            orders.append(SearchOrder.of(ready, attacker, pair.original.rows, controls))
            shared.keep_for(WorkKeys.of(*later) for later in large[number:])
        return _Orders(pair.original.specs, orders)


@dataclass(frozen=True)
class _Audited:
    """Runs the audit of tables that are at hand; `searched` names the searches that were done before."""

    planned: PlannedAudit
    memory: int | None
    searched: Mapping[str, Step]

    def __call__(self, tables: Tables) -> str:
        resolved, inputs = _read(self.planned.resolved, self.memory, tables)
        shared = SharedWork()
        for name, step in self.searched.items():
            shared.hand_over(*step, read_step(step, tables[name].path))
        planned = replace(self.planned, resolved=resolved)
        result, _ = planned.run(inputs, WholeProgress(ignore_progress), shared=shared)
        return result.to_json()


@dataclass(frozen=True)
class _Proposed:
    """Guesses the configuration of tables that are at hand."""

    compare_sensitive: bool
    limits: LimitsLike | None

    def __call__(self, tables: Tables) -> Proposal:
        both = tables["original"], tables["protected"]
        return propose_here(*both, compare_sensitive=self.compare_sensitive, limits=self.limits)


def _read(
    resolved: ResolvedConfig, memory: int | None, tables: Tables, *, checks: bool = True
) -> tuple[ResolvedConfig, Inputs]:
    """Read tables that are at hand, with what only the `checks` before an attack need or without.

    Without a limit that was set, what counts is the memory of this machine, not of the one that planned.
    """
    resolved = resolved.within(memory or usual_memory())
    both = tables["original"], tables["protected"]
    return resolved, read_tables(*both, resolved, tables.get("control"), checks=checks)


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
