"""What single columns do: their part in the similarity of records, and what the release did to each.

structural   Σ over the column's features f and components c of λ_c w_fc², as a share: the column's part in the space in
             which records are compared (paper, 8.10). It does not depend on the links.
link         the similarity of the links found, split over the columns: <z_x, z_y> = Σ_f u_x[f] (W z_y)[f] with u = v -
             mean, taken from both sides and halved, is a sum over features, so the split is exact. An agreement score
             is already a sum over the columns.

What was done to each column of a release, as far as the tables show it. With true matches the cells of a person before
and after are compared:

    kept          the same value
    generalized   a range, group or rounded value that contains the person's
    suppressed    no value where the person has one
    changed       another value

Changed values are `perturbed` if they still have to do with the person's, and `swapped or synthetic` if not. Without
true matches only ranges, groups and missing values can be seen in the release, and the rest cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.attack.embedding import linear
from cvpl.attack.people_draw import EACH_ROW
from cvpl.estimates import beyond_chance
from cvpl.operators.alignment import detect
from cvpl.operators.projection import LinearProjection, PcaSettings, components_of
from cvpl.operators.vectorization import FeatureSpace, Vectors
from cvpl.randomness import stream
from cvpl.result import ColumnTechnique
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Pair
from cvpl.tables.evaluation_only import TrueMatches
from cvpl.tables.meaning.labels import allowed_labels

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
    return {name: value / total for name, value in _sum_by_column(space, weight).items()} if total > 0 else {}


def structural_spread(attack: Attack, rng: np.random.Generator) -> dict[str, tuple[float, float]]:
    """The 2.5% and 97.5% bootstrap quantiles of each column's structural share.

    Up to 10,000 records per table are assigned at random to 50 groups, those of one cluster to the same group, and
    groups are resampled: their moments are summed once, so a replicate costs one small eigenvalue problem. Only for
    PCA, and up to 500 features.
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
    return {name: value / total for name, value in _sum_by_column(space, np.asarray(weight)).items()}


def _sum_by_column(space: FeatureSpace, weight: Floats) -> dict[str, float]:
    totals: dict[str, float] = {}
    for owner, value in zip(space.owners, weight, strict=True):
        totals[owner] = totals.get(owner, 0.0) + float(value)
    return totals


Bools = NDArray[np.bool_]

SAMPLE = 100_000
"""The most matches that are compared."""
SEEN = 0.01
"""A technique is named if it shows in at least this share of the values."""
UNRELATED = 0.05
"""Changed values whose relation to the person's is at most this, from 0 to 1, have nothing to do with them."""


def column_techniques(pair: Pair, matches: TrueMatches | None, seed: int) -> list[ColumnTechnique]:
    """The techniques of every compared column, in the order of the release; at most 100,000 matches are compared."""
    if matches is None or not len(matches.original):
        seen = detect(pair.original, pair.protected)
        return [
            technique_from_release(
                spec,
                pair.protected.columns[spec.name],
                spec.name in seen.grains,
                seen.suppressed.get(spec.name, 0.0),
            )
            for spec in pair.protected.specs
        ]
    rows = np.arange(len(matches.original))
    if len(rows) > SAMPLE:
        rows = np.sort(stream(seed, "techniques").permutation(len(rows))[:SAMPLE])
    before, after = pair.original.take(matches.original[rows]), pair.protected.take(matches.protected[rows])
    grains = detect(before, after).grains
    found = []
    for spec in pair.protected.specs:
        own, released = before.columns[spec.name], after.columns[spec.name]
        grain = grains.get(spec.name)
        found.append(_technique_from_matches(spec, own, released, None if grain is None else grain.apply(own)))
    return found


def technique_from_release(spec: ColumnSpec, released: ColumnData, coarser: bool, suppressed: float) -> ColumnTechnique:
    """What was done to a column, as far as the release alone shows it."""
    techniques: list[str] = []
    if coarser or released.generalized():
        techniques.append("generalized")
    if suppressed >= SEEN:
        techniques.append("suppressed")
    return ColumnTechnique(column=spec.name, role=spec.role, techniques=techniques, told=False)


def _technique_from_matches(
    spec: ColumnSpec, own: ColumnData, released: ColumnData, coarse: ColumnData | None
) -> ColumnTechnique:
    asked = own.known()
    compared = int(asked.sum())
    if not compared:
        return ColumnTechnique(column=spec.name, role=spec.role, techniques=[], told=False)
    there = asked & released.known()
    kept = there & own.equals(released)
    inside = range_contains(released, own, spec)
    if coarse is not None:
        inside |= coarse.equals(released)
    generalized = there & ~kept & inside
    changed = there & ~kept & ~generalized
    parts = {"kept": kept, "generalized": generalized, "suppressed": asked & ~there, "changed": changed}
    shares = {name: float(part.sum()) / compared for name, part in parts.items()}
    words: dict[str, float] = {
        **{name: share for name, share in shares.items() if name != "changed"},
        _technique_of_changed(own, released, there & ~generalized): shares["changed"],
    }
    seen = [name for name, share in sorted(words.items(), key=lambda item: -item[1]) if share >= SEEN]
    return ColumnTechnique(
        column=spec.name,
        role=spec.role,
        techniques=seen,
        told=True,
        compared=compared,
        kept=shares["kept"],
        generalized=shares["generalized"],
        suppressed=shares["suppressed"],
        changed=shares["changed"],
    )


def _technique_of_changed(own: ColumnData, released: ColumnData, among: Bools) -> str:
    """Whether values that are not generalized have to do with the person's."""
    rows = np.flatnonzero(among)
    related = relation(own.take(rows), released.take(rows)) if len(rows) > 1 else 1.0
    return "swapped or synthetic" if related <= UNRELATED else "perturbed"


def relation(own: ColumnData, released: ColumnData) -> float:
    """How much the released values have to do with the person's, from 0 to 1.

    For numbers and times the absolute correlation. For labels the share that agrees beyond chance, (a - c) / (1 - c),
    where c is the agreement of values that are drawn apart: the sum of the products of both shares of a label.
    """
    if own.ordered:
        first, second = own.ordinal(), released.ordinal()
        if first.std() == 0 or second.std() == 0:
            return 1.0
        return abs(float(np.corrcoef(first, second)[0, 1]))
    agree = float(own.equals(released).mean())
    chance = float(own.counts() @ released.counts()) / len(own.known()) ** 2
    return 1.0 if chance >= 1 else max(0.0, beyond_chance(agree, chance))


@singledispatch
def range_contains(released: ColumnData, own: ColumnData, spec: ColumnSpec) -> Bools:
    """Whether a released range holds the person's value; a single value holds none but itself."""
    (low, high), (first, last) = released.ends(), own.ends()
    inside: Bools = (low <= first) & (last <= high) & (low < high)
    return inside


@range_contains.register(Labels)
def label_contains(released: Labels, own: Labels, spec: ColumnSpec) -> Bools:
    """Whether a released group has the person's label as a member, or all of its members."""
    members = [frozenset(item) for item in allowed_labels(spec, released.labels).members]
    width = len(members) + 1
    pairs, places = np.unique((own.codes + 1).astype(np.int64) * width + released.codes + 1, return_inverse=True)
    codes = [(pair // width - 1, pair % width - 1) for pair in pairs.tolist()]
    holds = np.array([_holds(members, mine, theirs) for mine, theirs in codes], dtype=bool)
    return np.asarray(holds[places.reshape(-1)])


def _holds(members: Sequence[frozenset[int]], own: int, released: int) -> bool:
    return own >= 0 and released >= 0 and members[own] < members[released]
