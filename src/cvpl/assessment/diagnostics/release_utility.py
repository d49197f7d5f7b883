"""The utility of one release, shared by all workflows."""

from __future__ import annotations

from cvpl.operators.vectorization import Vectorization
from cvpl.randomness import stream
from cvpl.tables.pair import Inputs
from cvpl.utility import Utility, utility


def release_utility(inputs: Inputs, vectorization: Vectorization, seed: int) -> Utility:
    """Measure how much of the original's structure the release keeps, by the features of `vectorization`.

    Sampling depends on the seed alone, so that the same people are tested in every release of one original. True
    matches are used if they are known.
    """
    matches = None
    if inputs.evaluation.matches is not None and len(inputs.evaluation.matches.original):
        matches = inputs.evaluation.matches.original, inputs.evaluation.matches.protected
    return utility(inputs.pair, stream(seed, "utility"), vectorization=vectorization, matches=matches)
