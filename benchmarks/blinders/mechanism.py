"""What a mechanism of the bench is: it changes rows for release, and an attacker who knows it scores people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from blinders.people import Kind
from cvpl.evaluation.rates import power_at

Keys = Mapping[str, Any]
"""What the mechanism draws once for a whole release: keys, factors, orders of labels. The oracle knows them."""


@dataclass(frozen=True)
class Mechanism:
    """A way to make a release.

    `keys(table, rng)` draws what holds for the whole release. `release(table, keys, rng)` changes the rows that go into
    it; rows are shuffled afterwards, so their order does not matter, and there may be more or fewer than went in.
    `oracle(people, released, keys, known)` gives every row of `people` a score, the larger the surer the attacker is
    that the person is in the release. The oracle knows code, keys and parameters, not the draws for each record;
    `known` is the table of all originals and controls. `kinds` are the tables that it works on.
    """

    name: str
    kinds: tuple[Kind, ...]
    keys: Callable[[pd.DataFrame, np.random.Generator], Keys]
    release: Callable[[pd.DataFrame, Keys, np.random.Generator], pd.DataFrame]
    oracle: Callable[[pd.DataFrame, pd.DataFrame, Keys, pd.DataFrame], np.ndarray]


def no_keys(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """Nothing is drawn for the whole release."""
    return {}


def exact_rows(people: pd.DataFrame, released: pd.DataFrame) -> np.ndarray:
    """One over the number of released rows that are equal to the person's in the columns of both; 0 without one."""
    columns = [name for name in people if name in released]
    rows = released[columns].astype(str).agg("\x1f".join, axis=1).value_counts()
    mine = people[columns].astype(str).agg("\x1f".join, axis=1).map(rows)
    return (1 / mine).fillna(0.0).to_numpy()


def nearest(people: pd.DataFrame, released: pd.DataFrame) -> np.ndarray:
    """Minus the distance to the nearest released row: scaled numbers and days, 1 for each label that differs."""
    total = np.zeros((len(people), len(released)), dtype=np.float32)
    for name in (column for column in people if column in released):
        one, other = people[name], released[name]
        if pd.api.types.is_datetime64_any_dtype(one):
            one, other = (side.astype("int64") / 864e11 for side in (one, other))
        if pd.api.types.is_numeric_dtype(one):
            scale = float(one.std()) or 1.0
            apart = (one.to_numpy()[:, None] - other.to_numpy()[None, :]) / scale
            total += np.nan_to_num(apart**2, nan=1.0).astype(np.float32)
        else:
            total += one.to_numpy(dtype=str)[:, None] != other.to_numpy(dtype=str)[None, :]
    return -np.sqrt(total.min(axis=1)).astype(np.float64)


def power(originals: np.ndarray, controls: np.ndarray, rate: float = 0.05) -> float:
    """The share of the originals that the oracle finds beyond chance where it takes 5% of the controls for members.

    Ties at the threshold count in part, and the figure is (power - 5%) / 95%.
    """
    return (power_at(originals, controls, rate) - rate) / (1 - rate)
