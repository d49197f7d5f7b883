"""Random scorers by agreement."""

from __future__ import annotations

import numpy as np

from cvpl.operators.similarity import AgreementScorer
from cvpl.operators.similarity.agreement import AgreementWeights


def coded(rng, queries, candidates, columns, *, differ, missing, wide, copies):
    """A random scorer: skewed values, gaps, ranges of codes that agree, and copies among the candidates."""
    a, b, tables = [], [], []
    for column in range(columns):
        size = int(rng.choice([2, 5, 30, 400]))
        weights = 1 / np.arange(1, size + 1)
        sides = [
            np.where(rng.random(n) < missing, -1, rng.choice(size, n, p=weights / weights.sum()))
            for n in (queries, candidates)
        ]
        a.append(sides[0])
        b.append(sides[1])
        first = np.arange(size) - (rng.integers(3, size=size) if wide and column % 2 else 0)
        last = np.arange(size) + (rng.integers(3, size=size) if wide and column % 2 else 0)
        tables.append((np.maximum(first, 0), np.minimum(last, size - 1), rng.exponential(3, size)))
    start = np.concatenate([[0], np.cumsum([len(table[0]) for table in tables])]).astype(np.int64)
    parts = [np.concatenate([table[at] for table in tables]) for at in range(3)]
    worth = AgreementWeights(
        start,
        parts[0].astype(np.int32),
        parts[1].astype(np.int32),
        parts[2].astype(float),
        -rng.exponential(1, columns) if differ else np.zeros(columns),
    )
    a, b = (np.column_stack(side).astype(np.int32) for side in (a, b))
    return AgreementScorer(a, b[rng.integers(len(b) // 8, size=len(b))] if copies else b, worth)
