"""A plan before the work: what an audit will compare, and what that takes.

Memory is reckoned from the number of records and the kinds of columns, before any of them is read, and held against the
budget. The time is a guess from measured costs (docs/reference/benchmarks.md); it depends on the machine and on how
well the vectors can be told apart, hence two ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cvpl.attack import assign_blocks, narrowed
from cvpl.attacker import Attacker
from cvpl.config.plan import Plan
from cvpl.search.blocks import Partition, sort_blocks
from cvpl.search.budget import Budget
from cvpl.search.exact import TREE_PAIRS, TREE_RECORDS
from cvpl.tables.columns import ColumnSpec, Place
from cvpl.tables.pair import Inputs
from cvpl.tables.shelf import Shelf

_BASE = 300 << 20
"""Python, its libraries, and the compiler."""
_COLUMN = {"numeric": 24, "datetime": 16, "category": 4}
"""Bytes of a cell once it is read."""
_READING = 40
"""Bytes that reading one more column takes for a moment, a record."""
_FEATURE = 8
_BLOCK = 40
"""Bytes of a record's block, its place in the order of blocks, and copies of both."""
_FINDING = 200
"""Bytes of an original's findings and of what evaluation makes of them."""
_GROUPED = 1000
"""Bytes of a record whose block is being searched, with an embedding of middling width."""

_SECONDS = 2.0
_RECORD_SECONDS = (10e-6, 20e-6)
_PAIR_SECONDS = (1e-9, 2e-9)
_TREE_SECONDS = (1.5e-6, 10e-6)
"""A query's way through a tree: neighbours that stand out, and neighbours that hardly do."""


@dataclass(frozen=True)
class AttackerPlan:
    """What one attacker will compare: blocks with records of both tables, their pairs, the most candidates in one.

    `trees` counts the blocks in which a tree will be tried, `examined` is the share of the pairs that is looked at.
    """

    name: str
    blocks: int
    pairs: int
    share_of_all_pairs: float
    largest: int
    trees: int
    examined: float


@dataclass(frozen=True)
class AuditPlan:
    """Records by table, the attackers, bytes needed and allowed, and the expected seconds, from and to."""

    rows: Mapping[str, int]
    attackers: tuple[AttackerPlan, ...]
    needed: int
    allowed: int
    threads: int
    seconds: tuple[float, float]


def needed_bytes(rows: Mapping[str, int], specs: tuple[ColumnSpec, ...], features: int, budget: Budget) -> int:
    """What an audit takes at its fullest: everything that is held for all records, and one group of blocks."""
    cells = sum(_COLUMN[spec.type] for spec in specs)
    records = sum(rows.values())
    held = records * (cells + _FEATURE * features + _BLOCK) + rows["original"] * _FINDING
    return _BASE + held + records * _READING + min(budget.group_bytes, records * _GROUPED)


def place_for(rows: Mapping[str, int], plan: Plan) -> Place:
    """Where the tables are kept: in memory if they fit, else on disk; refused if not even that fits."""
    import os

    return Shelf() if os.environ.get("SHELF") else Place()


def make_plan(plan: Plan, inputs: Inputs) -> AuditPlan:
    """What the audit of these tables will do."""
    rows = {role: description.rows for role, description in inputs.descriptions.items()}
    attackers = tuple(_attacker_plan(name, attacker, plan, inputs) for name, attacker in plan.attackers.items())
    needed = needed_bytes(rows, plan.specs, _features(plan), plan.budget)
    low, high = (
        sum(
            _SECONDS
            + sum(rows.values()) * _RECORD_SECONDS[end]
            + (rows["original"] * _TREE_SECONDS[end] if it.trees else it.pairs * it.examined * _PAIR_SECONDS[end])
            for it in attackers
        )
        * (2 / plan.budget.workers if plan.budget.workers < 2 else 1.0)
        for end in (0, 1)
    )
    return AuditPlan(rows, attackers, needed, plan.budget.memory, plan.budget.workers, (low, high))


def _attacker_plan(name: str, attacker: Attacker, plan: Plan, inputs: Inputs) -> AttackerPlan:
    original, protected = attacker.view(inputs.pair.original), attacker.view(inputs.pair.protected)
    space = attacker.vectorization.fit([original, protected])
    declared = assign_blocks(attacker.blocking, [original, protected], space, plan.config.seed)
    searched = narrowed(declared, plan.levers, [original, protected], space, plan.config.seed)
    layouts = [sort_blocks(Partition(codes["original"], codes["protected"])) for codes in searched.codes]
    heights, widths = (
        np.concatenate([ends[:, 1] - ends[:, 0] for ends in sides])
        for sides in ([it.query_ends for it in layouts], [it.candidate_ends for it in layouts])
    )
    large = np.minimum(heights, widths) >= TREE_RECORDS
    trees = large if int((heights * widths)[large].sum()) >= TREE_PAIRS else np.zeros(len(large), dtype=bool)
    pairs = declared.pairs
    return AttackerPlan(
        name=name,
        blocks=len(heights),
        pairs=pairs,
        share_of_all_pairs=pairs / (original.rows * protected.rows),
        largest=int(widths.max(initial=0)),
        trees=int(trees.sum()),
        examined=searched.pairs / max(1, pairs),
    )


def _features(plan: Plan) -> int:
    """At most so many numeric features a record."""
    return sum(max(1, len(plan.config.columns[spec.name].features)) for spec in plan.specs if spec.type != "category")


def gigabytes(size: float) -> str:
    """A size as a person reads it."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"
