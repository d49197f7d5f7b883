"""A plan before the work: what an audit will compare, and what that takes.

Memory is reckoned from the number of records and the kinds of columns, before any of them is read, and held against the
budget: tables that do not fit it are kept on disk, and what does not fit even so is refused. The time is a guess from
measured costs (docs/reference/benchmarks.md); it depends on the machine and on how well the vectors can be told apart,
hence two ends.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cvpl.attack.attacker import Attacker
from cvpl.attack.table_blocks import assign_blocks, narrowed
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import LimitError
from cvpl.operators.alignment import detect
from cvpl.result import Finding
from cvpl.search.exact import TREE_PAIRS, TREE_RECORDS
from cvpl.tables.column_store import ColumnStore
from cvpl.tables.columns import Place
from cvpl.tables.pair import Inputs

_BASE = 350 << 20
"""Python, its libraries, and samples of pairs."""
_COMPILER = 130 << 20
"""The compiler at work, which it is once on a machine, where there are pairs enough to repay it."""
_COLUMN = {"numeric": 24, "datetime": 16, "category": 4}
"""Bytes of a cell once it is read."""
_FEATURE = 8
_READING = 50
"""Bytes a record of reading, scaling or blocking by one column, for a moment."""
_BLOCK = 30
"""Bytes of a record's block, its place in the order of blocks, and copies of both."""
_FOUND = 80
"""Bytes of an original's or a control's true match, and of what a search finds for it."""
_FINDING = 165
"""The same, and what evaluation makes of it."""
_GROUPED = 1000
"""Bytes of a record whose block is being searched, with an embedding of middling width."""
_COPIES = 4
"""Embeddings of whole tables are held so many times."""
_LABELS = 16
"""A category is taken to have so many labels until it is read."""

_SECONDS = 2.0
_RECORD_SECONDS = (10e-6, 20e-6)
_PAIR_SECONDS = (1e-9, 2e-9)
_VARIATIONS = 15
"""So many other choices are tried for the sensitivity, ..."""
_SAMPLE = 2_000
"""... on so many people, as canaries are."""
_TREE_SECONDS = (1.5e-6, 10e-6)
"""A query's way through a tree: neighbours that stand out, and neighbours that hardly do."""


@dataclass(frozen=True)
class AttackerResources:
    """What one attacker will compare: blocks with records of both tables, their pairs, the most candidates in one.

    `asked` are the originals that it asks; the pairs are theirs.
    `trees` counts the blocks in which a tree will be tried, `examined` is the share of the pairs that is looked at.
    """

    name: str
    asked: int
    blocks: int
    pairs: int
    share_of_all_pairs: float
    largest: int
    trees: int
    examined: float


@dataclass(frozen=True)
class ResourceEstimate:
    """Records by table, the attackers, bytes needed and allowed, and the expected seconds, from and to.

    `disk` are the bytes that the tables take on disk, where they are kept there. `findings` are those of the checks
    before the attack. `draw_seed` is the seed that drew attackers beyond the configuration; None where none were drawn.
    """

    rows: Mapping[str, int]
    attackers: tuple[AttackerResources, ...]
    needed: int
    allowed: int
    disk: int | None
    threads: int
    seconds: tuple[float, float]
    findings: tuple[Finding, ...] = ()
    draw_seed: int | None = None


def needed_bytes(rows: Mapping[str, int], resolved: ResolvedConfig, *, on_disk: bool, labels: int | None = None) -> int:
    """What an audit takes at its fullest: what is held for all records, and the largest of its steps.

    The tables are held, with a perturbed copy of the originals, unless they are on disk; so are the embeddings of
    attackers who do not make them block by block, whose width may depend on the number of labels.
    """
    records, asked, attackers = sum(rows.values()), rows["original"] + rows.get("control", 0), len(resolved.attackers)
    features = _FEATURE * _features(resolved) * attackers
    tables = 0 if on_disk else (records + rows["original"]) * (_cells(resolved) + features) + _aligned(resolved) * asked
    searching = records * _BLOCK + asked * _FOUND + min(resolved.budget.group_bytes, records * _GROUPED)
    evaluating = records * _BLOCK + asked * _FINDING
    # The findings of the attackers before are held while the last one is at work.
    before = (attackers - 1) * evaluating
    if labels is None:
        labels = _LABELS * sum(spec.type == "category" for spec in resolved.specs)
    width = sum(
        _whole_width(attacker, labels + _features(resolved), len(resolved.specs))
        for attacker in resolved.attackers.values()
    )
    embeddings = _COPIES * 8 * width * records
    compiler = _COMPILER if rows["original"] * rows["protected"] >= TREE_PAIRS else 0
    return _BASE + compiler + tables + before + embeddings + max(records * _READING, searching, evaluating)


def disk_bytes(rows: Mapping[str, int], resolved: ResolvedConfig) -> int:
    """What tables on disk take there: as they are, by blocks for every attacker, and two copies of the originals.

    Aligned attackers each have the originals and the control once more.
    """
    aligned = _aligned(resolved) * (rows["original"] + rows.get("control", 0))
    return _cells(resolved) * (sum(rows.values()) * (1 + len(resolved.attackers)) + 2 * rows["original"]) + aligned


def place_for(rows: Mapping[str, int], resolved: ResolvedConfig) -> Place:
    """Where the tables are kept: in memory if they fit, else on disk; what does not fit either way is refused."""
    if needed_bytes(rows, resolved, on_disk=False) <= resolved.budget.memory:
        return Place()
    needed = needed_bytes(rows, resolved, on_disk=True)
    people = " and ".join(f"{count:,} {name}" for name, count in rows.items())
    if needed > resolved.budget.memory:
        raise LimitError(
            f"auditing {people} records takes about {gigabytes(needed)} of memory, even with the tables on disk, and "
            f"{gigabytes(resolved.budget.memory)} are allowed. Allow more with --memory or `search.memory`, or audit a "
            "sample of the originals against the whole release."
        )
    wanted, free = disk_bytes(rows, resolved), _free_bytes()
    if wanted > free:
        raise LimitError(
            f"auditing {people} records takes about {gigabytes(wanted)} in the folder for temporary files, which has "
            f"{gigabytes(free)} free. Name another folder in the environment variable TMPDIR, or allow more memory "
            "with --memory or `search.memory`."
        )
    return ColumnStore()


def _free_bytes() -> int:
    """The room in the folder for temporary files; none where there is no such folder."""
    try:
        return shutil.disk_usage(tempfile.gettempdir()).free
    except OSError:
        return 0


def check_embeddings(resolved: ResolvedConfig, inputs: Inputs) -> None:
    """Refuse attackers who compare whole embedded tables, where these do not fit; their width shows after reading."""
    needed = _needed(resolved, inputs)
    if needed > resolved.budget.memory:
        raise LimitError(
            f"comparing the embeddings of whole tables takes about {gigabytes(needed)} of memory, and "
            f"{gigabytes(resolved.budget.memory)} are allowed. Allow more with --memory or `search.memory`, or choose "
            "`similarity: cosine` with a linear projection, which embeds block by block."
        )


def estimate_resources(resolved: ResolvedConfig, inputs: Inputs) -> ResourceEstimate:
    """What the audit of these tables will do."""
    rows = {role: description.rows for role, description in inputs.descriptions.items()}
    able = resolved.able(rows.get("control", 0))
    attackers = tuple(_attacker_resources(name, attacker, resolved, inputs) for name, attacker in able.items())
    needed, on_disk = _needed(resolved, inputs), not inputs.pair.original.place.in_memory
    low, high = (_seconds(attackers, rows, resolved, end) for end in (0, 1))
    disk = disk_bytes(rows, resolved) if on_disk else None
    return ResourceEstimate(rows, attackers, needed, resolved.budget.memory, disk, resolved.budget.workers, (low, high))


def _seconds(
    attackers: tuple[AttackerResources, ...], rows: Mapping[str, int], resolved: ResolvedConfig, end: int
) -> float:
    """The searches for originals and control people, and what is tried on a sample beside them."""
    total = 0.0
    for attacker in attackers:
        asked = attacker.asked + min(rows.get("control", 0), attacker.asked)
        pairs = attacker.pairs * attacker.examined * asked / max(1, attacker.asked)
        total += _SECONDS + sum(rows.values()) * _RECORD_SECONDS[end]
        total += asked * _TREE_SECONDS[end] if attacker.trees else pairs * _PAIR_SECONDS[end]
    repeats = 2 * len(attackers) * resolved.runs_canaries + _VARIATIONS * resolved.runs_sensitivity
    sampled = min(_SAMPLE, rows["original"]) * rows["protected"]
    total += repeats * (sampled * _PAIR_SECONDS[end] + sum(rows.values()) * _RECORD_SECONDS[end])
    return total * (2 / resolved.budget.workers if resolved.budget.workers < 2 else 1.0)


def _attacker_resources(name: str, attacker: Attacker, resolved: ResolvedConfig, inputs: Inputs) -> AttackerResources:
    original, protected = attacker.view(inputs.pair.original), attacker.view(inputs.pair.protected)
    if attacker.alignment == "release":
        original = detect(original, protected).apply(original)
    space = attacker.vectorization.fit([original, protected])
    declared = assign_blocks(attacker.blocking, [original, protected], space, resolved.config.seed)
    searched = narrowed(declared, resolved.levers, [original, protected], space, resolved.config.seed)
    sizes = [partition.sizes() for partition in searched.partitions("original", "protected")]
    heights, widths = (np.concatenate(side) for side in zip(*sizes, strict=True))
    both = (heights > 0) & (widths > 0)
    heights, widths = heights[both], widths[both]
    large = np.minimum(heights, widths) >= TREE_RECORDS
    trees = large if int((heights * widths)[large].sum()) >= TREE_PAIRS else np.zeros(len(large), dtype=bool)
    pairs, asked = declared.pairs, original.rows
    most = resolved.most_asked(attacker, protected.rows)
    if most is not None and most < asked:
        pairs, asked = pairs * most // asked, most
    return AttackerResources(
        name=name,
        asked=asked,
        blocks=len(heights),
        pairs=pairs,
        share_of_all_pairs=pairs / (original.rows * protected.rows),
        largest=int(widths.max(initial=0)),
        trees=int(trees.sum()),
        examined=searched.pairs / max(1, declared.pairs),
    )


def _needed(resolved: ResolvedConfig, inputs: Inputs) -> int:
    """What the audit of these tables takes, now that they are read."""
    rows = {role: description.rows for role, description in inputs.descriptions.items()}
    columns = inputs.pair.original.columns.values()
    labels = sum(column.label_count for column in columns)
    return needed_bytes(rows, resolved, on_disk=not inputs.pair.original.place.in_memory, labels=labels)


def _whole_width(attacker: Attacker, features: int, columns: int) -> int:
    """How many numbers of every record an attacker holds at the same time; none where it embeds block by block."""
    if attacker.compares_values:
        return columns
    if not attacker.projects or not attacker.projection_operator.is_linear:
        return features
    return 0 if attacker.similarity_operator.unit else attacker.projection_operator.most_components(features)


def _cells(resolved: ResolvedConfig) -> int:
    """Bytes of a record's columns."""
    return sum(_COLUMN[spec.type] for spec in resolved.specs)


def _aligned(resolved: ResolvedConfig) -> int:
    """Bytes of a record's columns as aligned attackers hold them."""
    return _cells(resolved) * sum(attacker.alignment == "release" for attacker in resolved.attackers.values())


def _features(resolved: ResolvedConfig) -> int:
    """At most so many numeric features a record."""
    return sum(
        max(1, len(resolved.config.columns[spec.name].features)) for spec in resolved.specs if spec.type != "category"
    )


def gigabytes(size: float) -> str:
    """A size as a person reads it."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
