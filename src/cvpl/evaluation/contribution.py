"""Contribution of each column to the similarity of records.

structural   Σ over the column's features f and components c of λ_c w_fc², as a share: the column's part in the space in
             which records are compared (paper, 8.10). It does not depend on the links.
link         the similarity of the links found, split over the columns: <z_x, z_y> = Σ_f u_x[f] (W z_y)[f] with u = v -
             mean, taken from both sides and halved, is a sum over features, so the split is exact. An agreement score
             is already a sum over the columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.attack.embedding import linear
from cvpl.attack.people_draw import EACH_ROW
from cvpl.operators.projection import LinearProjection, PcaSettings, components_of
from cvpl.operators.vectorization import FeatureSpace, Vectors

Floats = NDArray[np.float64]

STABILITY_REPLICATES = 50
STABILITY_GROUPS = 50
STABILITY_RECORDS = 10_000
STABILITY_FEATURES = 500
"""With more features, the fifty eigenvalue problems would take longer than the audit."""
MOST_LINKS = 10_000


def structural(space: FeatureSpace, loadings: Floats, variances: Floats) -> dict[str, float]:
    """Each column's share; empty if nothing varies."""
    weight = (loadings**2) @ variances
    total = float(weight.sum())
    return {name: value / total for name, value in _by_column(space, weight).items()} if total > 0 else {}


def structural_spread(attack: Attack, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """The 2.5% and 97.5% bootstrap quantiles of each column's structural share.

    Up to 10,000 records per table are assigned at random to 50 groups, those of one unit to the same group, and groups
    are resampled: their moments are summed once, so a replicate costs one small eigenvalue problem. Only for PCA,
    and up to 500 features.
    """
    representation = attack.representation
    settings = pca_settings(attack)
    if settings is None or not attack.attacker.projection_operator.uses_moments:
        return {}
    if representation.space.width > STABILITY_FEATURES:
        return {}
    space = representation.space
    centre = space.neutral
    sums = np.zeros(STABILITY_GROUPS)
    first = np.zeros((STABILITY_GROUPS, space.width))
    second = np.zeros((STABILITY_GROUPS, space.width, space.width))
    for name in attack.attacker.projection_operator.fitted_on:
        table = attack.original if name == "original" else attack.protected
        draw, among = EACH_ROW, np.arange(table.rows, dtype=np.int64)
        if name == "original":
            draw, among = attack.draw, attack.people
        rows, part = draw.dealt("original", among, STABILITY_RECORDS, STABILITY_GROUPS, rng)
        vectors = space.of(table.take(rows))
        for group in range(STABILITY_GROUPS):
            members = np.flatnonzero(part == group)
            if len(members):
                # So few records are faster as a matrix than by the counts of their labels.
                own = vectors.take(members).dense() - centre
                sums[group] += len(members)
                first[group] += own.sum(axis=0)
                second[group] += own.T @ own
    shares: dict[str, list[float]] = {}
    drawn = rng.multinomial(
        STABILITY_GROUPS, np.full(STABILITY_GROUPS, 1 / STABILITY_GROUPS), size=STABILITY_REPLICATES
    )
    flat = second.reshape(STABILITY_GROUPS, -1)
    for weights in drawn.astype(np.float64):
        total = float(weights @ sums)
        if total <= 0:
            continue
        mean = weights @ first / total
        covariance = (weights @ flat / total).reshape(space.width, space.width) - np.outer(mean, mean)
        loadings, variances, _ = components_of(settings, covariance)
        for column, value in structural(space, loadings, variances).items():
            shares.setdefault(column, []).append(value)
    return {name: (float(np.quantile(v, 0.025)), float(np.quantile(v, 0.975))) for name, v in shares.items()}


def pca_settings(attack: Attack) -> PcaSettings | None:
    """The attack's PCA settings; None under another projection."""
    return attack.attacker.projection_operator.principal if attack.attacker.projects else None


def link(attack: Attack, linked: NDArray[np.int64], rng: np.random.Generator) -> dict[str, float] | None:
    """Each column's share of the summed similarity of the links found for the originals `linked`.

    None unless the score is a sum over columns (a cosine after a linear projection, or agreement), and if there are no
    links. Of more than 10,000 links, a seeded sample is split.
    """
    linked = linked[attack.found.row[linked] >= 0]
    if len(linked) > MOST_LINKS:
        linked = np.sort(rng.choice(linked, MOST_LINKS, replace=False))
    there = attack.found.row[linked]
    agreement = attack.scorer.agreement
    if agreement is not None:
        names = attack.attacker.vectorization.compared(attack.original)
        parts = {name: float(agreement.added_by(name, linked, there).sum()) for name in names}
        total = sum(parts.values())
        return {name: part / total for name, part in parts.items()} if total > 0 else None
    projection = linear(attack.representation.projection)
    if projection is None or not attack.attacker.similarity_operator.unit:
        return None
    return split_links(attack, projection, linked, there)


def split_links(
    attack: Attack, projection: LinearProjection, original: NDArray[np.int64], protected: NDArray[np.int64]
) -> dict[str, float] | None:
    """The exact split for the pairs (original[i], protected[i])."""
    space = attack.representation.space
    sides: tuple[Vectors, Vectors] = (
        space.of(attack.original.take(original)),
        space.of(attack.protected.take(protected)),
    )
    embedded = [projection(side) for side in sides]
    norms = [np.sqrt((side**2).sum(axis=1)) for side in embedded]
    product = norms[0] * norms[1]
    units = [
        np.divide(side, product[:, None], out=np.zeros_like(side), where=product[:, None] > 0) for side in embedded
    ]
    total = float((units[0] * embedded[1]).sum())
    if not total:
        return None
    offsets = [side.dense() - projection.centre for side in sides]
    weight = sum(0.5 * (offsets[side] * (units[1 - side] @ projection.loadings.T)).sum(axis=0) for side in (0, 1))
    return {name: value / total for name, value in _by_column(space, np.asarray(weight)).items()}


def _by_column(space: FeatureSpace, weight: Floats) -> dict[str, float]:
    totals: dict[str, float] = {}
    for owner, value in zip(space.owners, weight, strict=True):
        totals[owner] = totals.get(owner, 0.0) + float(value)
    return totals
