"""Individual risk under the Poisson-gamma model with sampling weights (Benedetti and Franconi, 1998).

The number of people F_j that a class of f_j records has in the population is unknown. Under the model F_j given f_j has
a negative binomial law with success probability p_j, and the risk of a record is the mean of 1 / F_j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import EquivalenceClasses

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class IndividualRisk:
    """The largest and the mean risk of a record, and the expected number of right links, Σ f_j r_j."""

    maximum: float
    mean: float
    expected: float


def individual_risk(classes: EquivalenceClasses, weights: Numbers) -> IndividualRisk | None:
    """The risk from sampling weights: how many people of the population each record stands for, 1 or more.

        r_j = E[1 / F_j] = p_j / f_j · 2F1(1, 1; f_j + 1; 1 - p_j)        p_j = f_j / Σ over records of w

    With weights of 1 the release is the population, and r_j = 1 / f_j. None without records.
    """
    if not classes.count:
        return None
    people = np.bincount(classes.of, np.maximum(weights, 1.0), minlength=classes.count).astype(np.float64)
    risk = class_risk(classes.sizes.astype(np.float64), people)
    expected = float((classes.sizes * risk).sum())
    return IndividualRisk(float(risk.max()), expected / classes.records, expected)


def class_risk(sizes: Numbers, people: Numbers) -> Numbers:
    """E[1 / F] of each class of `sizes` records that stand for `people` people."""
    from scipy.special import hyp2f1  # noqa: PLC0415 - loaded when a risk is estimated

    share = np.minimum(1.0, sizes / people)
    result: Numbers = share / sizes * hyp2f1(1.0, 1.0, sizes + 1, 1 - share)
    return result
