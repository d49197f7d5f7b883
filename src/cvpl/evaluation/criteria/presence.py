"""δ-presence: how sure an attacker who has the whole population can be that a person is in the release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cvpl.evaluation.criteria.classes import Codes, combined_codes


def presence(people: Sequence[Codes], others: Sequence[Codes]) -> tuple[float, float] | None:
    """(δ_min, δ_max): the least and the largest share of a class who are in the release (Nergiz et al., 2007).

        δ(class) = people of the class / (people and others of the class)

    `people` are the columns of those who are in the release, `others` those of the rest of the population, at the
    granularity of the release. The least is over all classes of the population, so it is 0 if a class has only others.
    None without people.
    """
    mine, rest = (len(columns[0]) if columns else 0 for columns in (people, others))
    if not mine:
        return None
    both = [np.concatenate([one, other]) for one, other in zip(people, others, strict=True)]
    keys = combined_codes(both, mine + rest)
    inside = np.bincount(keys[:mine], minlength=int(keys.max()) + 1)
    share = inside / np.bincount(keys)
    return float(share.min()), float(share.max())
