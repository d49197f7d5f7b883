"""Compile the loops that the tests run, so that test processes find them in the cache."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
import yaml

import cvpl
from cvpl.laboratory.mechanisms import Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.compiled import make_unit
from cvpl.operators.similarity import AgreementScorer
from cvpl.operators.similarity.agreement import AgreementWeights
from cvpl.search import exact
from cvpl.search.blocks import Partition
from cvpl.search.compatible.box_tree import meeting_in_trees
from cvpl.search.rare_values import log_means
from cvpl.search.tree.tree_search import compile_kernel
from cvpl.workflows.made_tables import CONFIG


def agreement() -> tuple[Any, Partition]:
    """Two people, and what finds the best candidates among them by agreement."""
    codes, zero = np.zeros((2, 1), dtype=np.int32), np.zeros(1, dtype=np.int32)
    weights = AgreementWeights(np.array([0, 1], dtype=np.int64), zero, zero, np.ones(1), np.zeros(1))
    everybody = np.zeros(2, dtype=np.int64)
    return AgreementScorer(codes, codes, weights), Partition(everybody, everybody)


def index_and_cells() -> None:
    """The index on rare values, and the search of released cells, as an attacker of the family asks for it."""
    exact.INDEX_PAIRS = exact.INDEX_ALL_PAIRS = 1
    scorer, partition = agreement()
    exact.find_best(scorer, [partition])
    people = Touchpoints(records=60).draw(np.random.default_rng(1))
    frames = [
        pd.DataFrame(table.to_columns()) for table in (people, Rounding().protect(people, np.random.default_rng(2)))
    ]
    settings = yaml.safe_load(CONFIG) | {"canaries": False, "sensitivity": False}
    cvpl.audit(*frames, settings, attackers=["contained"])


def densities_and_trees() -> None:
    """The mean agreement with all records, and trees of vectors and of boxes."""
    log_means.COMPILED_PAIRS = 1
    log_means.log_means(*agreement())
    make_unit(np.ones((1, 1)), 0.0)
    compile_kernel()
    ends = np.zeros((2, 1))
    list(meeting_in_trees(ends, ends, ends, ends))


if __name__ == "__main__":
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for done in [pool.submit(part) for part in (index_and_cells, densities_and_trees)]:
            done.result()
