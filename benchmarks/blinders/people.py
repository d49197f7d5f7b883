"""People of which it is known who is in a release: tables of numbers, of categories, of both, and with notes.

All columns of a table hang on two hidden factors, so that they go together as real columns do. Values are those that a
file would hold: whole numbers, decimals, labels, five-digit codes, days, sentences.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

Kind = Literal["continuous", "categorical", "mixed", "text"]
KINDS: tuple[Kind, ...] = ("continuous", "categorical", "mixed", "text")
_LEVELS = (2, 3, 4, 5, 6, 8, 12, 20, 40)
_JOBS = (
    "nurse",
    "teacher",
    "driver",
    "clerk",
    "cook",
    "welder",
    "farmer",
    "lawyer",
    "tailor",
    "pilot",
    "baker",
    "guard",
)
_WORDS = tuple(
    a + b
    for a in ("ba", "de", "fi", "go", "hu", "la", "me", "ni", "po", "ru", "sa", "ti")
    for b in ("lan", "mer", "nos", "rik", "sen", "tor", "vel", "wad", "xim", "zon", "dal", "pek", "gur", "hol", "jin")
)


def draw_people(kind: Kind, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw so many people."""
    factors = rng.normal(size=(count, 2))
    return {"continuous": _numbers, "categorical": _labels, "mixed": _mixed, "text": _text}[kind](factors, rng)


def _mix(factors: np.ndarray, rng: np.random.Generator, one: float, other: float) -> np.ndarray:
    """A standard normal that hangs on the factors with these weights."""
    rest = np.sqrt(max(0.0, 1 - one**2 - other**2))
    return one * factors[:, 0] + other * factors[:, 1] + rest * rng.normal(size=len(factors))


def _numbers(factors: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    z = [
        _mix(factors, rng, *weights)
        for weights in ((0.8, 0), (0.6, 0.4), (0, 0.7), (-0.6, 0.3), (0.5, -0.5), (0.3, 0.6))
    ]
    return pd.DataFrame(
        {
            "income": np.round(np.exp(10 + 0.6 * z[0]), 0),
            "rent": np.round(np.exp(6.5 + 0.4 * z[1]), 1),
            "height": np.round(170 + 9 * z[2], 1),
            "pulse": np.round(75 - 10 * z[3], 1),
            "glucose": np.round(90 + 15 * np.exp(0.5 * z[4]), 2),
            "distance": np.round(20 * np.exp(0.8 * z[5]), 2),
        }
    )


def _levels(latent: np.ndarray, count: int) -> np.ndarray:
    """A number from 0 to count - 1, in which larger levels are rarer."""
    shares = 1 / np.arange(1, count + 1) ** 0.7
    cuts = np.cumsum(shares)[:-1] / shares.sum()
    ranks = pd.Series(latent).rank(pct=True).to_numpy() - 0.5 / len(latent)
    return np.searchsorted(cuts, ranks)


def _labels(factors: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    found = {}
    for number, count in enumerate(_LEVELS):
        latent = _mix(factors, rng, 0.75 * (-1) ** number if number % 3 else 0.2, 0.6 if number % 3 == 0 else 0.1)
        found[f"answer_{number + 1}"] = [f"{chr(65 + number)}{level:02d}" for level in _levels(latent, count)]
    return pd.DataFrame(found)


def _mixed(factors: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    z = [
        _mix(factors, rng, *weights) for weights in ((0.7, 0), (0.6, 0.3), (0, 0.7), (0.5, -0.5), (0.2, 0.7), (-0.6, 0))
    ]
    age = np.clip(np.round(48 + 17 * z[0]), 18, 95)
    admitted = np.datetime64("2023-01-01") + rng.integers(0, 730, len(factors)).astype("timedelta64[D]")
    born = admitted - (age * 365.25 + rng.integers(0, 365, len(factors))).astype("timedelta64[D]")
    stay = np.round(np.exp(1.2 + 0.7 * z[3])).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "age": age.astype(int),
            "income": np.round(np.exp(10 + 0.6 * z[1]), 0).astype(int),
            "weight": np.round(74 + 12 * z[2], 1),
            "sex": np.where(_mix(factors, rng, 0, 0.5) > 0, "female", "male"),
            "job": np.array(_JOBS)[_levels(_mix(factors, rng, 0.6, 0.2), len(_JOBS))],
            "region": [f"{10007 + 397 * level:05d}" for level in _levels(_mix(factors, rng, 0.3, 0.5), 60)],
            "diagnosis": [f"{chr(65 + level % 6)}{level:02d}" for level in _levels(z[5], 25)],
            "born": born,
            "admitted": admitted,
            "discharged": admitted + stay,
        }
    )


def _text(factors: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    shares = 1 / np.arange(1, len(_WORDS) + 1) ** 0.9
    shares /= shares.sum()
    notes = [" ".join(rng.choice(_WORDS, int(rng.integers(8, 16)), p=shares)) for _ in range(len(factors))]
    table = _mixed(factors, rng)[["sex", "age", "job"]]
    return table.assign(note=notes)


def types(kind: Kind, table: pd.DataFrame) -> dict[str, str]:
    """The type of each column, as a user would declare it."""
    if kind == "categorical":
        return dict.fromkeys(table, "category")
    numeric = {name: "numeric" for name in table if pd.api.types.is_numeric_dtype(table[name])}
    times = {name: "datetime" for name in table if pd.api.types.is_datetime64_any_dtype(table[name])}
    return {name: numeric.get(name) or times.get(name) or "category" for name in table}
