"""Prosecutor, journalist and marketer risk, by class size (El Emam, Guide to the De-Identification, 2013).

A prosecutor looks for a person who is known to be in the release; a journalist for any person of the population; a
marketer wants to link as many records as possible. Without a known population the journalist and the marketer face the
release's own classes, which makes their risks those of the prosecutor, the largest of the three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import EquivalenceClasses

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class ClassRisks:
    """The largest and the average risk of a record, and the share of right links of a marketer."""

    prosecutor_maximum: float
    prosecutor_average: float
    journalist_maximum: float
    journalist_average: float
    marketer: float


def class_risks(classes: EquivalenceClasses, population: Numbers | None = None) -> ClassRisks | None:
    """The three risks; `population` has the number of people F_j of each class in the population.

        prosecutor    maximum 1 / min f_j     average J / n
        journalist    maximum 1 / min F_j     average max(J / Σ F_j, 1/n Σ f_j / F_j)
        marketer      1/n Σ f_j / F_j

    f_j is the size of class j in the release, J the number of classes, n the number of records. F_j is at least f_j.
    Without a population F_j = f_j. None without records.
    """
    if not classes.count:
        return None
    inside = classes.sizes.astype(np.float64)
    whole = inside if population is None else np.maximum(population, inside)
    links = float((inside / whole).sum()) / classes.records
    return ClassRisks(
        prosecutor_maximum=1 / float(inside.min()),
        prosecutor_average=classes.count / classes.records,
        journalist_maximum=1 / float(whole.min()),
        journalist_average=max(classes.count / float(whole.sum()), links),
        marketer=links,
    )
