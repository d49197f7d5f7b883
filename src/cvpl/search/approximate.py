"""Approximate search with FAISS (extra `ann`): only on request, and its result is a lower bound.

The candidates of a block are assigned to lists by their nearest centre, about four times the square root of their
number of lists; a query searches the lists of its `nprobe` nearest centres. FAISS's top results are scored by the
formula, like every other pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.errors import UsageError
from cvpl.search.best import Counts, SearchOutcome
from cvpl.search.groups import Group
from cvpl.search.levers import Approximate
from cvpl.search.listing import candidates_only

NEAREST = 16
"""The number of a query's nearest candidates that are scored by the formula."""
_PAIRS_AT_ONCE = 1 << 22
"""Pairs counted at a time."""


@dataclass(frozen=True, eq=False)
class Approximated:
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
