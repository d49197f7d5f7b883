"""Exact search: every query's best candidates, as if every pair had been scored.

There are four ways to search a block, and the choice never affects the result: the pairs of small blocks are listed
(`pairs`), larger blocks are scored in tiles (`pairs`), and in large blocks a tree (`tree`, `kernel`) of unit vectors,
or an index on rare values (`rare_values`) for agreement scores, leaves most pairs unscored. All four keep every pair
that could be one of the two best or tie with the best, and score it by the same formula.

Whether a tree saves work is decided by counting, not by timing: a sample of the block's queries goes through it, and
the number of products is compared with that of the tiles.

Approximate search with FAISS (extra `ann`): only on request, and its result is a lower bound. The candidates of a block
are assigned to lists by their nearest centre, about four times the square root of their number of lists; a query
searches the lists of its `nprobe` nearest centres. FAISS's top results are scored by the formula, like every other
pair.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import UsageError
from cvpl.operators.similarity import ScoreSource
from cvpl.search.best import BestCandidates, Counts, ScoredPairs, SearchOutcome
from cvpl.search.blocks import Group, LeftOut, Partition, groups, layouts
from cvpl.search.levers import Approximate
from cvpl.search.machine import Budget, limit_own_blas, one_blas_thread, threads
from cvpl.search.pairs import ListedPairs, TiledQueries, candidates_only

if TYPE_CHECKING:
    from cvpl.search.tree.tree_search import TreeSearch


Ints = NDArray[np.int64]
Progress = Callable[[float], None]

SMALL_BLOCK = 1_500
"""Blocks with at most this many pairs are scored pair by pair, many blocks at a time."""
LISTED_PAIRS = 1 << 17
FEW_PAIRS = 1 << 18
"""Up to this many pairs are scored by one thread: starting others takes as long."""
TILE_WIDTH = 1 << 12
TREE_RECORDS = 1_024
"""Trees are tried in blocks with this many queries and candidates: building one in vain then costs little."""
TREE_PAIRS = 500_000_000
"""Trees are tried where large blocks have this many pairs: loading the compiler takes as long as scoring them."""
INDEX_PAIRS = 100_000
"""For agreement scores, blocks with this many pairs are searched with an index on rare values."""
INDEX_ALL_PAIRS = 10_000_000
"""The index is used with this many pairs: loading the compiler takes as long as scoring in tiles. Once it is loaded,
this does not matter."""
_TREE = "cvpl.search.cells.kernel"
_INDEX = "cvpl.search.rare_values.index"
TREE_SAMPLE = 128
"""The number of a block's queries, at most one in sixteen, that go through its tree to count the work."""
TREE_PRODUCT = 0.25
"""The cost of a product in a tree, in products of a tile."""
TREE_RECORD = 5_000
"""The cost of building a tree, including the preparation of queries, in products per query."""


def find_best(
    scorer: ScoreSource,
    partitions: Sequence[Partition],
    *,
    left_out: LeftOut | None = None,
    budget: Budget | None = None,
    ann: Approximate | None = None,
    progress: Progress | None = None,
) -> BestCandidates:
    """Each query's best candidates: those that share a block with it in any of `partitions` and are not left out.

    With `ann` large blocks are searched approximately, and the result says how many pairs were examined.
    """
    budget = budget or Budget()
    found = BestCandidates.none(scorer.queries)
    single = len(partitions) == 1
    if single:
        found.candidates[:] = _candidates(partitions[0], left_out)
    kept: list[ScoredPairs] = []
    examined = 0
    for number, partition in enumerate(partitions):
        done, total, asked = 0, max(1, partition.pairs), -1
        parts = layouts(partition, partitions[:number], left_out)
        for group in (group for blocks in parts for group in groups(blocks, scorer, budget)):
            if single and kept and int(group.query_rows[0]) != asked:  # all pieces with these queries are done
                ScoredPairs.joined(kept).reduce_into(found)
                kept.clear()
            asked = int(group.query_rows[0])
            direct = found if single and not group.partial else None
            workers = budget.workers if int(group.pairs.sum()) > FEW_PAIRS else 1
            for outcome in run_tasks(_tasks(group, budget, direct, ann), workers):
                if not single:
                    found.candidates[outcome.counts.query] += outcome.counts.count
                if outcome.near is not None and direct is not None:
                    outcome.near.reduce_into(found)
                elif outcome.near is not None:
                    kept.append(outcome.near)
                done += outcome.pairs
                examined += outcome.pairs if outcome.examined is None else outcome.examined
                if progress is not None:
                    progress((number + done / total) / len(partitions))
    if kept:
        ScoredPairs.joined(kept).reduce_into(found)
    return found if ann is None else replace(found, examined=examined)


Task = Callable[[], "SearchOutcome | list[Task]"]
"""A task returns its outcome, or the tasks that replace it."""


def _candidates(partition: Partition, left_out: LeftOut | None) -> Ints:
    """|C(x)| of every query, without those left out."""
    counts = partition.counts()
    if left_out is not None and len(left_out.query):
        inside = partition.shares(left_out.query, left_out.candidate)
        counts = counts - np.bincount(left_out.query[inside], minlength=len(counts))
    return counts


def run_tasks(tasks: Iterator[Task], workers: int) -> Iterator[SearchOutcome]:
    """The tasks' outcomes, a few tasks ahead at most, each task on one core; what a task leaves to do comes first."""
    with one_blas_thread():
        ready: deque[Task] = deque()
        if workers == 1:
            while (task := ready.popleft() if ready else next(tasks, None)) is not None:
                outcome = task()
                if isinstance(outcome, SearchOutcome):
                    yield outcome
                else:
                    ready.extend(outcome)
            return
        finished: SimpleQueue[Future[SearchOutcome | list[Task]]] = SimpleQueue()
        waiting = 0
        with threads(workers, limit_own_blas) as pool:
            while True:
                while waiting < 2 * workers:
                    task = ready.popleft() if ready else next(tasks, None)
                    if task is None:
                        break
                    pool.submit(task).add_done_callback(finished.put)
                    waiting += 1
                if not waiting:
                    return
                outcome = finished.get().result()
                waiting -= 1
                if isinstance(outcome, SearchOutcome):
                    yield outcome
                else:
                    ready.extend(outcome)


def _tasks(group: Group, budget: Budget, found: BestCandidates | None, ann: Approximate | None) -> Iterator[Task]:
    """The tasks of a group, the largest blocks first; a large block builds its own scorer, on its own thread."""
    pairs, large = group.pairs, tree_rectangles(group)
    if found is not None and not group.apart and (group.source.agreement or group.source.cells) is not None:
        yield from _index_tasks(group, budget, found)
        return
    if ann is not None and group.source.unit:
        many = group.rectangles[:, 3] - group.rectangles[:, 2] > ann.above
        for rectangle in group.rectangles[many]:
            yield ApproximateBlock(group.part(rectangle[None]), ann)
        group, large = group.part(group.rectangles[~many]), large[~many]
        pairs = group.pairs
    if large.any():
        from cvpl.search.tree.tree_search import compile_kernel  # noqa: PLC0415 - loads the compiler, worth it only for large blocks

        compile_kernel()
    for at in np.argsort(-pairs, kind="stable"):
        if large[at]:
            yield _TreeBlock(group.part(group.rectangles[at : at + 1]), budget, found)
    if not large.all():
        yield partial(_middling, group.part(group.rectangles[~large]), budget)


def _index_tasks(group: Group, budget: Budget, found: BestCandidates) -> Iterator[Task]:
    """Tasks for agreement scores: large blocks use an index on rare values, or a compiled scan of released cells."""
    pairs = group.pairs
    large = (pairs >= INDEX_PAIRS) & (_INDEX in sys.modules or int(pairs.sum()) >= INDEX_ALL_PAIRS)
    for at in np.argsort(-pairs, kind="stable"):
        if large[at]:
            by = cell_tasks if group.source.cells is not None else _by_rare_values
            yield partial(by, group.part(group.rectangles[at : at + 1]), budget, found)
    if not large.all():
        yield partial(_middling, group.part(group.rectangles[~large]), budget)


def _by_rare_values(group: Group, budget: Budget, found: BestCandidates) -> list[Task]:
    """Tasks of one block: build the index here, and search some queries at a time."""
    from cvpl.search.rare_values.index import QUERIES_AT_ONCE, RareValues  # noqa: PLC0415 - loads the compiler

    scorer = group.scorer.agreement
    assert scorer is not None  # noqa: S101 - checked in `_tasks`
    index = scorer.derived.get(_INDEX)
    if index is None:
        index = scorer.derived[_INDEX] = RareValues.of(scorer.distinct_codes, budget.workers)
    # Queries that share values search the same zones, so they are sorted together.
    order = np.lexsort(scorer.a.T) if scorer.columns else np.arange(scorer.queries)

    return query_tasks(group, budget, order, QUERIES_AT_ONCE, partial(index.search, scorer), found)


def cell_tasks(group: Group, budget: Budget, found: BestCandidates) -> list[Task]:
    """Tasks of one block: plant the tree here, and search some queries at a time."""
    from cvpl.search.cells.kernel import QUERIES_AT_ONCE, CellTree  # noqa: PLC0415 - loads the compiler

    scorer = group.scorer.cells
    assert scorer is not None  # noqa: S101 - checked in `_tasks`
    tree = scorer.derived.get(_TREE)
    if tree is None:
        tree = scorer.derived[_TREE] = CellTree.of(scorer)
    # Queries with similar values visit the same nodes, so they are sorted together.
    order = np.lexsort([*scorer.exact.a.T, *(column.query_codes for column in scorer.columns)])
    return query_tasks(group, budget, order, QUERIES_AT_ONCE, partial(tree.search, scorer), found)


def query_tasks(
    group: Group, budget: Budget, order: Ints, most: int, searched: Callable[..., Ints], found: BestCandidates
) -> list[Task]:
    """Tasks that search at most `most` queries each, in this order; what is left over is searched in tiles."""
    candidates = len(group.candidate_rows)

    def search(queries: Ints) -> SearchOutcome | list[Task]:
        skips = group.skip_query, group.skip_candidate
        failed = searched(queries, *skips, found, group.query_rows, group.candidate_rows)
        outcome = SearchOutcome((len(queries) - len(failed)) * candidates, None)
        if not len(failed):
            return outcome
        size, whole = budget.tile_bytes // 8, slice(0, candidates)
        alone: list[Task] = [TiledQueries(group, slice(item, item + 1), whole, size) for item in map(int, failed)]
        return [lambda: outcome, *alone]

    at_once = min(most, max(1, -(-len(order) // budget.workers)))
    return [partial(search, order[at : at + at_once]) for at in range(0, len(order), at_once)]


def _middling(group: Group, budget: Budget) -> list[Task]:
    """Tasks of blocks that share a scorer: medium blocks in tiles, small ones listed."""
    pairs = group.pairs
    small = np.flatnonzero(pairs <= SMALL_BLOCK)
    _ = group.scorer  # built once, before many tasks need it at the same time
    tasks: list[Task] = []
    for rectangle in group.rectangles[pairs > SMALL_BLOCK]:
        tasks.extend(_tile_tasks(group, rectangle, budget))
    numbers = np.cumsum(pairs[small]) // LISTED_PAIRS
    for members in np.split(small, np.flatnonzero(np.diff(numbers)) + 1):
        if members.size:
            tasks.append(ListedPairs(group, group.rectangles[members]))
    return tasks


def tree_rectangles(group: Group) -> NDArray[np.bool_]:
    """The rectangles in which a tree may save work: unit vectors, one partition, many records on both sides."""
    first, last, left, right = group.rectangles.T
    many = np.minimum(last - first, right - left) >= TREE_RECORDS
    able = group.source.unit and not group.apart
    result: NDArray[np.bool_] = many & (able and int(group.pairs[many].sum()) >= TREE_PAIRS)
    return result


def _tile_tasks(group: Group, rectangle: Ints, budget: Budget) -> Iterator[Task]:
    first, last, left, right = (int(end) for end in rectangle)
    size = budget.tile_bytes // 8
    height = max(1, size // min(TILE_WIDTH, right - left))
    for start in range(first, last, height):
        yield TiledQueries(group, slice(start, min(start + height, last)), slice(left, right), size)


@dataclass(frozen=True, eq=False)
class _TreeBlock:
    """A large block as a group of its own: try a tree on a sample, then return the tasks for the tree or for tiles."""

    group: Group
    budget: Budget
    found: BestCandidates | None

    def __call__(self) -> list[Task]:
        from cvpl.search.tree.tree import build_tree  # noqa: PLC0415 - see `_tasks`
        from cvpl.search.tree.tree_search import search_tree  # noqa: PLC0415

        group, scorer = self.group, self.group.scorer.unit_vectors
        assert scorer is not None  # noqa: S101 - checked in `tree_rectangles`
        keep_copies = self.found is None or len(group.skip_query) > 0
        tree = build_tree(scorer.b, keep_copies=keep_copies)
        skips = group.skip_query, group.skip_candidate
        here = search_tree(tree, scorer.a, *skips, scorer.one, keep_copies=keep_copies)
        sample = here.sample(min(TREE_SAMPLE, scorer.queries // 16))
        products = here.count(sample).products(tree.coordinates) / len(sample)
        if TREE_PRODUCT * products + TREE_RECORD > scorer.candidates * scorer.a.shape[1]:
            return list(_tile_tasks(group, group.rectangles[0], self.budget))
        return [TreeTask(self, here, piece) for piece in here.pieces()]


@dataclass(frozen=True, eq=False)
class TreeTask:
    """Some of the queries of a block with a tree."""

    planted: _TreeBlock
    search_tree: TreeSearch
    piece: slice

    def __call__(self) -> SearchOutcome | list[Task]:
        """Search the piece; tasks for what is left over, if anything is."""
        group, found = self.planted.group, self.planted.found
        candidates = len(group.candidate_rows)
        if found is not None:
            queries, too_many = self.search_tree.search(self.piece, found, group.query_rows, group.candidate_rows)
            outcome = SearchOutcome(queries * candidates, None)
        else:
            query, row, score, too_many = self.search_tree.near(self.piece)
            who = np.setdiff1d(self.search_tree.order[self.piece], too_many)
            skipped = np.bincount(group.skip_query, minlength=len(group.query_rows))
            counts = Counts(group.query_rows[who], candidates - skipped[who])
            outcome = SearchOutcome(len(who) * candidates, group.named(query, row, score), counts)
        if not len(too_many):
            return outcome
        size = self.planted.budget.tile_bytes // 8
        alone: list[Task] = [
            TiledQueries(group, slice(query, query + 1), slice(0, candidates), size) for query in map(int, too_many)
        ]
        return [lambda: outcome, *alone]


NEAREST = 16
"""The number of a query's nearest candidates that are scored by the formula."""
_PAIRS_AT_ONCE = 1 << 22
"""Pairs counted at a time."""


@dataclass(frozen=True, eq=False)
class ApproximateBlock:
    """A large block as a group of its own, searched with lists."""

    group: Group
    settings: Approximate

    def __call__(self) -> SearchOutcome:
        """Train, look up and score, on one thread, so that a run is reproducible."""
        try:
            import faiss  # noqa: PLC0415 - an extra
        except ImportError:
            raise UsageError("search.ann needs an extra: install cvpl[ann], or leave it out") from None
        scorer = self.group.scorer.unit_vectors
        assert scorer is not None  # noqa: S101 - checked where the task is made
        a, b = (np.ascontiguousarray(side, dtype=np.float32) for side in (scorer.a, scorer.b))
        lists = max(1, min(len(b) // 40, int(4 * np.sqrt(len(b)))))
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            quantizer = faiss.IndexFlatIP(b.shape[1])
            index = faiss.IndexIVFFlat(quantizer, b.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
            index.train(b)
            index.add(b)
            index.nprobe = min(self.settings.nprobe, lists)
            _, nearest = index.search(a, NEAREST)
            _, probed = quantizer.search(a, index.nprobe)
            sizes = np.bincount(quantizer.assign(b, 1).ravel(), minlength=lists)
        finally:
            faiss.omp_set_num_threads(threads)
        query, place = np.nonzero(nearest >= 0)
        candidate = nearest[query, place].astype(np.int64)
        keep = candidates_only(self.group, query, candidate)
        query, candidate = query[keep], candidate[keep]
        near = self.group.named(query, candidate, scorer.pairs(query, candidate))
        return SearchOutcome(len(a) * len(b), near, self._counts(), int(sizes[probed[probed >= 0]].sum()))

    def _counts(self) -> Counts:
        """|C(x)| of every query in this block: all its candidates count, looked at or not."""
        group, width = self.group, len(self.group.candidate_rows)
        counts = np.zeros(len(group.query_rows), dtype=np.int64)
        step = max(1, _PAIRS_AT_ONCE // max(1, width))
        for start in range(0, len(counts), step):
            some = slice(start, min(start + step, len(counts)))
            missing = np.zeros((some.stop - start, width), dtype=bool)
            for other in group.apart:
                missing |= other.shared(some, slice(0, width))
            first, last = np.searchsorted(group.skip_query, [some.start, some.stop])
            missing[group.skip_query[first:last] - start, group.skip_candidate[first:last]] = True
            counts[some] = width - missing.sum(axis=1)
        return Counts(group.query_rows, counts)
