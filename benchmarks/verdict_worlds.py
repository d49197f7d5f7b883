"""Worlds in which it is known who is in a release: people, controls and releases, drawn anew as often as one likes.

A population is a set of correlated columns: numbers, categories, or both. A setting says how many people and controls
are drawn from it, what share of the people is planted in the release, how their rows are changed, and what the other
rows of the release are. A world is one draw of a setting. The release has as many rows as there are people, shuffled
and without ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Pair, Table

Floats = NDArray[np.float64]
Kind = Literal["continuous", "categorical", "mixed"]
How = Literal["verbatim", "perturbed", "smote"]
Rest = Literal["strangers", "independent", "copula"]

NOISE = 0.1
"""A perturbed number moves by so many standard deviations, ..."""
REDRAWN = 0.1
"""... and a perturbed category is drawn anew, with this probability."""
FARTHEST = 1 / 3
"""An interpolated row lies at most so far on the way to the neighbour: nearer to its own person than to the other."""
NEIGHBOURS = 5
POOL = 2_000
"""Near neighbours are looked for among so many of the people at most."""
_FACTORS = 3
_SHARED = 0.5
"""The part of a column's variance that is due to factors which all columns share."""
_LEVELS: Mapping[Kind, tuple[int, ...]] = {
    "continuous": (0,) * 9,
    "categorical": (2, 3, 4, 5, 6, 8, 10, 12, 20, 30, 50),
    "mixed": (0, 0, 0, 0, 0, 2, 4, 6, 12, 25),
}
"""The columns of each kind of table: how many levels each has, 0 for a number."""
_BLOCKS: Mapping[Kind, Mapping[int, Any]] = {"continuous": {}, "categorical": {3: "exact"}, "mixed": {7: "exact"}}
"""The column by which attackers who block do so."""
_DIGITS = 2


@dataclass(frozen=True, order=True)
class Setting:
    """How people are drawn and how their release is made."""

    kind: Kind
    people: int
    controls: int
    share: float
    how: How
    rest: Rest

    @property
    def key(self) -> str:
        """Its name in files."""
        return f"{self.kind}/{self.people}/{self.controls}/{self.share:g}/{self.how}/{self.rest}"


@dataclass(frozen=True, eq=False)
class World:
    """One draw: the rows of each table (a category as its number), and the row of each planted person.

    `planted` are the people who are in the release, `copies` the rows of the release that are theirs, in their order.
    """

    setting: Setting
    original: Floats
    protected: Floats
    control: Floats
    planted: NDArray[np.intp]
    copies: NDArray[np.intp]

    @property
    def distinguishable(self) -> float:
        """The share of all people who are planted with a row that no control has."""
        if not len(self.planted):
            return 0.0
        theirs = {row.tobytes() for row in self.control}
        alone = sum(row.tobytes() not in theirs for row in self.protected[self.copies])
        return alone / len(self.original)

    def frame(self, table: str) -> pd.DataFrame:
        """A table as a person would hand it over."""
        rows = getattr(self, table)
        return pd.DataFrame(
            {
                name: rows[:, at] if not levels else np.array(labels_of(levels))[rows[:, at].astype(np.int64)]
                for at, (name, levels) in enumerate(columns_of(self.setting.kind))
            }
        )

    def pair(self) -> Pair:
        """The same tables as an attack takes them."""
        made = [table_of(self.setting.kind, name, getattr(self, name)) for name in ("original", "protected", "control")]
        return Pair(*made)


def columns_of(kind: Kind) -> list[tuple[str, int]]:
    """The names of the columns, and how many levels each has; 0 for a number."""
    return [(f"number_{at}" if not levels else f"level_{at}", levels) for at, levels in enumerate(_LEVELS[kind])]


def labels_of(levels: int) -> tuple[str, ...]:
    """The labels of a category, sorted."""
    return tuple(f"v{level:02d}" for level in range(levels))


def config_of(kind: Kind, seed: int, *, canaries: bool) -> dict[str, Any]:
    """The configuration of an audit: the default family, without variations and without singling out."""
    columns: dict[str, Any] = {}
    for at, (name, levels) in enumerate(columns_of(kind)):
        columns[name] = {"role": "quasi_identifier", "type": "category" if levels else "numeric"}
        if at in _BLOCKS[kind]:
            columns[name]["block"] = _BLOCKS[kind][at]
    left_out = {"sensitivity": False, "singling_out": False}
    return {"columns": columns, "attacker": "default", "seed": seed, "canaries": canaries, **left_out}


def table_of(kind: Kind, name: str, rows: Floats) -> Table:
    """Rows as a table of the package."""
    specs, data = [], {}
    for at, (column, levels) in enumerate(columns_of(kind)):
        specs.append(ColumnSpec(column, "quasi_identifier", "category" if levels else "numeric"))
        values = np.ascontiguousarray(rows[:, at])
        data[column] = Labels(values.astype(np.int32), labels_of(levels)) if levels else Numbers(values, values, values)
    return Table(name, len(rows), tuple(specs), data)


@lru_cache
def _loadings(kind: Kind) -> Floats:
    """How each column hangs on the shared factors; the same in all draws."""
    rng = np.random.default_rng([7, len(_LEVELS[kind])])
    drawn = rng.normal(size=(len(_LEVELS[kind]), _FACTORS))
    made: Floats = drawn * np.sqrt(_SHARED / (drawn**2).sum(axis=1, keepdims=True))
    return made


@lru_cache
def _cuts(levels: int) -> Floats:
    """Where a standard normal value passes from one level to the next; level i has a weight of 1 / (i + 2)."""
    weight = 1 / np.arange(2.0, levels + 2)
    ends = np.cumsum(weight / weight.sum())[:-1]
    return np.array([NormalDist().inv_cdf(float(end)) for end in ends])


def people(kind: Kind, count: int, rng: np.random.Generator) -> Floats:
    """So many people of the population."""
    loadings = _loadings(kind)
    shared = rng.normal(size=(count, _FACTORS)) @ loadings.T
    return _observed(kind, shared + np.sqrt(1 - _SHARED) * rng.normal(size=shared.shape))


def draw(setting: Setting, rng: np.random.Generator, controls: int | None = None) -> World:
    """One world; `controls` takes the place of the setting's number of controls."""
    original = people(setting.kind, setting.people, rng)
    control = people(setting.kind, setting.controls if controls is None else controls, rng)
    planted = np.sort(rng.permutation(setting.people)[: round(setting.share * setting.people)])
    own = _changed(setting, original, planted, rng)
    others = _others(setting, original, setting.people - len(planted), rng)
    order = rng.permutation(setting.people)
    place = np.empty_like(order)
    place[order] = np.arange(setting.people)
    return World(setting, original, np.vstack([own, others])[order], control, planted, place[: len(planted)])


def _observed(kind: Kind, latent: Floats) -> Floats:
    """The row that a table has of each latent one: numbers rounded, every third of them skewed; levels numbered."""
    made = np.empty_like(latent)
    for at, levels in enumerate(_LEVELS[kind]):
        value = latent[:, at]
        if levels:
            made[:, at] = np.searchsorted(_cuts(levels), value)
        else:
            made[:, at] = np.round(100 * np.exp(0.5 * value) if at % 3 == 2 else 50 + 10 * value, _DIGITS)
    return made


def _numeric(kind: Kind) -> NDArray[np.bool_]:
    return np.array(_LEVELS[kind]) == 0


def _changed(setting: Setting, original: Floats, planted: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """The released rows of the planted people."""
    own = original[planted]
    if setting.how == "verbatim" or not len(own):
        return own
    numeric = _numeric(setting.kind)
    if setting.how == "perturbed":
        noise = NOISE * original.std(axis=0) * rng.normal(size=own.shape)
        redrawn = rng.random(own.shape) < REDRAWN
        fresh = _independent(setting.kind, len(own), rng)
        made: Floats = np.where(numeric, np.round(own + noise, _DIGITS), np.where(redrawn, fresh, own))
        return made
    near = original[_neighbours(setting.kind, original, planted, rng)]
    step = FARTHEST * rng.random((len(own), 1))
    between = np.round(own + step * (near - own), _DIGITS)
    taken = rng.random(own.shape) < step
    return np.where(numeric, between, np.where(taken, near, own))


def _neighbours(kind: Kind, original: Floats, planted: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """One of the near neighbours of each planted person: numbers by distance, a different category counts as 1."""
    numeric = _numeric(kind)
    scaled = original / np.where(numeric, np.maximum(original.std(axis=0), 1e-9), 1.0)
    pool = rng.permutation(len(original))[:POOL]
    found = np.empty(len(planted), dtype=np.intp)
    nearest = min(NEIGHBOURS, len(pool) - 1)
    for start in range(0, len(planted), 500):
        rows = planted[start : start + 500]
        distance = np.zeros((len(rows), len(pool)))
        for at in range(original.shape[1]):
            apart = scaled[rows, at][:, None] - scaled[pool, at][None, :]
            distance += apart**2 if numeric[at] else apart != 0
        distance[rows[:, None] == pool[None, :]] = np.inf
        closest = np.argpartition(distance, nearest - 1, axis=1)[:, :nearest]
        found[start : start + 500] = pool[closest[np.arange(len(rows)), rng.integers(nearest, size=len(rows))]]
    return found


def _others(setting: Setting, original: Floats, count: int, rng: np.random.Generator) -> Floats:
    """The rows of the release that are nobody's."""
    if setting.rest == "strangers" or not count:
        return people(setting.kind, count, rng)
    return (
        _independent(setting.kind, count, rng)
        if setting.rest == "independent"
        else _copula(setting, original, count, rng)
    )


def _independent(kind: Kind, count: int, rng: np.random.Generator) -> Floats:
    """Rows whose columns are each drawn from the population by itself."""
    drawn = people(kind, count, rng)
    return np.stack([column[rng.permutation(count)] for column in drawn.T], axis=1)


def _copula(setting: Setting, original: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Rows of a Gaussian copula fitted on the originals: their ranks' correlations, and their quantiles, smoothed."""
    rows = len(original)
    rank = (np.argsort(np.argsort(original + 1e-6 * rng.random(original.shape), axis=0), axis=0) + 0.5) / rows
    standard = NormalDist()
    scores = np.vectorize(standard.inv_cdf)(rank)
    drawn = rng.multivariate_normal(np.zeros(original.shape[1]), np.corrcoef(scores.T), size=count)
    uniform = np.vectorize(standard.cdf)(drawn)
    made = np.empty_like(drawn)
    for at, numeric in enumerate(_numeric(setting.kind)):
        method = "linear" if numeric else "inverted_cdf"
        made[:, at] = np.quantile(original[:, at], uniform[:, at], method=method)
    return np.round(made, _DIGITS)
