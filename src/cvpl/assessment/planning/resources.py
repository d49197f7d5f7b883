"""Resource estimates before an audit: pairs to compare, memory and disk.

Memory is estimated from the number of records and the column types, before any table is read, and compared with the
budget: tables that do not fit are kept on disk, and an audit that does not fit even then is refused. The time is
estimated step by step in `work`. It depends on the machine and on how well the vectors separate, so it is a range.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cvpl.assessment.planning.progress import Step
from cvpl.attack.attacker import Attacker
from cvpl.attack.table_blocks import assign_blocks, narrow_blocks
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import LimitError
from cvpl.files import temporary_place
from cvpl.operators.alignment import detect
from cvpl.operators.vectorization import with_a_feature_each
from cvpl.result import Finding
from cvpl.search.exact import TREE_PAIRS, TREE_RECORDS
from cvpl.tables.column_store import ColumnStore
from cvpl.tables.columns import Place
from cvpl.tables.pair import Inputs

_BASE = 350 << 20
"""Python, its libraries, and samples of pairs."""
_COMPILER = 130 << 20
"""The compiler, which runs once per machine if there are enough pairs to be worth it."""
_COLUMN = {"numeric": 24, "datetime": 16, "category": 4}
"""Bytes of a cell after reading."""
_FEATURE = 8
_READING = 50
"""Temporary bytes per record for reading, scaling or blocking by one column."""
_BLOCK = 30
"""Bytes of a record's block, its position in the order of blocks, and copies of both."""
_FOUND = 80
"""Bytes of an original's or a control's true match, and of its search result."""
_FINDING = 165
"""The same, with its evaluation."""
_GROUPED = 1000
"""Bytes of a record whose block is being searched, with an embedding of medium width."""
_COPIES, _DISTANCE_COPIES = 3, 2
"""The number of copies of whole-table embeddings in memory: the embeddings, at unit length, and in a tree; for a
distance, also in single precision. Attackers run one after the other, and drop them."""
_CODED = 32
"""Bytes of a released or a reference record's value, with its place in an index on rare values."""
LABELS = 16
"""The assumed number of labels of a category before it is read."""

_DOUBT = 1.5
"""The time may be so many times shorter or longer than estimated."""


@dataclass(frozen=True)
class AttackerResources:
    """What one attacker will compare: blocks with records of both tables, their pairs, the most candidates in one.

    `asked` is the number of originals searched; `pairs` counts their pairs. `trees` is the number of blocks in which a
    tree is tried, `examined` the share of the pairs that is searched.
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
    """Records by table, the attackers, bytes needed and allowed, and the steps with the seconds of each.

    `disk` are the bytes that the tables take on disk, where they are kept there. `findings` are those of the checks
    before the attack. `draw_seed` is the seed that drew attackers beyond the configuration; None where none were drawn.
    `ignored` says which settings have no effect, and why. `free` is the part of a core that other programs leave to a
    thread.
    """

    rows: Mapping[str, int]
    attackers: tuple[AttackerResources, ...]
    needed: int
    allowed: int
    disk: int | None
    threads: int
    steps: tuple[Step, ...] = ()
    free: float = 1.0
    findings: tuple[Finding, ...] = ()
    draw_seed: int | None = None
    ignored: tuple[str, ...] = ()

    @property
    def seconds(self) -> tuple[float, float]:
        """The range of seconds that the audit should take."""
        total = sum(step.seconds for step in self.steps)
        return total / _DOUBT, total * _DOUBT

    @property
    def processor(self) -> float:
        """The seconds that all cores together should take."""
        return sum(step.processor for step in self.steps)


def needed_bytes(rows: Mapping[str, int], resolved: ResolvedConfig, *, on_disk: bool, labels: int | None = None) -> int:
    """Peak memory of an audit: what is held for all records, plus the largest of its steps.

    The tables are held, with a perturbed copy of the originals, unless they are on disk. So are the results of every
    attacker, for the people that it searches. Attackers that do not embed block by block hold embeddings of the people
    that they search, of the release and of the reference people; their width may depend on the number of labels.
    """
    records, people = sum(rows.values()), rows["original"] + rows.get("control", 0)
    features = _FEATURE * _features(resolved) * _spaces(resolved)
    tables = 0
    if not on_disk:
        tables = (records + rows["original"]) * (_cells(resolved) + features) + _aligned(resolved) * people
    if labels is None:
        labels = LABELS * sum(spec.type == "category" for spec in resolved.specs)
    # An attacker searches blocks, embeddings of whole tables, or an index on rare values.
    results, searched = [0], min(resolved.budget.group_bytes, records * _GROUPED)
    for attacker in resolved.attackers.values():
        most = resolved.max_queries(attacker, rows["protected"])
        asked = sum(min(rows.get(table, 0), most or records) for table in ("original", "control"))
        compared = rows["protected"] + (rows.get("control", 0) // 2 if attacker.needs_reference else 0)
        results.append(asked * _FINDING)
        if attacker.compares_values:
            searched = max(searched, _CODED * len(resolved.specs) * (compared + asked))
        else:
            width = _whole_width(attacker, labels + _features(resolved))
            copies = _DISTANCE_COPIES if attacker.similarity_operator.by_distance else _COPIES
            searched = max(searched, copies * 8 * width * (compared + asked))
    compiler = _COMPILER if rows["original"] * rows["protected"] >= TREE_PAIRS else 0
    # The results of earlier attackers, and the blocks of other blockings, are held while the last one runs.
    before = sum(results) - max(results) + (_blockings(resolved) - 1) * records * _BLOCK
    searching = records * _BLOCK + people * _FOUND + searched
    evaluating = records * _BLOCK + max(results)
    return _BASE + compiler + tables + before + max(records * _READING, searching, evaluating)


def disk_bytes(rows: Mapping[str, int], resolved: ResolvedConfig) -> int:
    """Disk space for tables on disk: the tables, a copy by blocks for every attacker, and two copies of the originals.

    Aligned attackers each have another copy of the originals and the control.
    """
    aligned = _aligned(resolved) * (rows["original"] + rows.get("control", 0))
    return _cells(resolved) * (sum(rows.values()) * (1 + len(resolved.attackers)) + 2 * rows["original"]) + aligned


def place_for(rows: Mapping[str, int], resolved: ResolvedConfig) -> Place:
    """Where the tables are kept: in memory if they fit, else on disk; raises LimitError if neither fits."""
    if needed_bytes(rows, resolved, on_disk=False) <= resolved.budget.memory:
        return Place()
    needed = needed_bytes(rows, resolved, on_disk=True)
    people = " and ".join(f"{count:,} {name}" for name, count in rows.items())
    if needed > resolved.budget.memory:
        raise LimitError(
            f"not enough memory: auditing {people} records takes about {format_bytes(needed)}, even with the tables "
            f"on disk, and the limit is {format_bytes(resolved.budget.memory)}. Raise it with --memory or "
            "`search.memory`, or audit a sample of the originals against the whole release."
        )
    wanted, free = disk_bytes(rows, resolved), _free_bytes()
    if wanted > free:
        raise LimitError(
            f"not enough disk space: auditing {people} records takes about {format_bytes(wanted)} in the folder for "
            f"temporary files, which has {format_bytes(free)} free. Set another folder in the environment variable "
            "TMPDIR, or raise the memory limit with --memory or `search.memory`."
        )
    return ColumnStore()


def _free_bytes() -> int:
    """The free space in the folder for temporary files; 0 if there is no such folder."""
    try:
        return shutil.disk_usage(temporary_place()).free
    except OSError:
        return 0


def check_embeddings(resolved: ResolvedConfig, inputs: Inputs) -> None:
    """Refuse attackers whose whole-table embeddings do not fit; the width is known only after reading."""
    needed = _needed(resolved, inputs)
    if needed > resolved.budget.memory:
        raise LimitError(
            f"not enough memory: comparing the embeddings of whole tables takes about {format_bytes(needed)}, and the "
            f"limit is {format_bytes(resolved.budget.memory)}. Raise it with --memory or `search.memory`, or use "
            "`similarity: cosine` with a linear projection, which embeds block by block."
        )


def estimate_resources(resolved: ResolvedConfig, inputs: Inputs, steps: Sequence[Step] = ()) -> ResourceEstimate:
    """Estimate the resources for the audit of these tables in these steps."""
    rows = {role: description.rows for role, description in inputs.descriptions.items()}
    able = resolved.able(rows.get("control", 0), inputs.pair)
    attackers = tuple(_attacker_resources(name, attacker, resolved, inputs) for name, attacker in able.items())
    needed, on_disk = _needed(resolved, inputs), not inputs.pair.original.place.in_memory
    disk = disk_bytes(rows, resolved) if on_disk else None
    return ResourceEstimate(
        rows,
        attackers,
        needed,
        resolved.budget.memory,
        disk,
        resolved.budget.workers,
        tuple(steps),
        ignored=resolved.ignored,
    )


def _attacker_resources(name: str, attacker: Attacker, resolved: ResolvedConfig, inputs: Inputs) -> AttackerResources:
    original, protected = attacker.view(inputs.pair.original), attacker.view(inputs.pair.protected)
    if attacker.alignment != "none":
        original = detect(original, protected).apply(original)
    space = attacker.vectorization.fit([original, protected])
    declared = assign_blocks(attacker.blocking, [original, protected], space, resolved.config.seed)
    searched = narrow_blocks(declared, resolved.levers, [original, protected], space, resolved.config.seed)
    sizes = [partition.sizes() for partition in searched.partitions("original", "protected")]
    heights, widths = (np.concatenate(side) for side in zip(*sizes, strict=True))
    both = (heights > 0) & (widths > 0)
    heights, widths = heights[both], widths[both]
    large = np.minimum(heights, widths) >= TREE_RECORDS
    trees = large if int((heights * widths)[large].sum()) >= TREE_PAIRS else np.zeros(len(large), dtype=bool)
    pairs, asked = declared.pairs, original.rows
    most = resolved.max_queries(attacker, protected.rows)
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
    """The memory for the audit of these tables, after reading them."""
    rows = {role: description.rows for role, description in inputs.descriptions.items()}
    columns, written = inputs.pair.original.columns, resolved.config.columns
    compared = {name: column.label_count for name, column in columns.items() if written[name].vectorize}
    each = with_a_feature_each({name: n for name, n in compared.items() if written[name].encode != "frequency"})
    labels = sum(count if name in each else min(1, count) for name, count in compared.items())
    return needed_bytes(rows, resolved, on_disk=not inputs.pair.original.place.in_memory, labels=labels)


def _whole_width(attacker: Attacker, features: int) -> int:
    """The width of the vectors that an attacker holds for all records; 0 if it embeds block by block."""
    if not attacker.projects or not attacker.projection_operator.is_linear:
        return features
    return 0 if attacker.similarity_operator.unit else attacker.projection_operator.most_components(features)


def _cells(resolved: ResolvedConfig) -> int:
    """Bytes of a record's columns."""
    return sum(_COLUMN[spec.type] for spec in resolved.specs)


def _aligned(resolved: ResolvedConfig) -> int:
    """Bytes of a record's columns as aligned attackers hold them, who share them."""
    return _cells(resolved) * any(attacker.alignment == "release" for attacker in resolved.attackers.values())


def _blockings(resolved: ResolvedConfig) -> int:
    """The number of different blockings of the same people: attackers with the same one share it."""
    return len({(item.alignment, item.needs_reference, item.blocking) for item in resolved.attackers.values()})


def _spaces(resolved: ResolvedConfig) -> int:
    """The number of different vectorizations: attackers with the same one share it."""
    return len({(item.alignment, item.vectorization.model_dump_json()) for item in resolved.attackers.values()})


def _features(resolved: ResolvedConfig) -> int:
    """The largest possible number of numeric features per record."""
    return sum(
        max(1, len(resolved.config.columns[spec.name].features)) for spec in resolved.specs if spec.type != "category"
    )


def format_bytes(size: float) -> str:
    """A size in human-readable units."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
