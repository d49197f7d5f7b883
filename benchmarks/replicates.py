"""The bootstrap, for comparison: clusters drawn with replacement, and the percentile ends over the replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_UNITS = 2_000
"""More clusters than this are first thrown at random into so many: the variance stays, the cost does not grow."""


@dataclass(frozen=True, eq=False)
class Replicates:
    """Bootstrap weights: `weights[r, u]` is how often cluster u is drawn in replicate r; `cluster`: that of each."""

    weights: Floats
    cluster: Ints

    @classmethod
    def draw(cls, cluster: Ints | None, records: int, replicates: int, rng: np.random.Generator) -> Replicates:
        """Weights for so many records in the given clusters; None draws records."""
        codes = np.arange(records) if cluster is None else np.unique(cluster, return_inverse=True)[1].reshape(-1)
        count = int(codes.max(initial=0)) + 1
        if count > MOST_UNITS:
            codes, count = rng.permutation(count)[codes] % MOST_UNITS, MOST_UNITS
        drawn = rng.integers(count, size=(replicates, count)) + count * np.arange(replicates)[:, None]
        weights = np.bincount(drawn.reshape(-1), minlength=replicates * count).reshape(replicates, count)
        return cls(weights.astype(np.float64), codes.astype(np.int64))

    def rates(self, scores: Floats, thresholds: Floats, records: slice | None = None) -> Floats:
        """The linkage rate at every threshold in every replicate (replicates x thresholds); NaN where nobody is drawn.

        `records` are the places of these scores among the records for which the weights were drawn.
        """
        cluster = self.cluster if records is None else self.cluster[records]
        clusters, bins = self.weights.shape[1], len(thresholds) + 1
        passed = np.searchsorted(thresholds, scores, side="right")
        counts = np.bincount(cluster * bins + passed, minlength=clusters * bins).reshape(clusters, bins)
        at_least = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1].astype(np.float64)
        drawn = self.weights @ at_least
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Floats = drawn[:, 1:] / drawn[:, :1]
        return result


def percentile_ends(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The ends over the replicates, column by column; replicates in which the figure is undefined are left out."""
    tail = (1 - confidence) / 2
    kept = np.where(np.isfinite(values), values, np.nan)
    return np.nanquantile(kept, tail, axis=0), np.nanquantile(kept, 1 - tail, axis=0)


def powers(drawn: Replicates, originals: Floats, controls: Floats, alpha: float) -> Floats:
    """The power in every replicate, each record counted as often as it was drawn."""
    scores = np.concatenate([originals, controls])
    sums = [
        drawn.weights @ np.bincount(part, minlength=drawn.weights.shape[1]).astype(float)
        for part in (drawn.cluster[len(originals) :], drawn.cluster[: len(originals)])
    ]
    order = np.argsort(-scores, kind="stable")
    is_control = order >= len(originals)
    # Beyond eight times the false rate no replicate looks.
    far = int(np.searchsorted(np.cumsum(is_control), 8 * alpha * len(controls))) + 1
    last = np.append(np.flatnonzero(scores[order][1:] != scores[order][:-1]), len(scores) - 1)
    last = last[: int(np.searchsorted(last, far)) + 1]
    order, is_control = order[: last[-1] + 1], is_control[: last[-1] + 1]
    weight = drawn.weights[:, drawn.cluster[order]]
    false, true = (
        np.cumsum(weight * side, axis=1)[:, last] / np.maximum(total, 1)[:, None]
        for side, total in ((is_control, sums[0]), (~is_control, sums[1]))
    )
    start = np.zeros((len(weight), 1))
    false, true = np.hstack([start, false]), np.hstack([start, true])
    before = (false <= alpha).sum(axis=1) - 1
    after = np.minimum(before + 1, false.shape[1] - 1)
    at = np.arange(len(weight))
    step = false[at, after] - false[at, before]
    share = np.divide(alpha - false[at, before], step, out=np.zeros(len(at)), where=step > 0)
    return true[at, before] + share * (true[at, after] - true[at, before])
