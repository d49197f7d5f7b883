"""The seam between an attack and whatever carries out its search: the place where a second engine goes.

An attack asks an engine for the best candidates of some queries in some blocks, and nothing else of how that is done.
`InProcessEngine` does it in this process, with threads. Another engine (a cluster, a graphics card) is a class with the
same method, entered in `ENGINES` under a name of its own; a budget says which engine is used. It has to pass
`tests/test_engines.py`, one test body for all engines.

So that an engine can leave the data where it is, the values that travel between the steps are protocols, and what is
made of whole tables is small:

    columns              `Place`             where a table's columns are kept  tables/columns.py
    fitting features     `ColumnSummary`     label counts, means, quartiles    operators/vectorization/summaries.py
    feature vectors      `FeatureVectors`    moments, embeddings of some rows  operators/feature_vectors.py
    scores of pairs      `Source`            scores and scorers of some rows   operators/similarity/scorers.py
    search               `SearchEngine`      the best candidates               here
    rates                `ScoreCounts`       how many reach a threshold        evaluation/rates.py

What an engine finds must be the same to the last bit wherever it runs: scores are those of `Source.pairs`. Two steps
beside the search still run in this process for every engine: means over all pairs (`rare_values.log_means`, for the
evidence by density) and samples of pairs (`pairs`, for distributions of similarities).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cvpl.errors import UsageError
from cvpl.operators.similarity import Source
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.budget import IN_PROCESS, Budget
from cvpl.search.exact import find_best
from cvpl.search.levers import Approximate

Progress = Callable[[float], None]


class SearchEngine(Protocol):
    """Finds the best candidates of queries in blocks."""

    def find_best(
        self,
        scorer: Source,
        partitions: Sequence[Partition],
        *,
        left_out: LeftOut | None = None,
        ann: Approximate | None = None,
        progress: Progress | None = None,
    ) -> BestCandidates:
        """Each query's best candidates: those that share a block with it in any of `partitions` and are not left out.

        The result is exact and depends on nothing but the arguments. With `ann`, large blocks may be searched
        approximately, and the result says how many pairs were examined. `progress` is called with shares of the work.
        """


@dataclass(frozen=True)
class InProcessEngine:
    """Searches in this process, within a budget of memory and threads."""

    budget: Budget

    def find_best(
        self,
        scorer: Source,
        partitions: Sequence[Partition],
        *,
        left_out: LeftOut | None = None,
        ann: Approximate | None = None,
        progress: Progress | None = None,
    ) -> BestCandidates:
        """The search of `exact`."""
        return find_best(scorer, partitions, left_out=left_out, budget=self.budget, ann=ann, progress=progress)


ENGINES: dict[str, Callable[[Budget], SearchEngine]] = {IN_PROCESS: InProcessEngine}
"""Every engine by its name: what makes it for a budget."""


def engine_for(budget: Budget) -> SearchEngine:
    """The engine that a budget names."""
    if budget.engine not in ENGINES:
        raise UsageError(f"there is no search engine '{budget.engine}'; choose among {', '.join(sorted(ENGINES))}")
    return ENGINES[budget.engine](budget)
