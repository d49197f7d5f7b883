"""Compile the loops that the tests run, so that test processes find them in the cache."""

from __future__ import annotations

import numpy as np
import pandas as pd
import yaml

import cvpl
from cvpl.cli.demo import CONFIG
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

if __name__ == "__main__":
    exact.INDEX_PAIRS = exact.INDEX_ALL_PAIRS = log_means.COMPILED_PAIRS = 1
    codes = np.zeros((2, 1), dtype=np.int32)
    zero = np.zeros(1, dtype=np.int32)
    weights = AgreementWeights(np.array([0, 1], dtype=np.int64), zero, zero, np.ones(1), np.zeros(1))
    scorer, everybody = AgreementScorer(codes, codes, weights), np.zeros(2, dtype=np.int64)
    exact.find_best(scorer, [Partition(everybody, everybody)])
    log_means.log_means(scorer, Partition(everybody, everybody))
    make_unit(np.ones((1, 1)), 0.0)
    compile_kernel()
    ends = np.zeros((2, 1))
    list(meeting_in_trees(ends, ends, ends, ends))
    # The search of released cells, as an attacker of the family asks for it.
    people = Touchpoints(records=60).draw(np.random.default_rng(1))
    frames = [
        pd.DataFrame(table.to_columns()) for table in (people, Rounding().protect(people, np.random.default_rng(2)))
    ]
    settings = yaml.safe_load(CONFIG) | {"canaries": False, "sensitivity": False}
    cvpl.audit(*frames, settings, attackers=["contained"])
