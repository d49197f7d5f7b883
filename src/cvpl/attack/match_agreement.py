"""How often a match agrees on each column, estimated from some of the originals and the whole release."""

from __future__ import annotations

import numpy as np

from cvpl.operators.similarity import AgreementMeasure
from cvpl.operators.similarity.match_agreement import asked_originals, estimate_m
from cvpl.tables.columns import Table


def find_match_agreement(
    measure: AgreementMeasure, original: Table, protected: Table, rng: np.random.Generator
) -> dict[str, float]:
    """The m of every column that is compared by value; empty if the pairs do not allow an estimate."""
    size = asked_originals(original.rows, protected.rows)
    some = original if size == original.rows else original.take(np.sort(rng.choice(original.rows, size, replace=False)))
    compared = [measure.compared(name, some, protected) for name in measure.columns]
    if not compared:
        return {}
    chances = np.empty((some.rows, len(compared)))
    for place, (name, (column, shares)) in enumerate(zip(measure.columns, compared, strict=True)):
        chances[:, place] = measure.u[name] if shares is None else shares[np.maximum(column.queries, 0)]
    found = estimate_m([column for column, _ in compared], chances)
    return {} if found is None else dict(zip(measure.columns, found.tolist(), strict=True))
