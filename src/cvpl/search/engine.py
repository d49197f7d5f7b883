"""The interface between an attack and its search engine: the place to add a second engine.

An attack asks an engine for the best candidates of some queries in some blocks, and does not depend on how the engine
finds them. `InProcessEngine` searches in this process, with threads. Another engine (a GPU) is a class with the same
method, registered in `ENGINES` under its own name; a budget selects the engine. It has to pass
`tests/search/test_engines.py`, one test body for all engines. A Spark cluster (`cvpl.spark`) is one step further away:
its tasks call `find_best` on the blocks that they have, and an attack takes what they found as its own
(`attack.shared_work`).

So that an engine can leave the data in place, the values passed between steps are protocols, and what is computed from
whole tables is small:

    columns              `Place`             storage of a table's columns      tables/columns.py
    fitting features     `ColumnSummary`     label counts, means, quartiles    operators/vectorization/settings.py
    feature vectors      `FeatureVectors`    moments, embeddings of some rows  operators/feature_vectors.py
    scores of pairs      `ScoreSource`       scores and scorers of some rows   operators/similarity/measure.py
    search               `SearchEngine`      the best candidates               here
    rates                `ScoreCounts`       how many reach a threshold        evaluation/rates.py

The result of an engine must be the same to the last bit on every machine: scores are those of `ScoreSource.pairs`. Two
other steps still run in this process for every engine: means over all pairs (`rare_values.log_means`, for the evidence
by density) and samples of pairs (`pairs`, for distributions of similarities).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from cvpl.errors import UsageError
from cvpl.operators.similarity import ScoreSource
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.exact import find_best
from cvpl.search.levers import Approximate
from cvpl.search.machine import IN_PROCESS, Budget

Progress = Callable[[float], None]


class SearchEngine(Protocol):
    """A search for the best candidates of queries in blocks, within a budget of memory and threads."""

    @property
    def budget(self) -> Budget:
        """The memory and the threads of this process."""

    def find_best(
        self,
        scorer: ScoreSource,
        partitions: Sequence[Partition],
        *,
        left_out: LeftOut | None = None,
        ann: Approximate | None = None,
        progress: Progress | None = None,
    ) -> BestCandidates:
        """Each query's best candidates: those that share a block with it in any of `partitions` and are not left out.

        The result is exact and depends only on the arguments. With `ann`, large blocks may be searched approximately,
        and the result says how many pairs were examined. `progress` is called with shares of the work.
        """


@dataclass(frozen=True)
class InProcessEngine:
    """A search in this process, within a budget of memory and threads."""

    budget: Budget

    def find_best(
        self,
        scorer: ScoreSource,
        partitions: Sequence[Partition],
        *,
        left_out: LeftOut | None = None,
        ann: Approximate | None = None,
        progress: Progress | None = None,
    ) -> BestCandidates:
        """The search of `exact`."""
        return find_best(scorer, partitions, left_out=left_out, budget=self.budget, ann=ann, progress=progress)


ENGINES: dict[str, Callable[[Budget], SearchEngine]] = {IN_PROCESS: InProcessEngine}
"""The constructor of every engine, by name."""


def engine_for(budget: Budget) -> SearchEngine:
    """The engine that a budget names."""
    if budget.engine not in ENGINES:
        raise UsageError(f"there is no search engine '{budget.engine}'; choose among {', '.join(sorted(ENGINES))}")
    return ENGINES[budget.engine](budget)
