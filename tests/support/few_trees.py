"""Models that infer secrets with few trees, where they are not the point: they take most of a small audit's time."""

from __future__ import annotations

from cvpl.evaluation.inference import models
from examples import TIMES

FEW = dict.fromkeys(("_ITERATIONS", "_FEWEST_ITERATIONS", "_TREES"), 8)


def make_few_trees() -> None:
    """Have the models of this process few trees; in a full run they have all their trees everywhere."""
    if TIMES == 1:
        for name, number in FEW.items():
            setattr(models, name, number)
