"""Released records on the line between two people: SMOTE, averages of two, points between neighbours.

If y = x + t (x' - x) with 0 < t < 1, then y lies on the line from x to x'. For a person x, the nearest released records
y and, for each of these, the people x' nearest to y are tried; the evidence is

    -log of the least sine of the angle between y - x and x' - x

over all y and x' with y between them. In small tables more records are tried, each with all people as x'. People are
originals and controls alike, and the same number of lines is tried for each of them. So in a release that has nothing
to do with the originals, both find such lines by chance equally often.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.embedding import Embedding
from cvpl.operators.vectorization.features import NumberFeature
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RECORDS = 15
"""The number of released records near a person that are tried."""
PARTNERS = 15
"""The number of people near each of these records that are tried."""
FEWEST_FEATURES = 2
"""In fewer ordered features every record lies between two people."""
MOST_LINES = 120_000_000
"""With so many lines, every person is tried as the other end, for as many of the nearest records as that allows."""
FEWEST_RECORDS = 5
EXACT = 1e-5
"""Smaller sines are rounding."""
_CHUNK = 256
_LARGEST = 8
_INDEXED_FEATURES = 12
"""In more features an index of vectors takes longer than all distances."""


def ordered_features(embedding: Embedding, table: Table) -> Floats:
    """The scaled numbers and times of a table's records."""
    parts = [part for part in embedding.space.parts if isinstance(part, NumberFeature)]
    columns = [part.values(table.columns[part.spec.name]) for part in parts]
    return np.column_stack(columns) if columns else np.zeros((table.rows, 0))


def betweenness(people: Floats, released: Floats, *, sampled: bool = False) -> Floats:
    """The evidence of all people, originals and controls; 0 with fewer than two features.

    If the people are but a sample, no more records are tried than in tables of many people.
    """
    result = np.zeros(len(people))
    if people.shape[1] < FEWEST_FEATURES or not len(released) or len(people) <= 1:
        return result
    affordable = MOST_LINES // len(people) ** 2
    if sampled:
        affordable = min(affordable, RECORDS)
    if affordable >= FEWEST_RECORDS:
        records, columns = _nearest_rows(people, released, affordable), np.ascontiguousarray(people.T)
        for person, near in enumerate(records):
            result[person] = _along_all(columns, person, released[near])
        return result
    records = _nearest_rows(people, released, RECORDS)
    used = np.unique(records)
    partners = np.full((len(released), min(PARTNERS, len(people))), -1, dtype=np.int64)
    partners[used] = _nearest_rows(released[used], people, PARTNERS)
    for start in range(0, len(people), _CHUNK):
        own = np.arange(start, min(start + _CHUNK, len(people)))
        result[own] = _along_some(people, own, released, records[own], partners)
    return result


def _along_all(columns: Floats, person: int, records: Floats) -> float:
    """The evidence of one person, with every other person as the other end; people are columns."""
    own = columns[:, person]
    to_record, to_other = records - own, columns - own[:, None]
    near, far = np.sqrt((to_record**2).sum(axis=1)), np.sqrt((to_other**2).sum(axis=0))
    there = near > 0
    if not there.any():
        return 0.0
    near = near[there]
    far[far == 0] = np.inf  # nobody lies between equal people: every cosine is 0
    to_other /= far
    cosine = (to_record[there] / near[:, None]) @ to_other
    best = min(_best_between(cosine, near, far * (1 - EXACT)), 1.0)
    return -float(np.log(max(np.sqrt(max(1 - best**2, 0.0)), EXACT))) if best > 0 else 0.0


def _best_between(cosine: Floats, near: Floats, end: Floats) -> float:
    """The largest cosine of a record (row) that lies before the other person (column); 0 if none does.

    The largest of all usually does, so a few of them are tried before every pair is.
    """
    for _ in range(_LARGEST):
        row, column = divmod(int(cosine.argmax()), cosine.shape[1])
        best = float(cosine[row, column])
        if best <= 0 or best * near[row] < end[column]:
            return best
        cosine[row, column] = 0.0
    cosine[cosine * near[:, None] >= end] = 0.0
    return float(cosine.max())


def _along_some(people: Floats, own: Ints, released: Floats, records: Ints, partners: Ints) -> Floats:
    mine = people[own]
    to_record = released[records] - mine[:, None, :]
    others = partners[records]
    to_other = people[others] - mine[:, None, None, :]
    length = np.sqrt((to_record**2).sum(axis=2))[:, :, None] * np.sqrt((to_other**2).sum(axis=3))
    inner = np.einsum("qrd,qrpd->qrp", to_record, to_other)
    share = inner / np.maximum((to_other**2).sum(axis=3), 1e-300)
    between = (share > EXACT) & (share < 1 - EXACT) & (length > 0) & (others != own[:, None, None])
    cosine = np.where(between, inner / np.where(length > 0, length, 1.0), 0.0)
    sine = np.sqrt(np.maximum(1 - np.clip(cosine, -1, 1) ** 2, 0.0))
    return np.asarray(-np.log(np.maximum(np.where(between, sine, 1.0).min(axis=(1, 2)), EXACT)))


def _nearest_rows(queries: Floats, among: Floats, most: int) -> Ints:
    """The rows of the nearest vectors of each query."""
    count = min(most, len(among))
    if among.shape[1] <= _INDEXED_FEATURES and count <= RECORDS:
        from scipy.spatial import KDTree  # noqa: PLC0415 - loading it takes a while

        return np.asarray(KDTree(among).query(queries, count)[1], dtype=np.int64).reshape(len(queries), count)
    found = np.empty((len(queries), count), dtype=np.int64)
    squares = (among**2).sum(axis=1)
    for start in range(0, len(queries), _CHUNK):
        part = queries[start : start + _CHUNK]
        apart = squares - 2 * part @ among.T
        found[start : start + _CHUNK] = np.argpartition(apart, count - 1, axis=1)[:, :count]
    return found
