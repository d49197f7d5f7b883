"""What was done to each column of a release, as far as the tables show it.

With true matches the cells of a person before and after are compared:

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

from cvpl.estimates import beyond_chance
from cvpl.operators.alignment import detect
from cvpl.randomness import stream
from cvpl.result import ColumnTechnique
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Pair
from cvpl.tables.evaluation_only import TrueMatches
from cvpl.tables.meaning.labels import allowed_labels

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
        found.append(_from_matches(spec, own, released, None if grain is None else grain.apply(own)))
    return found


def technique_from_release(spec: ColumnSpec, released: ColumnData, coarser: bool, suppressed: float) -> ColumnTechnique:
    """What was done to a column, as far as the release alone shows it."""
    techniques: list[str] = []
    if coarser or released.generalized():
        techniques.append("generalized")
    if suppressed >= SEEN:
        techniques.append("suppressed")
    return ColumnTechnique(column=spec.name, role=spec.role, techniques=techniques, told=False)


def _from_matches(
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
        _of_changed(own, released, there & ~generalized): shares["changed"],
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


def _of_changed(own: ColumnData, released: ColumnData, among: Bools) -> str:
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
