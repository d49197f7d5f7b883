"""The rounding that turns the attacker's values into the released ones: the one with the largest histogram overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.rounding import (
    ROUNDINGS,
    Calendar,
    Digits,
    GridRounding,
    NumberGrid,
    NumberRounding,
    TimeGrid,
    TimeRounding,
    decimal_places,
    natural_grids,
)

Values = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SURPRISE = 10.0
"""The number of released values off a grid that must be expected from unrounded values before the absence of all of
them counts as rounding: by chance that happens once in 20,000 times (e^-10)."""
EXPLAINED = 0.1
"""The rounding must increase the histogram overlap by at least this share of the values that it moves."""
PILED = 5.0
"""An excess of this many standard deviations at the release's last value counts as a cut-off."""
SAMPLE = 200_000
"""For larger tables, the number of evenly spaced values used to choose the rounding."""
FEWEST_POINTS = 3
"""Fewer released numbers do not define a grid; natural time steps need only one."""
MOST_DIGITS = 4
_TRIED = 1_000
"""Points that are tried before all of them."""
SAME = 1e-12
"""Two doubles that differ by less, relative to their size, are the same number."""
_DIVISORS = (1, 2, 4, 5, 10)
_TIMELY = tuple(rounding for rounding in ROUNDINGS if rounding.way != "toward zero")

Candidate = TypeVar("Candidate", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Histogram:
    """Sorted distinct values, and the number of records with each."""

    values: Values
    counts: Ints

    @classmethod
    def of(cls, values: Values, most: int | None = None) -> Histogram:
        """Count all values, or at most `most` of them, evenly spaced."""
        if most is not None and len(values) > most:
            values = values[np.linspace(0, len(values) - 1, most).astype(np.int64)]
        found, counts = np.unique(values, return_counts=True)
        return cls(found, counts.astype(np.int64))

    @property
    def total(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def mapped(self, change: Callable[[Values], Values]) -> Histogram:
        """The histogram of the changed values."""
        found, codes = np.unique(change(self.values), return_inverse=True)
        return Histogram(found, np.bincount(codes, weights=self.counts, minlength=len(found)).astype(np.int64))

    def overlap(self, other: Histogram) -> float:
        """Sum over values of the smaller of the two shares: 1 for equal distributions, 0 for disjoint ones."""
        if not self.total or not other.total:
            return 0.0
        _, here, there = np.intersect1d(self.values, other.values, assume_unique=True, return_indices=True)
        shares = self.counts[here] / self.total, other.counts[there] / other.total
        return float(np.minimum(*shares).sum())


def fit_numbers(own: Floats, released: Floats) -> NumberRounding | None:
    """The rounding that turns the attacker's numbers into the released ones; None if there is none."""
    points = np.unique(released)
    candidates: list[NumberRounding] = [*containing_grids(points), *_digits(points)]
    return _best(own, released, candidates)


def fit_times(own: Ints, released: Ints) -> TimeRounding | None:
    """The same as `fit_numbers` for instants, in microseconds."""
    # Most instants differ: then sorting them is faster than the hash table of `np.unique`.
    ordered = np.sort(released)
    points = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    candidates: list[TimeRounding] = [*_clocks(points), *_calendars(points), *_largest_step(points)]
    return _best(own, released, candidates)


def _best(own: Values, released: Values, candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the largest overlap, among those that explain which values the release lacks.

    A candidate is considered if the attacker's values are clearly finer: given the share of them that it moves, at
    least SURPRISE released values should be off its grid, and none is.
    """
    if not candidates or not len(own):
        return None
    own_counts, released_counts = Histogram.of(own, SAMPLE), Histogram.of(released, SAMPLE)
    unchanged = own_counts.overlap(released_counts)
    best: tuple[float, Candidate] | None = None
    for candidate in candidates:
        moved = candidate(own_counts.values) != own_counts.values
        share = float(own_counts.counts[moved].sum()) / own_counts.total
        if share * len(released) < SURPRISE:
            continue
        overlap = changed_overlap(candidate, own_counts, released_counts)
        if overlap - unchanged >= EXPLAINED * share and (best is None or overlap > best[0]):
            best = overlap, candidate
    return None if best is None else best[1]


def changed_overlap(change: Callable[[Values], Values], own: Histogram, released: Histogram) -> float:
    """The overlap after the attacker's values are changed.

    If the change would move the release's own first or last value, that value is a cut-off.
    """
    moved = change(released.values)
    same = np.abs(moved - released.values) <= SAME * np.abs(released.values)
    # Numbers that differ only in their last bits are given the bits of the changed ones; then two may be equal.
    points = released.mapped(lambda values: np.where(same, moved, values))
    low, high = (None if fits else end for fits, end in zip(same[[0, -1]], released.values[[0, -1]], strict=True))
    if low is None and high is None:
        return own.mapped(change).overlap(points)
    return own.mapped(lambda values: np.clip(change(values), low, high)).overlap(points)


def containing_grids(points: Floats) -> list[NumberGrid]:
    """Grids that contain all released numbers, or all but the first or last, which may be cut-offs."""
    if len(points) < FEWEST_POINTS:
        return []
    places = decimal_places(points)
    if places is None:
        return []
    scale = 10**places
    whole = np.rint(points * scale).astype(np.int64)
    found: dict[tuple[int, int], None] = {}
    for part in (whole, whole[:-1], whole[1:], whole[1:-1]):
        if len(part) >= FEWEST_POINTS:
            for step in common_steps(part):
                found.setdefault((step, int(part[0]) % step))
    return [NumberGrid(step, offset, scale, rounding) for step, offset in found for rounding in ROUNDINGS]


def common_steps(whole: Ints) -> list[int]:
    """The largest common step of the numbers, and fractions of it."""
    largest = int(np.gcd.reduce(np.diff(whole)))
    return [largest // part for part in _DIVISORS if largest % part == 0]


def _digits(points: Floats) -> list[Digits]:
    """Numbers of significant digits that fit all released numbers."""
    if len(points) < FEWEST_POINTS:
        return []
    kept = range(1, MOST_DIGITS + 1)
    return [
        Digits(digits, rounding)
        for digits in kept
        if np.allclose(Digits(digits, GridRounding("nearest"))(points), points, rtol=1e-12, atol=0)
        for rounding in ROUNDINGS
        if rounding.way in ("nearest", "toward zero")
    ]


def _clocks(points: Ints) -> list[TimeGrid]:
    """Grids of natural time steps that contain all released instants."""
    found = [(step, offset) for step, offset in natural_grids() if _all(points, partial(_on_grid, step, offset))]
    return [TimeGrid(step, offset, rounding) for step, offset in found for rounding in _TIMELY]


def _on_grid(step: int, offset: int, points: Ints) -> bool:
    return not np.any((points - offset) % step)


def _largest_step(points: Ints) -> list[TimeGrid]:
    """Grids of the largest common step of the released instants."""
    if len(points) < FEWEST_POINTS:
        return []
    step = common_steps(points)[0]
    return [TimeGrid(step, int(points[0]) % step, rounding) for rounding in _TIMELY]


def _calendars(points: Ints) -> list[Calendar]:
    """Calendar units that start at all released instants."""
    ways = [rounding for rounding in ROUNDINGS if rounding.way in ("down", "up") or rounding == GridRounding("nearest")]
    units: tuple[Any, ...] = ("month", "quarter", "year")
    fitting = [unit for unit in units if _all(points, partial(_starts, Calendar(unit, ways[0])))]
    return [Calendar(unit, rounding) for unit in fitting for rounding in ways]


def _starts(start: Calendar, points: Ints) -> bool:
    return np.array_equal(start(points), points)


def _all(points: Ints, holds: Callable[[Ints], bool]) -> bool:
    """Whether something holds for all points; a few are tried first, since it mostly fails for them already."""
    return holds(points[:_TRIED]) and holds(points)


def cut_offs(own: Values, released: Values) -> tuple[Any, Any]:
    """The lower and upper cut-off of the release, each None if there is none.

    There is one if the attacker has values beyond the release's last value, and released records pile up there: more
    than expected from the attacker's share of that value, by PILED standard deviations and by at least half of the
    records that lie beyond.
    """
    if not len(own) or not len(released):
        return None, None
    return _cut_off(own, released, -1), _cut_off(own, released, 1)


def _cut_off(own: Values, released: Values, side: int) -> Any:
    last = released.max() if side > 0 else released.min()
    beyond = int(np.sum(own > last) if side > 0 else np.sum(own < last))
    at = int(np.sum(own == last))
    expected, more = (len(released) * count / len(own) for count in (at, beyond))
    excess = int(np.sum(released == last)) - expected
    piled = beyond > 0 and excess >= PILED * np.sqrt(expected + 1) and excess >= more / 2
    return last if piled else None
