"""Rounding of figures about people, so that no figure tells of fewer than k of them.

A share of n people is a multiple of a step that is at least k / n: up to k - 1 people more or fewer leave it as it is,
or move it by one step, which more people would do as well. With k = 1 every figure stays exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ABOVE_ZERO = 1e-6
"""Published instead of 0 for an end of an interval that is less than a step from 0, with the sign of the end.

An interval that lies above 0 must not seem to include it."""
SUPPRESS_BELOW = 10
"""k if nothing else is set."""
_NOISE = 1e-9
"""Errors of floating-point numbers, as a part of a step."""
_DIGITS = 3


@dataclass(frozen=True)
class RoundingGrid:
    """The multiples of digit / whole; a digit of 0 stands for all numbers.

    A share that is at least `least` from 0 or 1 is not rounded to it: 0 stands for fewer than k people, 1 for all but
    fewer than k.
    """

    digit: int
    whole: int
    least: float = math.inf

    @property
    def step(self) -> float:
        """The distance of two multiples."""
        return self.digit / self.whole

    def nearest(self, value: float) -> float:
        """The nearest multiple, the larger of two; one that k people are short of 0 or 1 is a step away."""
        if not self.digit:
            return value
        number = math.floor(value / self.step + 0.5 + _NOISE)
        least = self.least * (1 - _NOISE)
        if number == 0 and abs(value) >= least:
            number = 1 if value > 0 else -1
        if number * self.digit == self.whole and 1 - value >= least:
            number -= 1
        return self._multiple(number)

    def down(self, value: float) -> float:
        """The largest multiple that is not above the value."""
        return self._multiple(math.floor(value / self.step + _NOISE)) if self.digit else value

    def up(self, value: float) -> float:
        """The smallest multiple that is not below the value."""
        return self._multiple(math.ceil(value / self.step - _NOISE)) if self.digit else value

    def low_end(self, value: float) -> float:
        """The lower end of an interval, rounded down; one above 0 stays above 0."""
        found = self.down(value)
        return ABOVE_ZERO if found <= 0 < value else found

    def high_end(self, value: float) -> float:
        """The upper end of an interval, rounded up; one below 0 stays below 0."""
        found = self.up(value)
        return -ABOVE_ZERO if value < 0 <= found else found

    def _multiple(self, number: int) -> float:
        return number * self.digit / self.whole


ALL_NUMBERS = RoundingGrid(0, 1)


def grid_of(people: float, k: int) -> RoundingGrid:
    """The multiples to which a share of so many people is rounded.

    Their step is the smallest of 1, 2 and 5 times a power of ten that is at least k / people, and at most 1.
    """
    if k <= 1:
        return ALL_NUMBERS
    least = k / people if people else math.inf
    found, whole = RoundingGrid(1, 1, least), 10
    while True:
        for digit in (5, 2, 1):
            if digit * people < k * whole:
                return found
            found = RoundingGrid(digit, whole, least)
        whole *= 10


def rounded_count(count: float, k: int, *, up: bool = False) -> int:
    """A count of people, rounded down to a multiple of k, or up: 0 then means fewer than k."""
    if k <= 1:
        return int(count)
    return k * (math.ceil(count / k) if up else math.floor(count / k))


def rounded_statistic(value: float, people: float, k: int, digits: int = _DIGITS) -> float:
    """A figure that is not a share, to so many significant digits, and to fewer where k people change more than that.

    It is a multiple of 1, 2 or 5 times a power of ten; this step is at least k / people of the value.
    """
    if k <= 1 or value == 0 or not math.isfinite(value):
        return value
    finest = 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)
    least = max(finest, abs(value) * min(1.0, k / people))
    power = 10.0 ** math.floor(math.log10(least))
    step = power * next(digit for digit in (1, 2, 5, 10) if digit * power >= least * (1 - _NOISE))
    return float(f"{round(value / step) * step:.12g}")
