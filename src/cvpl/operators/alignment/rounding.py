"""Rounding, and the one that turns the attacker's values into the released ones.

Rounding to the steps of a grid, to significant digits, and to calendar units. Each is idempotent. Numbers are floats,
times are integer microseconds since 1970.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


Way = Literal["down", "nearest", "up", "toward zero"]
Tie = Literal["up", "even", "down", "odd"]
Unit = Literal["month", "quarter", "year"]

_ULP = float(np.finfo(np.float64).eps)
_SLACK = 8 * _ULP
"""Relative error up to which a product counts as whole: it is off by a few rounding errors at most."""
_MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12}
_WORDS: dict[Way, str] = {
    "down": "rounded down to",
    "nearest": "rounded to the nearest of",
    "up": "rounded up to",
    "toward zero": "rounded toward zero to",
}
_NATURAL = {
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_CUT: dict[Way, str] = {
    "down": "cut to",
    "nearest": "rounded to the nearest of",
    "up": "rounded up to",
    "toward zero": "cut to",
}


@dataclass(frozen=True)
class GridRounding:
    """The grid neighbour that a value is rounded to; `tie` decides midpoints when `way` is "nearest"."""

    way: Way
    tie: Tie = "up"

    def moved(self, below: Values, rest: Values, step: float, negative: NDArray[np.bool_]) -> Values:
        """The index of the grid point: `below`, the index of the point below the value, plus one if it is rounded up.

        `rest` is the distance from the point below to the value.
        """
        if self.way == "down":
            return below
        if self.way == "up":
            goes = rest > 0
        elif self.way == "toward zero":
            goes = (rest > 0) & negative
        else:
            middle = 2 * rest == step
            odd = below % 2 != 0
            chosen = {"up": middle, "down": middle & False, "even": middle & odd, "odd": middle & ~odd}[self.tie]
            goes = (2 * rest > step) | chosen
        moved: Values = below + goes
        return moved


ROUNDINGS = (
    GridRounding("down"),
    GridRounding("nearest", "up"),
    GridRounding("nearest", "even"),
    GridRounding("nearest", "down"),
    GridRounding("nearest", "odd"),
    GridRounding("up"),
    GridRounding("toward zero"),
)
"""The roundings to try; if several fit equally well, the first is used. On a grid with an offset, even may be odd."""


@dataclass(frozen=True)
class NumberGrid:
    """The numbers (offset + n step) / scale; offset, step and scale are integers, the scale a power of ten.

    So a grid point is the double closest to its decimal notation.
    """

    step: int
    offset: int
    scale: int
    rounding: GridRounding

    def __call__(self, values: Floats) -> Floats:
        """Round every number to the grid; NaN stays NaN."""
        scaled = values * self.scale
        whole = np.rint(scaled)
        scaled = np.where(np.abs(scaled - whole) <= _SLACK * np.abs(whole), whole, scaled)
        below = np.floor((scaled - self.offset) / self.step)
        rest = scaled - self.offset - below * self.step
        number = self.rounding.moved(below, rest, self.step, values < 0)
        points: Floats = (self.offset + number * self.step) / self.scale
        return points

    @property
    def words(self) -> str:
        """What is done, for a person."""
        return f"{_WORDS[self.rounding.way]} steps of {self.step / self.scale:g}"


@dataclass(frozen=True)
class Digits:
    """Numbers with a fixed number of significant digits."""

    digits: int
    rounding: GridRounding

    def __call__(self, values: Floats) -> Floats:
        """Round every number to its first digits; 0 and NaN stay."""
        size = np.abs(values)
        plain = np.isfinite(size) & (size > 0)
        power = np.floor(np.log10(size, out=np.zeros_like(size), where=plain))
        power += plain & (size >= 10.0 ** (power + 1))
        power -= plain & (size < 10.0**power)
        shift = self.digits - 1 - power
        # The smallest numbers cannot be scaled to whole ones: they become NaN, which no value equals.
        with np.errstate(over="ignore", invalid="ignore"):
            up, down = 10.0 ** np.maximum(shift, 0), 10.0 ** np.maximum(-shift, 0)
            scaled = values * up / down
            whole = np.rint(scaled)
            scaled = np.where(np.abs(scaled - whole) <= _SLACK * np.abs(whole), whole, scaled)
            below = np.floor(scaled)
            points: Floats = self.rounding.moved(below, scaled - below, 1, values < 0) * down / up
        return np.where(plain, points, values)

    @property
    def words(self) -> str:
        """What is done, for a person."""
        return f"{_WORDS[self.rounding.way]} numbers of {self.digits} significant digits"


@dataclass(frozen=True)
class TimeGrid:
    """The instants offset + n step, in microseconds."""

    step: int
    offset: int
    rounding: GridRounding

    def __call__(self, values: Ints) -> Ints:
        """Round every instant to the grid."""
        below, rest = np.divmod(values - self.offset, self.step)
        number = self.rounding.moved(below, rest, self.step, np.zeros(len(values), dtype=bool))
        return np.asarray(self.offset + number * self.step, dtype=np.int64)

    @property
    def words(self) -> str:
        """What is done, for a person."""
        for name, size in reversed(_NATURAL.items()):
            if self.step % size == 0:
                count = self.step // size
                return f"{_CUT[self.rounding.way]} {f'{name}s' if count == 1 else f'steps of {count} {name}s'}"
        return f"{_CUT[self.rounding.way]} steps of {self.step / 1e6:g} seconds"


@dataclass(frozen=True)
class Calendar:
    """The starts of months, quarters or years."""

    unit: Unit
    rounding: GridRounding

    def __call__(self, values: Ints) -> Ints:
        """Round every instant to the start of a unit."""
        months = values.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        size = _MONTHS[self.unit]
        number = np.floor_divide(months, size)
        begins, follows = (_instants(number * size), _instants((number + 1) * size))
        goes = {
            "down": np.zeros(len(values), dtype=bool),
            "up": values > begins,
            "toward zero": np.zeros(len(values), dtype=bool),
            "nearest": 2 * (values - begins) >= follows - begins,
        }[self.rounding.way]
        return np.where(goes, follows, begins)

    @property
    def words(self) -> str:
        """What is done, for a person."""
        return f"{_CUT[self.rounding.way]} {self.unit}s"


NumberRounding = NumberGrid | Digits
TimeRounding = TimeGrid | Calendar


def _instants(months: Ints) -> Ints:
    return months.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)


def decimal_places(values: Floats, most: int = 9) -> int | None:
    """The largest number of decimals of the values; None if above `most`, or if the values are too large to tell."""
    for places in range(most + 1):
        scaled = values * 10.0**places
        if np.abs(scaled).max(initial=0.0) > 2.0**52:
            return None
        whole = np.rint(scaled)
        if bool(np.all(np.abs(scaled - whole) <= _SLACK * np.abs(whole))):
            return places
    return None


def natural_grids() -> tuple[tuple[int, int], ...]:
    """Step and offset of the usual grids for times, in microseconds, the finest first."""
    minutes = (item * _NATURAL["minute"] for item in (5, 10, 15, 20, 30))
    hours = (item * _NATURAL["hour"] for item in (2, 3, 4, 6, 8, 12))
    since_midnight = (item for name, item in _NATURAL.items() if name != "week")
    # 1970-01-01 was a Thursday, and weeks begin on Monday.
    return (
        *((step, 0) for step in sorted((*since_midnight, *minutes, *hours))),
        (_NATURAL["week"], 4 * _NATURAL["day"]),
    )


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


@dataclass(frozen=True, eq=False)
class DistinctRanges:
    """The distinct ranges [low, high] of a release, both ends included, and its unchanged values (`plain`).

    Values are floats, or integers (microseconds). The number line is cut at the ends of all ranges; `starts` are the
    sorted starts of its pieces, and `owner` is the range that a value in the piece is mapped to, -1 for none.
    """

    low: Values
    high: Values
    plain: Values
    starts: Values
    owner: Ints

    @classmethod
    def of(cls, low: Values, high: Values) -> tuple[DistinctRanges, Ints]:
        """Build the ranges from the ends of every released value; also return one row of each range.

        A value in several ranges is mapped to the one with most released records; ties go to the narrowest, then to the
        lowest.
        """
        wide = np.flatnonzero(low < high)
        first, counts, _ = distinct_ranges(low[wide], high[wide])
        ends = low[wide][first], high[wide][first]
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.lexsort((ends[0], ends[1] - ends[0], -counts))] = np.arange(len(first))
        starts, owner = _pieces(ends[0], _next_value(ends[1]), rank)
        return cls(*ends, np.unique(low[low == high]), starts, owner), wide[first]

    def find(self, values: Values) -> Ints:
        """The range that each value is mapped to; -1 for a plain value, a value outside all ranges, and NaN."""
        if not len(self.starts):
            return np.full(len(values), -1, dtype=np.int64)
        piece = np.searchsorted(self.starts, values, side="right") - 1
        found: Ints = np.where(piece >= 0, self.owner[piece], -1)
        found[self.has(values)] = -1
        return found

    def has(self, values: Values) -> NDArray[np.bool_]:
        """Whether the release has each value unchanged."""
        return _is_known(values, self.plain)

    def holds(self, low: Values, high: Values) -> NDArray[np.bool_]:
        """Which of the given ranges the release has."""
        known = set(zip(self.low.tolist(), self.high.tolist(), strict=True))
        first, _, codes = distinct_ranges(low, high)
        distinct = zip(low[first].tolist(), high[first].tolist(), strict=True)
        return np.array([ends in known for ends in distinct], dtype=bool)[codes]


def _is_known(values: Values, known: Values) -> NDArray[np.bool_]:
    """Whether each value is in `known`, which is sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def _next_value(high: Values) -> Values:
    """The first value beyond each end."""
    return high + 1 if high.dtype.kind == "i" else np.nextafter(high, np.inf)


def distinct_ranges(low: Values, high: Values) -> tuple[Ints, Ints, Ints]:
    """The first row and the count of each distinct pair, and the code of every row."""
    lows, highs = np.unique(low), np.unique(high)
    pairs = np.searchsorted(lows, low) * len(highs) + np.searchsorted(highs, high)
    if len(lows) * len(highs) <= 4 * len(low) + 1024:
        # Counting is faster than sorting if there are not too many possible pairs.
        counts = np.bincount(pairs, minlength=len(lows) * len(highs))
        found = np.flatnonzero(counts)
        codes = (np.cumsum(counts > 0) - 1)[pairs]
    else:
        found, codes = np.unique(pairs, return_inverse=True)
    first = np.empty(len(found), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first, np.bincount(codes, minlength=len(found)).astype(np.int64), codes.astype(np.int64)


def _pieces(low: Values, after: Values, rank: Ints) -> tuple[Values, Ints]:
    """Sweep over the number line: at each start or end of a range, the best-ranked open range owns the piece."""
    starts = np.unique(np.concatenate([low, after]))
    owner = np.full(len(starts), -1, dtype=np.int64)
    coming = np.argsort(low, kind="stable")
    begins, ends, ranks = low.tolist(), after.tolist(), rank.tolist()
    waiting = [(begins[cell], cell) for cell in reversed(coming.tolist())]
    opened: list[tuple[int, int]] = []
    for piece, start in enumerate(starts.tolist()):
        while waiting and waiting[-1][0] <= start:
            cell = waiting.pop()[1]
            heapq.heappush(opened, (ranks[cell], cell))
        while opened and ends[opened[0][1]] <= start:
            heapq.heappop(opened)
        if opened:
            owner[piece] = opened[0][1]
    return starts, owner
