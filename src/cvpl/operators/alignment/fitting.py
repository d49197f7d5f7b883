"""Which way of rounding turns the attacker's values into the released ones: the one whose histogram overlaps most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.rounding import (
    ROUNDINGS,
    Calendar,
    Digits,
    NumberGrid,
    NumberRounding,
    Rounding,
    TimeGrid,
    TimeRounding,
    decimal_places,
    natural_grids,
)

Values = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SURPRISE = 10.0
"""So many released values off a grid must be expected, were the attacker's values released as they are, before the
absence of all of them counts as rounding: by chance that happens once in 20,000 times (e^-10)."""
EXPLAINED = 0.1
"""The rounding must raise the overlap of the histograms by at least this share of the values that it moves."""
PILED = 5.0
"""So many standard deviations more records than expected at the release's last value count as piled up there."""
SAMPLE = 200_000
"""Of larger tables so many values, evenly spaced, decide which way of rounding fits."""
FEWEST_POINTS = 3
"""Fewer released numbers are no grid; natural steps of time need no more than one."""
MOST_DIGITS = 4
SAME = 1e-12
"""Two doubles that differ by less, relative to their size, are the same number."""
_DIVISORS = (1, 2, 4, 5, 10)
_TIMELY = tuple(rounding for rounding in ROUNDINGS if rounding.way != "toward zero")

Candidate = TypeVar("Candidate", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Histogram:
    """Distinct values, ascending, and how many records have each."""

    values: Values
    counts: Ints

    @classmethod
    def of(cls, values: Values, most: int | None = None) -> Histogram:
        """Of all values, or of at most so many, evenly spaced."""
        if most is not None and len(values) > most:
            values = values[np.linspace(0, len(values) - 1, most).astype(np.int64)]
        found, counts = np.unique(values, return_counts=True)
        return cls(found, counts.astype(np.int64))

    @property
    def total(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    def mapped(self, change: Callable[[Values], Values]) -> Histogram:
        """The histogram of the changed values."""
        found, codes = np.unique(change(self.values), return_inverse=True)
        return Histogram(found, np.bincount(codes, weights=self.counts, minlength=len(found)).astype(np.int64))

    def overlap(self, other: Histogram) -> float:
        """Sum over values of the smaller of the two shares: 1 for equal distributions, 0 for disjoint ones."""
        if not self.total or not other.total:
            return 0.0
        _, mine, theirs = np.intersect1d(self.values, other.values, assume_unique=True, return_indices=True)
        shares = self.counts[mine] / self.total, other.counts[theirs] / other.total
        return float(np.minimum(*shares).sum())


def fit_numbers(own: Floats, released: Floats) -> NumberRounding | None:
    """The way of rounding that turns the attacker's numbers into the released ones; None where none does."""
    points = np.unique(released)
    candidates: list[NumberRounding] = [*_grids(points), *_digits(points)]
    return _best(own, released, candidates)


def fit_times(own: Ints, released: Ints) -> TimeRounding | None:
    """The same for instants, in microseconds."""
    points = np.unique(released)
    candidates: list[TimeRounding] = [*_clocks(points), *_calendars(points), *_largest_step(points)]
    return _best(own, released, candidates)


def _best(own: Values, released: Values, candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the largest overlap, of those that explain what the release lacks.

    A candidate is looked at where the attacker's values are clearly finer: with the share of them that it moves, the
    release of as many records as there are would hold SURPRISE values that it would move as well, and holds none.
    """
    if not candidates or not len(own):
        return None
    mine, theirs = Histogram.of(own, SAMPLE), Histogram.of(released, SAMPLE)
    unchanged = mine.overlap(theirs)
    best: tuple[float, Candidate] | None = None
    for candidate in candidates:
        moved = candidate(mine.values) != mine.values
        share = float(mine.counts[moved].sum()) / mine.total
        if share * len(released) < SURPRISE:
            continue
        overlap = _overlap(candidate, mine, theirs)
        if overlap - unchanged >= EXPLAINED * share and (best is None or overlap > best[0]):
            best = overlap, candidate
    return None if best is None else best[1]


def _overlap(change: Callable[[Values], Values], mine: Histogram, theirs: Histogram) -> float:
    """The overlap once the attacker's values are changed.

    Where the change would move the release's own first or last value, that is an end at which values are cut off.
    """
    moved = change(theirs.values)
    same = np.abs(moved - theirs.values) <= SAME * np.abs(theirs.values)
    # The same number but for its last bits is spelled like the changed ones.
    points = Histogram(np.where(same, moved, theirs.values), theirs.counts)
    low, high = (None if fits else end for fits, end in zip(same[[0, -1]], theirs.values[[0, -1]], strict=True))
    if low is None and high is None:
        return mine.mapped(change).overlap(points)
    return mine.mapped(lambda values: np.clip(change(values), low, high)).overlap(points)


def _grids(points: Floats) -> list[NumberGrid]:
    """Grids on which all released numbers lie, or all but the first or last, which may be where values are cut off."""
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
            for step in _steps(part):
                found.setdefault((step, int(part[0]) % step))
    return [NumberGrid(step, offset, scale, rounding) for step, offset in found for rounding in ROUNDINGS]


def _steps(whole: Ints) -> list[int]:
    """The largest step that leads from any of the numbers to any other, and parts of it."""
    largest = int(np.gcd.reduce(np.diff(whole)))
    return [largest // part for part in _DIVISORS if largest % part == 0]


def _digits(points: Floats) -> list[Digits]:
    """Numbers of significant digits that all released numbers keep to."""
    if len(points) < FEWEST_POINTS:
        return []
    kept = range(1, MOST_DIGITS + 1)
    return [
        Digits(digits, rounding)
        for digits in kept
        if np.allclose(Digits(digits, Rounding("nearest"))(points), points, rtol=1e-12, atol=0)
        for rounding in ROUNDINGS
        if rounding.way in ("nearest", "toward zero")
    ]


def _clocks(points: Ints) -> list[TimeGrid]:
    """Grids of natural steps on which all released instants lie."""
    found = [
        natural_grid for natural_grid in natural_grids() if not np.any((points - natural_grid[1]) % natural_grid[0])
    ]
    return [TimeGrid(step, offset, rounding) for step, offset in found for rounding in _TIMELY]


def _largest_step(points: Ints) -> list[TimeGrid]:
    """Grids of the largest step that leads from any released instant to any other."""
    if len(points) < FEWEST_POINTS:
        return []
    step = _steps(points)[0]
    return [TimeGrid(step, int(points[0]) % step, rounding) for rounding in _TIMELY]


def _calendars(points: Ints) -> list[Calendar]:
    """Calendar units that all released instants begin."""
    ways = [rounding for rounding in ROUNDINGS if rounding.way in ("down", "up") or rounding == Rounding("nearest")]
    units: tuple[Any, ...] = ("month", "quarter", "year")
    fitting = [unit for unit in units if np.array_equal(Calendar(unit, ways[0])(points), points)]
    return [Calendar(unit, rounding) for unit in fitting for rounding in ways]


def cut_offs(own: Values, released: Values) -> tuple[Any, Any]:
    """The least and the most that the release lets through, each None where it cuts nothing off.

    It does where the attacker has values beyond the release's last one, and the release piles up there: it holds more
    records than the attacker's share of that value makes expect, by PILED standard deviations and by at least half
    of those that lie beyond.
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
