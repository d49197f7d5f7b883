"""k-anonymity by full-domain generalization: every column is coarsened to one level, and small classes are removed.

A node is a choice of one level for each column. At a node the rows form classes of equal cells; rows in classes smaller
than k are removed, at most a share of the table. Among the nodes that meet this limit, the one with the least loss is
used:

    loss = (sum over rows kept of their cells' losses + number of columns x rows removed) / (rows x columns)

A cell's loss grows with its level, and a removed row loses all of its cells. So the mean loss of a node's cells without
removal is a lower bound on the node's loss, and on that of all nodes above it. Nodes are opened in the order of this
bound; once it reaches the best loss found, no better node is left, and the best found is the optimum.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.laboratory.mechanisms.hierarchies import CodedLevel
from cvpl.wording import count_phrase

Ints = NDArray[np.int64]
Node = tuple[int, ...]

STRENGTHS = (2, 3, 5, 7, 10, 15, 20, 30, 50)
"""The k of the paper's family A (paper, section 7.4)."""
MOST_NODES = 200_000
"""The maximum number of nodes to open; fewer columns, or fewer levels per column, need fewer."""


@dataclass(frozen=True)
class FullDomain:
    """The result of a search: the level of each column, the rows removed, and the loss."""

    k: int
    levels: Mapping[str, str]
    removed: int
    rows: int
    loss: float


@dataclass(frozen=True)
class KAnonymity:
    """Full-domain k-anonymity: at least k rows share every combination of values in the columns of `hierarchies`.

    `hierarchies` gives the levels of each column, for the rows of the table to protect; see `hierarchies`. At most a
    share `removal` of the rows is removed. Rows are shuffled; other columns stay unchanged. A missing value counts as a
    value of its own.
    """

    k: int
    hierarchies: Mapping[str, Sequence[CodedLevel]] = field(repr=False)
    removal: float = 0.05

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 2:
            raise ValueError(f"KAnonymity: k is {self.k!r}; allowed is a whole number from 2. Set it in this range.")
        if not 0 <= self.removal < 1:
            raise ValueError(
                f"KAnonymity: removal is {self.removal!r}; allowed is a share from 0 to below 1. Set it in this range."
            )
        if not self.hierarchies:
            raise ValueError("KAnonymity: there is no column to generalize. Name the quasi-identifiers.")

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The release of `table`, shuffled."""
        return self.apply(table, self.search(len(table)), rng)

    def search(self, rows: int) -> FullDomain:
        """The node with the least loss; raises ValueError if no node reaches k."""
        if rows < self.k:
            raise ValueError(
                f"KAnonymity: k is {self.k}, but the table has {count_phrase(rows, 'row')}. "
                "Choose a k up to the number of rows."
            )
        names = list(self.hierarchies)
        columns = [list(self.hierarchies[name]) for name in names]
        most = int(self.removal * rows)
        bounds = [np.array([level.mean_loss() for level in levels]) for levels in columns]
        bottom: Node = (0,) * len(columns)
        heap: list[tuple[float, Node]] = [(0.0, bottom)]
        seen, opened = {bottom}, 0
        best: tuple[float, Node, int] | None = None
        insufficient: list[Node] = []
        while heap:
            bound, node = heapq.heappop(heap)
            if best is not None and bound >= best[0]:
                break
            if not any(all(a <= b for a, b in zip(node, below, strict=True)) for below in insufficient):
                opened += 1
                if opened > MOST_NODES:
                    raise ValueError(
                        f"KAnonymity: more than {MOST_NODES:,} combinations of levels would have to be tried. "
                        "Generalize fewer columns, give them fewer levels, or use Mondrian."
                    )
                removed = self._removed([levels[at] for levels, at in zip(columns, node, strict=True)])
                if int(removed.sum()) <= most:
                    loss = _loss([levels[at] for levels, at in zip(columns, node, strict=True)], removed)
                    if best is None or (loss, node) < best[:2]:
                        best = loss, node, int(removed.sum())
                else:
                    insufficient = [item for item in insufficient if not _covers(node, item)] + [node]
            for column in range(len(node)):
                if node[column] + 1 < len(columns[column]):
                    above = (*node[:column], node[column] + 1, *node[column + 1 :])
                    if above not in seen:
                        seen.add(above)
                        total = sum(float(item[at]) for item, at in zip(bounds, above, strict=True)) / len(columns)
                        heapq.heappush(heap, (total, above))
        if best is None:
            raise ValueError(
                f"KAnonymity: even with every column suppressed, more than {self.removal:.0%} of the rows are in "
                f"classes below {self.k}, since missing values form their own classes. Allow more removal, or choose a "
                "smaller k."
            )
        loss, node, removed_rows = best
        levels = {name: columns[at][node[at]].name for at, name in enumerate(names)}
        return FullDomain(self.k, levels, removed_rows, rows, loss)

    def apply(self, table: Frame, found: FullDomain, rng: np.random.Generator) -> Frame:
        """The table at the levels found, without the rows in small classes, shuffled."""
        chosen = {
            name: next(level for level in levels if level.name == found.levels[name])
            for name, levels in self.hierarchies.items()
        }
        removed = self._removed(list(chosen.values()))
        for name, level in chosen.items():
            if level is not self.hierarchies[name][0]:
                table = _at_level(table, name, level)
        kept = np.flatnonzero(~removed)
        return table.take(kept[rng.permutation(len(kept))])

    def _removed(self, levels: Sequence[CodedLevel]) -> NDArray[np.bool_]:
        """The rows whose class has fewer than k rows."""
        classes = _classes(levels)
        removed: NDArray[np.bool_] = np.bincount(classes)[classes] < self.k
        return removed


def _at_level(table: Frame, name: str, level: CodedLevel) -> Frame:
    """A column at a level: times stay times, other columns become categories."""
    if isinstance(level.values, np.ndarray):
        values = np.append(level.values, np.datetime64("NaT")).astype(level.values.dtype)
        return replace(table, times={**table.times, name: values[level.codes]})
    return table.coded(name, CategoryCodes(level.codes, tuple(level.values)))


def _classes(levels: Sequence[CodedLevel]) -> Ints:
    """The number of each row's class of equal cells."""
    classes: Ints = np.zeros(len(levels[0].codes), dtype=np.int64)
    combinations = 1
    for level in levels:
        size = len(level.values) + 1
        if combinations * size > np.iinfo(np.int64).max:
            classes = np.unique(classes, return_inverse=True)[1].astype(np.int64)
            combinations = len(classes)
        classes = classes * size + (level.codes + 1)
        combinations *= size
    return np.unique(classes, return_inverse=True)[1].astype(np.int64)


def _loss(levels: Sequence[CodedLevel], removed: NDArray[np.bool_]) -> float:
    """The mean loss of a cell, where all cells of a removed row are lost."""
    total = sum((level.row_loss() for level in levels), start=np.zeros(len(removed)))
    return float(np.where(removed, len(levels), total).mean() / len(levels))


def _covers(node: Node, other: Node) -> bool:
    """Whether `node` is at or above `other` on every column."""
    return all(a >= b for a, b in zip(node, other, strict=True))
