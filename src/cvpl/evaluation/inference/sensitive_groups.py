"""Released values of a secret that are groups, such as {A, B} or North/*: how their weight is shared among the members.

    count(v)      = released records with exactly v + sum over groups g that name v of   records with g / members of g
    share(v in g) = count(v) / sum of the counts of the members of g

An attacker who reads {A, B} knows that the secret is A or B, and how common both are. A member that no record has
exactly still has a share, because the records of its groups are split among their members first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.labels import covers

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Groups = Mapping[int, tuple[int, ...]]
"""The members of each group, by their codes."""

PAIRS = 10_000_000
"""With more pairs of a released label that nobody has and another label, labels are not read as groups."""


def group_members(spec: ColumnSpec, labels: Sequence[str], own: Flags, released: Flags) -> Groups:
    """The members of each released label that covers others; `own` are labels that some person has.

    A label that somebody has, or that covers no value, is a value of its own.
    """
    if int((released & ~own).sum()) * len(labels) > PAIRS:
        return {}
    values = np.ones(len(labels), dtype=np.bool_)
    values[[cover.code for cover in covers(spec, labels, own, released)]] = False
    values |= own
    found: dict[int, set[int]] = {}
    for cover in covers(spec, labels, own, released, values):
        members = {code for code in cover.members if values[code]}
        if members and not own[cover.code]:
            found.setdefault(cover.code, set()).update(members)
    return {code: tuple(sorted(members)) for code, members in sorted(found.items())}


def member_shares(groups: Groups, counts: Floats) -> dict[int, Floats]:
    """The share of each member in each group; `counts` are the released records of every label."""
    whole = counts.astype(np.float64).copy()
    whole[list(groups)] = 0.0
    for code, members in groups.items():
        whole[list(members)] += counts[code] / len(members)
    return {code: whole[list(members)] / whole[list(members)].sum() for code, members in groups.items()}
