"""How many of a column's released cells say something about an original's value, and the reverse.

A released cell matches if its value, interval, group, set or mask allows the value of some original. Numbers and times
need not be equal, since a release may add noise: a cell matches if it meets the range of the originals' values, widened
by a tenth of it on both sides.

    released = matching cells of the release / its cells with a value        original = the reverse, over the originals

A column without a value in either table has no shares. Whether the values are those of the same people is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Pair
from cvpl.tables.meaning.labels import allowed_labels, find_covers

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WIDENED = 0.1
"""The originals' range is widened by this part of it on both sides, since noise moves values beyond the ends."""
NEARLY_NOTHING = 0.05
"""A column is unmatched if at most this share of the cells matches."""
FEWEST_VALUES = 10
"""A release with fewer different numbers may leave out most of the originals' range without being in another unit."""


@dataclass(frozen=True)
class MatchedValues:
    """The shares of the cells of one column that match the other table, `known` being those of the release.

    `several` says whether the release has at least ten different values.
    """

    column: str
    ordered: bool
    known: int
    released: float
    original: float
    several: bool

    @property
    def unmatched(self) -> bool:
        """Whether (nearly) no released cell matches.

        Numbers also if they are of a scale on which the originals' range is (nearly) nowhere, as logarithms are.
        """
        elsewhere = self.ordered and self.several and self.original <= NEARLY_NOTHING
        return self.released <= NEARLY_NOTHING or elsewhere


def matched_values(pair: Pair) -> list[MatchedValues]:
    """The shares of every compared column that has a value in the originals and in the release."""
    found = []
    for spec in pair.original.specs:
        own, released = pair.original.columns[spec.name], pair.protected.columns[spec.name]
        if own.known().any() and released.known().any():
            found.append(_match_values(own, released, spec))
    return found


@singledispatch
def _match_values(own: ColumnData, released: ColumnData, spec: ColumnSpec) -> MatchedValues:
    """Numbers and times: cells that meet the other table's widened range."""
    shares = [_share_in_range(*_ends(one), *_ends(other)) for one, other in ((released, own), (own, released))]
    known = int(released.known().sum())
    several = len(released.distinct(plain=released.plain)[0]) >= FEWEST_VALUES
    return MatchedValues(spec.name, True, known, shares[0], shares[1], several)


@_match_values.register(Labels)
def _matched_labels(own: Labels, released: Labels, spec: ColumnSpec) -> MatchedValues:
    """Labels: those of the other table, and those that a group, a set, a mask or a beginning allows."""
    labels, here, there = released.labels, own.counts(), released.counts()
    mine, theirs = here > 0, there > 0
    matching, matched = mine & theirs, mine & theirs
    place = {label: code for code, label in enumerate(labels)}
    allowed = allowed_labels(spec, labels)
    leaves = np.array([place.get(leaf, -1) for leaf in allowed.leaves], dtype=np.int64)
    groups = [(int(code), leaves[list(allowed.members[code])]) for code in np.flatnonzero(theirs)]
    groups += [(cover.code, np.array(cover.members)) for cover in find_covers(spec, labels, mine, theirs)]
    for code, members in groups:
        inside = members[members >= 0]
        inside = inside[mine[inside]]
        matching[code] |= len(inside) > 0
        matched[inside] = True
    if spec.separator is not None or spec.parents is not None:
        # Labels with levels are compared level by level, so a common first level says something.
        tops = [spec.path(label)[0] for label in labels]
        matching |= theirs & _add_top(tops, mine)
        matched |= mine & _add_top(tops, theirs)
    shares = float(there[matching].sum() / there.sum()), float(here[matched].sum() / here.sum())
    return MatchedValues(spec.name, False, int(there.sum()), *shares, int(theirs.sum()) >= FEWEST_VALUES)


def _add_top(tops: Sequence[str], used: Flags) -> Flags:
    """Which labels have the first level of one that is used."""
    known = {tops[code] for code in np.flatnonzero(used).tolist()}
    return np.array([top in known for top in tops], dtype=bool)


def _ends(column: ColumnData) -> tuple[Floats, Floats]:
    low, high = column.bounds()
    known = ~np.isnan(low)
    return low[known], high[known]


def _share_in_range(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> float:
    """The share of ranges that meet the widened range of the others; that of a single value is widened by its size."""
    least, most = float(other_low.min()), float(other_high.max())
    more = WIDENED * ((most - least) or abs(most))
    return float(np.mean((low <= most + more) & (high >= least - more)))
