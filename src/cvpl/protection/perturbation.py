"""Noise on numbers and times, swapped categories (paper, section 7.4, family B)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.frame import Coded, Frame


class Noise(NamedTuple):
    """Standard deviations of the noise on age (years), times (seconds) and lag (days); the probability of a swap."""

    age: float
    seconds: float
    lag: float
    swap: float


# Age and seconds are the paper's (appendix C); lag and swap are left open there and chosen to grow alongside.
LEVELS = {
    "low": Noise(age=1, seconds=3_600, lag=0.5, swap=0.02),
    "medium": Noise(age=3, seconds=86_400, lag=1, swap=0.05),
    "high": Noise(age=5, seconds=604_800, lag=2, swap=0.10),
}


@dataclass(frozen=True)
class Perturbation:
    """Normal noise on `age`, `days_after_ad` and every time; each category at times replaced by another record's.

    Ids are kept and rows shuffled. Ages are rounded and stay in the table's range, lags stay at or above 0, a missing
    number or time stays missing. A swap draws from the column itself, missing values among them, so that the shares of
    its values stay. Other numbers, such as the income, are left as they are.
    """

    level: Literal["low", "medium", "high"] = "medium"

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(
                f"Perturbation: level is {self.level!r}; allowed are {', '.join(LEVELS)}. Choose one of them."
            )

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The perturbed release of `table`; a table whose age or lag is not a number column is refused."""
        noise = LEVELS[self.level]
        numbers = {
            **table.numbers,
            "age": _noisy_age(table.number("age"), noise.age, rng),
            "days_after_ad": _noisy_lag(table.number("days_after_ad"), noise.lag, rng),
        }
        times = {name: _jittered(time, noise.seconds, rng) for name, time in table.times.items()}
        categories = {name: _swapped(column, noise.swap, rng) for name, column in table.categories.items()}
        noisy = replace(table, numbers=numbers, times=times, categories=categories)
        return noisy.take(rng.permutation(len(table)))


def _noisy_age(age: NDArray[Any], sd: float, rng: np.random.Generator) -> NDArray[Any]:
    known = age[~np.isnan(age)]
    if not len(known):
        return age
    noisy = np.rint(age + rng.normal(0, sd, len(age)))
    return np.clip(noisy, known.min(), known.max()).astype(age.dtype)


def _noisy_lag(lag: NDArray[Any], sd: float, rng: np.random.Generator) -> NDArray[Any]:
    return np.round(np.maximum(lag + rng.normal(0, sd, len(lag)), 0), 2)


def _jittered(time: NDArray[np.datetime64], sd: float, rng: np.random.Generator) -> NDArray[np.datetime64]:
    jittered: NDArray[np.datetime64] = time + np.rint(rng.normal(0, sd, len(time))).astype("timedelta64[s]")
    return jittered


def _swapped(column: Coded, probability: float, rng: np.random.Generator) -> Coded:
    codes = column.codes.copy()
    rows = np.flatnonzero(rng.random(len(codes)) < probability)
    codes[rows] = column.codes[rng.integers(len(codes), size=len(rows))]
    return Coded(codes, column.labels)
