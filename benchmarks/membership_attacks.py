"""Membership by distance and by density, a score for each person: what other tools do, by all pairs.

    DCR                       -d(x, release)
    DCR against reference     d(x, reference) - d(x, release)
    density ratio             log p_release(x) - log p_reference(x)

d is Gower's distance to the closest record, as SynthEval and SDMetrics take it: the mean over the columns of |x - y| /
range for numbers and of disagreement for labels. The density is what DOMIAS's own code estimates where it does not
train a network: a Gaussian kernel with the covariance of the table itself times the square of a bandwidth, which is
Scott's n^(-1/(d+4)) or half of it. It is taken over the principal components of numbers and labels, standardized.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numba import njit, prange
from sklearn.decomposition import PCA

COMPONENTS = 20
"""Principal components whose density is estimated: of 3, 5, 10, 20 and 40 the strongest on flip10 and synthpop."""
BANDWIDTHS = ("Scott", "half of Scott")
_PIECE = 512
"""Records whose distances are held at a time, so that they stay in the nearest cache."""
_NOTHING = 80.0
"""Squared distances beyond the nearest by so much add less than exp(-40) of it."""


@dataclass(frozen=True)
class Sides:
    """The tables of one attack: the people who are asked, the release, and people outside it."""

    people: pd.DataFrame
    release: pd.DataFrame
    reference: pd.DataFrame

    @property
    def all(self) -> tuple[pd.DataFrame, ...]:
        """The three of them."""
        return self.people, self.release, self.reference

    @property
    def labels(self) -> list[str]:
        """The columns that are not numbers."""
        return [name for name in self.people if not pd.api.types.is_numeric_dtype(self.people[name])]


def distances(sides: Sides) -> dict[str, np.ndarray]:
    """The scores of both attacks by distance."""
    together = pd.concat(sides.all, ignore_index=True)
    numbers = together.drop(columns=sides.labels).to_numpy(dtype=np.float64)
    span = np.ptp(numbers, axis=0)
    codes = np.column_stack([pd.factorize(together[name])[0] for name in sides.labels]).astype(np.int32)
    ends = np.cumsum([len(item) for item in sides.all])[:-1]
    scaled = np.split(numbers / np.where(span > 0, span, 1), ends)
    coded = np.split(codes, ends)
    to_release, to_reference = (_closest(scaled[0], coded[0], scaled[at], coded[at]) for at in (1, 2))
    return {"DCR": -to_release, "DCR against reference": to_reference - to_release}


def density_ratios(sides: Sides) -> dict[str, np.ndarray]:
    """The scores by density, for every bandwidth; the components are those of what the attacker holds."""
    together = pd.get_dummies(pd.concat(sides.all, ignore_index=True), columns=sides.labels).to_numpy(dtype=np.float64)
    people, release, reference = np.split(together, np.cumsum([len(item) for item in sides.all])[:-1])
    held = np.concatenate([release, reference])
    mean, deviation = held.mean(axis=0), held.std(axis=0)
    deviation[deviation == 0] = 1
    turn = PCA(COMPONENTS, svd_solver="covariance_eigh").fit((held - mean) / deviation)
    people, release, reference = (turn.transform((item - mean) / deviation) for item in (people, release, reference))
    ratio = log_density(people, release) - log_density(people, reference)
    return {f"density ratio, {name}": ratio[:, at] for at, name in enumerate(BANDWIDTHS)}


def log_density(asked: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The logarithm of the kernel density of `table` at `asked`, up to a constant; a column for each bandwidth.

    log of the sum over y of exp(-(x - y)' S^-1 (x - y) / 2 h^2), S being the covariance of the table.
    """
    rows, width = table.shape
    root = np.linalg.inv(np.linalg.cholesky(np.atleast_2d(np.cov(table, rowvar=False)))).T
    scott = rows ** (-1 / (width + 4))
    return _log_sums(asked @ root / scott, np.ascontiguousarray((table @ root / scott).T))


@njit(parallel=True)
def _closest(numbers, codes, their_numbers, their_codes):
    """Gower's distance of each record to the closest of others; a pair is given up once it is farther than another."""
    columns = numbers.shape[1] + codes.shape[1]
    found = np.empty(len(numbers))
    for one in prange(len(numbers)):
        best = np.inf
        for other in range(len(their_numbers)):
            far = 0.0
            for column in range(codes.shape[1]):
                far += codes[one, column] != their_codes[other, column]
            if far >= best:
                continue
            for column in range(numbers.shape[1]):
                far += abs(numbers[one, column] - their_numbers[other, column])
            best = min(best, far)
        found[one] = best / columns
    return found


@njit(parallel=True)
def _log_sums(asked, table):
    """Log of the sums of exp(-d^2 / 2) and of exp(-4 d^2 / 2); the nearest is taken out, so that nothing vanishes.

    The table (components x records) is gone through in pieces; where one holds a nearer record, the sums are rescaled.
    """
    width, rows = table.shape
    found = np.empty((len(asked), 2))
    for one in prange(len(asked)):
        squares = np.empty(_PIECE)
        nearest, whole, half = np.inf, 0.0, 0.0
        for start in range(0, rows, _PIECE):
            size = min(_PIECE, rows - start)
            squares[:] = 0.0
            for at in range(width):
                value = asked[one, at]
                for other in range(size):
                    squares[other] += (value - table[at, start + other]) ** 2
            near = squares[:size].min()
            if near < nearest:
                shrunk = np.exp((near - nearest) / 2)
                whole, half, nearest = whole * shrunk, half * shrunk**4, near
            for other in range(size):
                beyond = squares[other] - nearest
                if beyond < _NOTHING:
                    kernel = np.exp(-beyond / 2)
                    whole += kernel
                    half += kernel * kernel * kernel * kernel
        found[one] = np.log(whole) - nearest / 2, np.log(half) - 2 * nearest
    return found
