"""Noise on numbers and times, and swapped categories (paper, section 7.4, family B)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import CategoryCodes, Frame


class Noise(NamedTuple):
    """The strength of a level: seconds of noise on times, the probability of a swap, and the noise on numbers.

    `named` are the standard deviations for the paper's own columns; `share` is the standard deviation for any other
    number, as a share of the column's own.
    """

    seconds: float
    swap: float
    share: float
    named: Mapping[str, float]


# Age and seconds are the paper's (appendix C), and so is the share: its age noise over its standard deviation of 15.
# Lag and swap are not given there and chosen to grow in proportion.
LEVELS = {
    "low": Noise(3_600, 0.02, 1 / 15, {"age": 1, "days_after_ad": 0.5}),
    "medium": Noise(86_400, 0.05, 3 / 15, {"age": 3, "days_after_ad": 1}),
    "high": Noise(604_800, 0.10, 5 / 15, {"age": 5, "days_after_ad": 2}),
}
_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Perturbation:
    """Normal noise on numbers and times, and random swaps of categories with another record's value.

    `noise` gives the numbers that get noise, with its standard deviation; without it these are `age` and
    `days_after_ad`, as in the paper. Other numbers stay unchanged. People are kept and rows shuffled. Whole numbers are
    rounded and stay in the column's range; others keep its decimals, and stay at or above 0 if all were. A missing
    number or time stays missing. A swap draws from the column itself, including missing values, so the shares of its
    values are preserved.
    """

    level: Literal["low", "medium", "high"] = "medium"
    noise: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(
                f"Perturbation: level is {self.level!r}; allowed are {', '.join(LEVELS)}. Choose one of them."
            )
        for name, sd in (self.noise or {}).items():
            if not (np.isfinite(sd) and sd >= 0):
                raise ValueError(
                    f"Perturbation: the noise on {name!r} is {sd!r}; allowed is a number from 0. Set it in this range."
                )

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The perturbed release of `table`; raises ValueError if a column to get noise is not numeric."""
        strength = LEVELS[self.level]
        numbers = {
            name: _noisy(table.number(name), sd, rng, whole=name in table.whole)
            for name, sd in (strength.named if self.noise is None else self.noise).items()
        }
        times = {name: _jitter(time, strength.seconds, rng) for name, time in table.times.items()}
        categories = {name: _resample_cells(column, strength.swap, rng) for name, column in table.categories.items()}
        noisy = replace(table, numbers={**table.numbers, **numbers}, times=times, categories=categories)
        return noisy.take(rng.permutation(len(table)))


def usual_noise(table: Frame, names: Iterable[str], level: str) -> dict[str, float]:
    """Standard deviations of the noise on some number columns: a share of each column's own; 0 for a constant."""
    spread = {name: np.nanstd(table.number(name)) if len(table) else 0.0 for name in names}
    return {name: float(np.nan_to_num(LEVELS[level].share * sd)) for name, sd in spread.items()}


def _noisy(values: NDArray[Any], sd: float, rng: np.random.Generator, *, whole: bool) -> NDArray[Any]:
    known = values[~np.isnan(values)]
    if not len(known):
        return values
    noisy = values + rng.normal(0, sd, len(values))
    if whole or values.dtype.kind in "iu":
        return np.clip(np.rint(noisy), known.min(), known.max()).astype(values.dtype)
    return np.round(np.maximum(noisy, 0) if known.min() >= 0 else noisy, _decimals(known))


def _decimals(values: NDArray[Any]) -> int:
    """The fewest decimals that represent all of the values, at most six."""
    places = (n for n in range(_MOST_DECIMALS) if np.array_equal(np.round(values, n), values))
    return next(places, _MOST_DECIMALS)


def _jitter(time: NDArray[np.datetime64], sd: float, rng: np.random.Generator) -> NDArray[np.datetime64]:
    jittered: NDArray[np.datetime64] = time + np.rint(rng.normal(0, sd, len(time))).astype("timedelta64[s]")
    return jittered


def _resample_cells(column: CategoryCodes, probability: float, rng: np.random.Generator) -> CategoryCodes:
    codes = column.codes.copy()
    rows = np.flatnonzero(rng.random(len(codes)) < probability)
    codes[rows] = column.codes[rng.integers(len(codes), size=len(rows))]
    return CategoryCodes(codes, column.labels)
