"""What a search finds, against scoring every pair; and unit vectors of different kinds of tables."""

from __future__ import annotations

import numpy as np

from cvpl.operators.similarity import CosineMeasure
from cvpl.search.best import TIE

FIGURES = ("best", "row", "second", "second_row", "candidates", "ties")


def every_pair(scorer, partition, left_out=None):
    """The slow, obvious search."""
    out = {name: [] for name in FIGURES}
    skipped = set() if left_out is None else set(zip(left_out.query.tolist(), left_out.candidate.tolist(), strict=True))
    for query in range(scorer.queries):
        rows = np.flatnonzero(partition.candidates == partition.queries[query])
        rows = np.array([row for row in rows if (query, int(row)) not in skipped], dtype=np.int64)
        scores = scorer.pairs(np.full(len(rows), query), rows)
        order = np.lexsort((rows, -scores))
        out["best"].append(scores[order[0]] if len(rows) else -np.inf)
        out["row"].append(rows[order[0]] if len(rows) else -1)
        out["second"].append(scores[order[1]] if len(rows) > 1 else -np.inf)
        out["second_row"].append(rows[order[1]] if len(rows) > 1 else -1)
        out["candidates"].append(len(rows))
        out["ties"].append(int((scores >= scores[order[0]] - TIE).sum()) if len(rows) else 0)
    return out


def assert_same(found, wanted):
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(found, name), wanted[name], err_msg=name)


def units(rng, count, width, shape):
    """Unit vectors of different kinds of tables."""
    spread = np.linspace(1.0, 0.1, width)
    vectors = rng.normal(size=(count, width)) * spread
    if shape == "clustered":
        vectors = rng.normal(size=(12, width))[rng.integers(12, size=count)] + 0.05 * vectors
    elif shape == "few values":
        vectors = np.round(vectors * 1.5)
    elif shape == "flat":
        vectors[:, width // 2 :] *= 1e-4
    elif shape == "copies":
        vectors = vectors[rng.integers(max(1, count // 9), size=count)]
    elif shape == "nearly tied":
        vectors = vectors[rng.integers(max(1, count // 5), size=count)] + rng.normal(size=(count, width)) * 3e-7
    scorer = CosineMeasure(1e-9).scorer(vectors, vectors[:0])
    return scorer.a


SHAPES = ("spread", "clustered", "few values", "flat", "copies", "nearly tied")
