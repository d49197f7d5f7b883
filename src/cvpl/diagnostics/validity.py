"""Representation validity: whether a low rate means protection or only a representation that sees nothing.

A dead representation cannot tell people apart even in a lightly perturbed copy of their own table; under a shifted one
the two tables lie apart, so that no original finds its like whatever the release gives away. In both cases the result
is "not assessable", never "low".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack import Attack
from cvpl.diagnostics.self_linkage import SelfLinkage
from cvpl.representation import linear

Floats = NDArray[np.float64]

DEAD_TOP1 = 0.10
"""A perturbed copy must be found again for more than this share of the distinct records, ..."""
DEAD_ZERO = 0.50
"""... and at most this share of the vectors of either table may be zero."""
ALONE = 0.50
"""At most this share of the originals may share a block with nobody."""
SHIFTED = 0.6
"""Distance of the tables' mean embeddings in units of their pooled spread from which they count as shifted."""
_SAMPLE = 20_000


@dataclass(frozen=True)
class Validity:
    """The measures, and the reasons, if any, why the figures cannot be read as risk.

    `duplicate_share` is the share of originals whose vector another original has too; `shift` the distance of the mean
    embeddings over the root of the pooled total variance; `covariance_distance` the Frobenius distance of the two
    feature covariances over the norm of the original's; `correlation_preservation` the correlation of their
    off-diagonal correlations, a utility cross-check.
    """

    explained_variance: float | None
    perturbed_top1: float | None
    attainable_top1: float
    zero_share_original: float
    zero_share_protected: float
    duplicate_share: float
    shift: float | None
    covariance_distance: float | None
    correlation_preservation: float | None
    reasons: tuple[str, ...]

    @property
    def assessable(self) -> bool:
        """Whether nothing speaks against reading the figures as risk."""
        return not self.reasons


def validity(attack: Attack, perturbed: SelfLinkage | None, rng: np.random.Generator) -> Validity:
    """Measure the representation of an attack."""
    representation = attack.representation
    projection = linear(representation.projection)
    if attack.attacker.on_scale:
        a, b = representation.embed(attack.original), representation.embed(attack.protected)
        distinct, duplicates = _distinct(a)
        zeros = _zero_share(a), _zero_share(b)
        shift = _shift(a, b) if attack.attacker.projects else None
    else:
        distinct, duplicates, zeros, shift = 1.0, 0.0, (0.0, 0.0), None
    distance, correlation = _covariances(attack, rng)
    top1 = None if perturbed is None else perturbed.top1_hit_rate
    reasons = []
    alone = float(np.mean(attack.found.candidates == 0))
    if alone > ALONE:
        reasons.append(f"blocking leaves {alone:.0%} of the originals without a single candidate")
    if max(zeros) > DEAD_ZERO:
        reasons.append("the representation is dead: most vectors are zero")
    elif top1 is not None and top1 <= DEAD_TOP1 * distinct:
        reasons.append(
            "the representation is dead: it does not find people again in a lightly perturbed copy of their table"
        )
    if shift is not None and shift >= SHIFTED:
        reasons.append("the representation is shifted: the two tables lie apart, so that nobody can find their like")
    return Validity(
        explained_variance=None if projection is None else projection.explained_variance,
        perturbed_top1=top1,
        attainable_top1=distinct,
        zero_share_original=zeros[0],
        zero_share_protected=zeros[1],
        duplicate_share=duplicates,
        shift=shift,
        covariance_distance=distance,
        correlation_preservation=correlation,
        reasons=tuple(reasons),
    )


def _distinct(embedded: Floats) -> tuple[float, float]:
    """Distinct vectors / n, the highest top-1 that fair ties allow, and the share of records with a double."""
    if not embedded.shape[1]:
        return 1 / len(embedded), float(len(embedded) > 1)
    rounded = np.ascontiguousarray(np.round(embedded, 9) + 0.0)
    rows = rounded.view(np.dtype((np.void, rounded.dtype.itemsize * rounded.shape[1]))).ravel()
    _, counts = np.unique(rows, return_counts=True)
    return len(counts) / len(rows), float(counts[counts > 1].sum() / len(rows))


def _zero_share(embedded: Floats) -> float:
    norms = np.sqrt((embedded**2).sum(axis=1))
    return float(np.mean(norms <= 1e-9 * max(np.sqrt((norms**2).mean()), 1e-300)))


def _shift(a: Floats, b: Floats) -> float | None:
    variance = (a.var(axis=0).sum() * len(a) + b.var(axis=0).sum() * len(b)) / (len(a) + len(b))
    gap = float(np.sqrt(((a.mean(axis=0) - b.mean(axis=0)) ** 2).sum()))
    if variance <= 0:
        return None if gap == 0 else float("inf")
    return gap / float(np.sqrt(variance))


def _covariances(attack: Attack, rng: np.random.Generator) -> tuple[float | None, float | None]:
    """Frobenius distance and correlation of the two tables' feature covariances, on up to 20,000 records each."""
    space = attack.representation.space
    if not space.width:
        return None, None
    found = []
    for table in (attack.original, attack.protected):
        some = table if table.rows <= _SAMPLE else table.take(rng.choice(table.rows, _SAMPLE, replace=False))
        total, first, second = space(some).moments(space.neutral)
        mean = first / total
        found.append(second / total - np.outer(mean, mean))
    norm = float(np.linalg.norm(found[0]))
    distance = float(np.linalg.norm(found[1] - found[0])) / norm if norm > 0 else None
    off = np.triu_indices(space.width, 1)
    correlations = [_correlation(covariance)[off] for covariance in found]
    both = np.isfinite(correlations[0]) & np.isfinite(correlations[1])
    left, right = (values[both] for values in correlations)
    if len(left) < 2 or left.std() == 0 or right.std() == 0:
        return distance, None
    return distance, float(np.corrcoef(left, right)[0, 1])


def _correlation(covariance: Floats) -> Floats:
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    deviation = np.where(deviation > 1e-12, deviation, np.nan)
    return np.asarray(covariance / np.outer(deviation, deviation))
