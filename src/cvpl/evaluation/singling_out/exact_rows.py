"""Unique originals whose exact row stands in the release, as SDNist counts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.tables.keys import Keys


@dataclass(frozen=True)
class ExactRowCounts:
    """How many originals there are, how many are unique, and how many of these have their exact row in the release."""

    originals: int
    unique: int
    released: int

    @property
    def share(self) -> float | None:
        """The share of the unique originals whose exact row is released; None if nobody is unique."""
        return self.released / self.unique if self.unique else None


def exact_rows(original: Keys, released: Keys) -> ExactRowCounts:
    """Count unique originals and those among them whose row is in the release, once or more often.

    The keys are equal for equal rows, over all columns that the two tables share.
    """
    found, counts = np.unique(original, return_counts=True)
    unique = found[counts == 1]
    return ExactRowCounts(len(original), len(unique), int(np.isin(unique, released).sum()))
