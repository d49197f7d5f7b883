"""Which label of the release stands for which label of the originals, by how often they occur and with what.

Each label has a profile: its share of the records, and, for every other column whose meaning is known, the mean rank of
the records with it, or their shares over labels. The cost of taking one label for another is the squared difference of
their profiles in standard errors; the assignment with the smallest total cost is found by the Hungarian method. If the
release has fewer labels, several originals may share one: then the rarer labels go to the profile nearest to theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_LABELS = 400
"""A column with more labels in either table is not matched."""
SHARED_LABELS = 40
"""Of a column with more labels, the shares are no part of other columns' profiles."""


@dataclass(frozen=True, eq=False)
class LabelProfiles:
    """The labels that occur, their counts, and for each the means of the features and their squared errors."""

    labels: Ints
    counts: Ints
    means: Floats
    errors: Floats

    @classmethod
    def of(cls, codes: Ints, features: Floats) -> LabelProfiles:
        """The profiles of all labels in `codes`; `features` has a row for each record."""
        known = codes >= 0
        labels, places = np.unique(codes[known], return_inverse=True)
        counts = np.bincount(places, minlength=len(labels))
        columns = [np.bincount(places, feature[known], len(labels)) for feature in features.T]
        means = np.column_stack(columns) / counts[:, None] if columns else np.zeros((len(labels), 0))
        variance = features[known].var(axis=0) if known.any() else np.zeros(features.shape[1])
        errors = variance[None, :] / counts[:, None] + 1e-9
        return cls(labels.astype(np.int64), counts.astype(np.int64), means, errors)

    @property
    def shares(self) -> Floats:
        """The share of each label."""
        return np.asarray(self.counts / max(1, self.counts.sum()))

    def deviations(self) -> Floats:
        """The means less those of all records, times the root of each label's share: effect sizes of the labels."""
        whole = self.shares @ self.means
        return np.asarray((self.means - whole) * np.sqrt(self.shares)[:, None])

    def chance(self, at: list[int]) -> float:
        """The sum of the squares of these labels' deviations that is expected if they go with nothing."""
        return float((self.errors * self.shares[:, None])[at].sum())

    def costs(self, other: LabelProfiles) -> Floats:
        """The cost of taking each label of this table for each of the other, by all features and by the shares."""
        total = np.zeros((len(self.labels), len(other.labels)))
        for feature in range(self.means.shape[1]):
            apart = self.means[:, None, feature] - other.means[None, :, feature]
            total += apart**2 / (self.errors[:, None, feature] + other.errors[None, :, feature])
        return total + self.share_costs(other)

    def share_costs(self, other: LabelProfiles) -> Floats:
        """The cost by the shares alone."""
        mine, theirs = self.shares[:, None], other.shares[None, :]
        sizes = max(1, self.counts.sum()), max(1, other.counts.sum())
        pooled = np.clip((mine * sizes[0] + theirs * sizes[1]) / (sizes[0] + sizes[1]), 1e-9, 1)
        return np.asarray((mine - theirs) ** 2 / (pooled * (1 / sizes[0] + 1 / sizes[1])))


def match_labels(own: LabelProfiles, released: LabelProfiles) -> dict[int, int]:
    """The released label that stands for each original one, by code."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - loading it takes a second

    costs = own.costs(released)
    rows, columns = linear_sum_assignment(costs)
    found = {int(own.labels[row]): int(released.labels[column]) for row, column in zip(rows, columns, strict=True)}
    if len(found) < len(own.labels):
        without = costs - own.share_costs(released)
        for row, label in enumerate(own.labels.tolist()):
            if label not in found:
                found[label] = int(released.labels[int(np.argmin(without[row]))])
    return found


def separated_share(own: LabelProfiles, released: LabelProfiles, renamed: Mapping[int, int], far: float) -> float:
    """The share of the records whose label is clearly the right one: the next best costs more by `far` squared."""
    if not len(own.labels) or not len(released.labels):
        return 0.0
    costs = own.costs(released)
    place = {label: at for at, label in enumerate(released.labels.tolist())}
    chosen = np.array([place[renamed[label]] for label in own.labels.tolist()])
    rows = np.arange(len(chosen))
    taken = costs[rows, chosen]
    rest = costs.copy()
    rest[rows, chosen] = np.inf
    clear = rest.min(axis=1) - taken > far**2 if costs.shape[1] > 1 else np.ones(len(chosen), dtype=bool)
    return float(own.shares[clear].sum())
