"""How often a match agrees on each column, estimated from some of the originals and the whole release."""

from __future__ import annotations

import numpy as np

from cvpl.operators.similarity import AgreementMeasure
from cvpl.operators.similarity.match_agreement import MatchAgreement, asked_originals, estimate_m
from cvpl.search.threads import threads
from cvpl.tables.columns import Table

UNKNOWN = 0.5
"""The chance that a record agrees where a value is missing; it is not used."""


def find_match_agreement(
    measure: AgreementMeasure, original: Table, protected: Table, rng: np.random.Generator, workers: int = 1
) -> MatchAgreement:
    """The m of every column that is compared by value; none if the pairs do not allow an estimate."""
    size = asked_originals(original.rows, protected.rows)
    some = original if size == original.rows else original.take(np.sort(rng.choice(original.rows, size, replace=False)))
    compared = [measure.compared(name, some, protected) for name in measure.columns]
    if not compared:
        return MatchAgreement({}, {})
    within = {}
    for place, (column, _) in enumerate(compared[:]):
        if (equal := measure.compared_equal(column, some, protected)) is not None:
            within[len(compared)] = place
            compared.append(equal)
    chances = np.full((some.rows, len(compared)), UNKNOWN)
    for place, (column, shares) in enumerate(compared):
        has = column.queries >= 0  # none may have: a column can be empty but for a few people who are not in the sample
        chances[has, place] = measure.u[column.name] if shares is None else shares[column.queries[has]]
    with threads(workers) as pool:
        each = map if workers == 1 else pool.map
        found = estimate_m([column for column, _ in compared], chances, within, each=each)
    if found is None:
        return MatchAgreement({}, {})
    values = [(column.name, m) for (column, _), m in zip(compared, found.tolist(), strict=True)]
    return MatchAgreement(dict(values[: len(measure.columns)]), dict(values[len(measure.columns) :]))
