"""The baseline of a model that never saw the release: trained on controls alone, and cross-fitted on them.

The controls are split into two halves, by units. A model is trained on each half. A control is predicted by the model
of the other half, an original by one of the two at random, so that both are predicted from equally many people.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.attackers import BothBeliefs
from cvpl.evaluation.inference.beliefs import Beliefs
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute
from cvpl.randomness import stream
from cvpl.tables.columns import Table

Ints = NDArray[np.int64]
FEWEST = 40
"""The fewest controls with a secret; half of them train a model."""


def control_model(
    secret: SensitiveAttribute,
    names: Sequence[str],
    original: Table,
    control: Table,
    asked: Ints,
    units: Ints | None,
    *,
    seed: int,
    workers: int,
) -> BothBeliefs | None:
    """The beliefs of the table `original`, and of the rows `asked` of the whole control; None with fewer than 40.

    `units` are those of all controls, None if each person is one. At most 100,000 controls train a model.
    """
    assert secret.control is not None  # noqa: S101 - there is a control
    codes = models.truth_codes(secret, secret.control)
    known = codes >= 0
    if int(known.sum()) < FEWEST:
        return None
    rng = stream(seed, f"control model {secret.name}")
    unit = np.arange(control.rows) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    fold = rng.integers(0, 2, int(unit.max(initial=0)) + 1)[unit]
    mine = rng.integers(0, 2, original.rows)
    features = models.Features.of(control, names)
    people, others = features(original), features(control)
    parts: list[tuple[Beliefs, Beliefs]] = []
    for half in (0, 1):
        rows = np.flatnonzero(known & (fold != half))
        if len(rows) > models.MOST_ROWS:
            rows = np.sort(rng.permutation(rows)[: models.MOST_ROWS])
        number = int(rng.integers(1 << 31))
        found = models.train(
            "boosted_trees",
            others[rows],
            codes[rows],
            secret,
            categorical=features.categorical,
            seed=number,
            workers=workers,
        )
        if found is None:
            return None
        parts.append((found.beliefs(people), found.beliefs(others[asked])))
    return BothBeliefs(
        beliefs_by_half(parts[0][0], parts[1][0], mine), beliefs_by_half(parts[0][1], parts[1][1], fold[asked])
    )


def beliefs_by_half(first: Beliefs, second: Beliefs, half: Ints) -> Beliefs:
    """The rows of the first beliefs for half 0, of the second for half 1."""
    from scipy.sparse import diags  # noqa: PLC0415 - loaded when secrets are inferred

    one = (half == 0).astype(np.float64)
    return (diags(one) @ first + diags(1 - one) @ second).tocsr()
