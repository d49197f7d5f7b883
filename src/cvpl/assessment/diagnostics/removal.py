"""Removal: the drop of the linkage rate when a column is removed from the comparison.

The blocks stay the same, so that every record keeps its candidates and the drop measures only the column's part in the
similarity; a column used only for blocking has no part in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.self_linkage import sampled_originals
from cvpl.attack.attack import Attack
from cvpl.attack.representation import fit_representation
from cvpl.evaluation.rates import linkage_rate
from cvpl.operators.vectorization import ColumnChoice


def removal(attack: Attack, column: str, threshold: float, rng: np.random.Generator) -> tuple[float, NDArray[np.int64]]:
    """The drop of the rate without `column`: rate with it - rate without it, over the same (sampled) originals.

    Returns the drop and the rows that were searched.
    """
    rows = sampled_originals(attack, rng)
    vectorization = attack.attacker.vectorization
    choices = {**vectorization.columns, column: ColumnChoice(vectorize=False)}
    without = attack.attacker.model_copy(
        update={"vectorization": vectorization.model_copy(update={"columns": choices})}
    )
    representation = attack.representation.without(column) or fit_representation(
        attack.original, attack.protected, without, attack.seed, engine=attack.engine
    )
    scorer = representation.scorer(attack.original, attack.protected, rows)
    found = attack.find(scorer, attack.searched.partitions("original", "protected", rows))
    return linkage_rate(attack.found.best[rows], threshold) - linkage_rate(found.best, threshold), rows
