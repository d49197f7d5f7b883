"""The utility of one release, as every workflow asks for it."""

from __future__ import annotations

from cvpl.operators.vectorization import Vectorization
from cvpl.randomness import stream
from cvpl.tables.pair import Inputs
from cvpl.utility import Utility, utility


def release_utility(inputs: Inputs, vectorization: Vectorization, seed: int) -> Utility:
    """How much of the original's structure the release keeps, by the features of `vectorization`.

    The draws depend on the seed alone, so that the same people are tested in every release of one original. True
    matches serve where they are known.
    """
    matches = None
    if inputs.evaluation.matches is not None and len(inputs.evaluation.matches.original):
        matches = inputs.evaluation.matches.original, inputs.evaluation.matches.protected
    return utility(inputs.pair, stream(seed, "utility"), vectorization=vectorization, matches=matches)
