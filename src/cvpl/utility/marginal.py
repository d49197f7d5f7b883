"""Marginal similarity: whether each column has the same distribution in the release as in the original.

The information in a released value: which of the original's values it allows. A value that allows m of the column's M
values keeps the share

    said = (M - m) / (M - 1)

of a value: all of it if m = 1, nothing if it allows every value. In between, a reader can only treat the allowed values
as equally likely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import FeatureSpace
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Pair

Floats = NDArray[np.float64]

BINS = 20
"""The number of equal-frequency bins for numbers: enough for a shape, with 500 of 10,000 originals in each."""


@dataclass(frozen=True)
class MarginalSimilarity:
    """1 - Jensen-Shannon divergence of every column, in [0, 1]."""

    columns: Mapping[str, float]

    @property
    def figure(self) -> float | None:
        """The mean over the columns; None without any."""
        return float(np.mean(list(self.columns.values()))) if self.columns else None


def marginal_similarity(pair: Pair, space: FeatureSpace) -> MarginalSimilarity:
    """1 - JSD(p, p') for each column (paper, table utility-metrics), base 2: the divergence, not its square root.

    Categories are compared by label. Numbers and times are compared on bins with equally many originals, plus two for
    values outside the original's range; up to 20 distinct originals get a bin each. The figure of a time is the mean
    over its instants and those of its features (`hour`, `day_of_week`, `month`) that `space` uses.

    Missing and suppressed count as one more value, "unknown". A generalized value ("North/*", "30-39", "2024-05") that
    allows m of the original's M distinct values gives the share (M - m) / (M - 1) of its weight equally to the values
    that it allows, and the rest to "unknown". So coarser values score less, and a value that allows everything scores
    like a suppressed one. Both simpler ways fail at one end: distributed by the originals' own frequencies, a fully
    suppressed column would score 1; as a label of its own, "North/*" would score as little as "*".

    No column is compared if a table has no records.
    """
    if min(pair.original.rows, pair.protected.rows) == 0:
        return MarginalSimilarity({})
    return MarginalSimilarity({spec.name: _similarity(spec, pair, space) for spec in pair.original.specs})


def jensen_shannon(one: Floats, other: Floats) -> float:
    """JSD(p, q) = (KL(p, m) + KL(q, m)) / 2 with m = (p + q) / 2, in bits, where 0 log 0 = 0.

    The arguments are weights over the same values and are scaled to sum 1; neither may sum to 0.
    """
    p, q = one / one.sum(), other / other.sum()
    m = (p + q) / 2
    divergence = (_relative(p, m) + _relative(q, m)) / 2
    return min(1.0, max(0.0, divergence))


def _relative(p: Floats, m: Floats) -> float:
    there = p > 0
    return float((p[there] * np.log2(p[there] / m[there])).sum())


def _similarity(spec: ColumnSpec, pair: Pair, space: FeatureSpace) -> float:
    return _likeness(pair.original.columns[spec.name], pair.protected.columns[spec.name], spec, space)


@singledispatch
def _likeness(mine: ColumnData, theirs: ColumnData, spec: ColumnSpec, space: FeatureSpace) -> float:
    """1 - JSD of the values, or the mean of this and of the features that `space` derives from them."""
    views = [(_Ends(*mine.bounds(), mine.ordinal()), _Ends(*theirs.bounds(), theirs.ordinal()))]
    for feature in space.number_features:
        if feature.spec.name == spec.name and feature.name not in (None, "elapsed_days"):
            raw = feature.raw(mine), feature.raw(theirs)
            views.append((_Ends(raw[0], raw[0], raw[0]), _Ends(raw[1], raw[1], raw[1])))
    found = []
    for original, protected in views:
        values = _Values.of(original)
        found.append(1.0 - jensen_shannon(values.weights(original), values.weights(protected)))
    return float(np.mean(found))


@_likeness.register(Labels)
def _alike_labels(mine: Labels, theirs: Labels, spec: ColumnSpec, space: FeatureSpace) -> float:
    return 1.0 - jensen_shannon(*_label_weights(spec, mine, theirs))


def _label_weights(spec: ColumnSpec, mine: Labels, theirs: Labels) -> tuple[Floats, Floats]:
    """The weight of every label, and last that of "unknown", in the original and in the release."""
    labels = mine.labels
    p, counts = (_count_codes(column) for column in (mine, theirs))
    used = np.flatnonzero(p[:-1])
    foreign = np.flatnonzero((counts[:-1] > 0) & (p[:-1] == 0))
    q = counts.copy()
    originals = OriginalLabels(spec, ((int(code), labels[code]) for code in (used if len(foreign) else ())))
    for code in foreign:
        allowed = originals.allowed(labels[code])
        if allowed is None:
            q[code], q[-1] = 0.0, q[-1] + counts[code]
        elif len(allowed):
            share = float(kept_share(np.array([len(allowed)]), len(used))[0])
            q[code], q[-1] = 0.0, q[-1] + counts[code] * (1 - share)
            q[allowed] += counts[code] * share / len(allowed)
    return p, q


def _count_codes(column: Labels) -> Floats:
    counts = np.bincount(column.codes + 1, minlength=len(column.labels) + 1)
    return np.roll(counts, -1).astype(np.float64)  # code -1 moves from the first place to the last


@dataclass(frozen=True, eq=False)
class _Ends:
    """The smallest and the largest value that each cell allows, and the midpoint; NaN where the value is missing."""

    low: Floats
    high: Floats
    middle: Floats


@dataclass(frozen=True, eq=False)
class _Values:
    """The original's sorted distinct values, and their bins.

    Bin i reaches from above `upper[i - 1]` up to `upper[i]`; `starts[i]` is the index of its first value. After the
    bins come three more cells: above the largest original, below the smallest, unknown.
    """

    values: Floats
    upper: Floats
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, original: _Ends) -> _Values:
        """Build from the exact values of the original, or from the midpoints of its intervals if there are none."""
        exact = original.middle[original.low == original.high]
        known = exact if len(exact) else original.middle[~np.isnan(original.middle)]
        values, counts = np.unique(known, return_counts=True)
        upper = values
        if len(values) > BINS:
            wanted = np.arange(1, BINS + 1) * len(known)
            upper = np.unique(values[np.searchsorted(counts.cumsum() * BINS, wanted)])
        starts = np.append(0, np.searchsorted(values, upper, side="right")).astype(np.intp)
        return cls(values, upper, starts)

    def weights(self, cells: _Ends) -> Floats:
        """The weight in every bin and in the cells after them; each record has weight 1."""
        wide = np.flatnonzero(cells.high > cells.low)
        low = np.searchsorted(self.values, cells.low[wide], side="left")
        high = np.searchsorted(self.values, cells.high[wide], side="right")
        vague = high > low  # an interval without any original value counts at its midpoint
        low, high = low[vague], high[vague]
        exact = np.delete(cells.middle, wide[vague])
        bins = len(self.upper)
        at = np.searchsorted(self.upper, exact)
        if bins:
            at[exact < self.values[0]] = bins + 1
        at[np.isnan(exact)] = bins + 2
        weights = np.bincount(at, minlength=bins + 3).astype(np.float64)
        share = kept_share(high - low, len(self.values))
        weights[-1] += float((1 - share).sum())
        for number in range(bins):
            inside = np.minimum(high, self.starts[number + 1]) - np.maximum(low, self.starts[number])
            weights[number] += float((share * np.maximum(inside, 0) / (high - low)).sum())
        return weights


Ints = NDArray[np.intp]


def kept_share(allowed: Ints, values: int) -> NDArray[np.float64]:
    """The share of a value that is kept if `allowed` of the original's `values` remain possible.

    A value that allows none of them is a different value, and the only value of a column allows nothing else: both are
    kept fully.
    """
    if values < 2:
        return np.ones(len(allowed))
    return np.minimum(1.0, (values - allowed) / (values - 1))


class OriginalLabels:
    """The original's labels, to look up the ones that a released label allows."""

    def __init__(self, spec: ColumnSpec, labels: Iterable[tuple[int, str]]) -> None:
        self._spec = spec
        self._codes: dict[str, int] = {}
        self._below: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._starting: dict[tuple[int, str], list[int]] | None = None
        for code, label in labels:
            self._codes[label] = code
            path = spec.path(label)
            for depth in range(1, len(path) + 1):
                self._below[path[:depth]].append(code)

    def allowed(self, label: str) -> Ints | None:
        """The codes of the original's labels that `label` allows; None if it is fully suppressed.

        A label of the original allows itself. "North/*", or a group of the hierarchy file, allows the labels below it;
        "123**" those of the same length with the same start; "{A, B}" its members. Any other label allows none.
        """
        if label in self._codes:
            return np.array([self._codes[label]], dtype=np.intp)
        if self._spec.says_nothing(label):
            return None
        found = self._below.get(self._spec.path(label), [])
        if not found and label.startswith("{") and label.endswith("}"):
            members = (self._codes.get(member.strip()) for member in label[1:-1].split(","))
            found = sorted({code for code in members if code is not None})
        elif not found and label.endswith("*"):
            found = self._masked().get((len(label), label.rstrip("*")), [])
        return np.array(found, dtype=np.intp)

    def _masked(self) -> dict[tuple[int, str], list[int]]:
        if self._starting is None:
            self._starting = defaultdict(list)
            for label, code in self._codes.items():
                for length in range(1, len(label)):
                    self._starting[len(label), label[:length]].append(code)
        return self._starting
