"""What released labels stand for, as far as their spelling shows it: codes that were cut, masks, sets and ranges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.label_covers import covers
from cvpl.tables.proposal.facts import SharedColumn

SHORTEST_CODE = 3
"""Numbers with fewer digits are not taken for codes that the release cut."""
CUT_SHARE = 0.95
"""Codes were cut if at least this share of the released cells begin an original code."""


@dataclass(frozen=True)
class ReadGroups:
    """The released labels that stand for original ones by their spelling, and the kinds of these spellings."""

    labels: frozenset[str]
    kinds: tuple[str, ...]


def read_groups(column: SharedColumn, separator: str | None = None) -> ReadGroups:
    """The released labels that cover labels of the original, read as an attack reads them."""
    own, released = set(column.original.labels), set(column.released.labels)
    labels = sorted(own | released)
    here, there = (np.array([label in side for label in labels], dtype=bool) for side in (own, released))
    spec = ColumnSpec(column.name, "attribute", "category", separator)
    found = [
        cover
        for cover in covers(spec, labels, here, there)
        if labels[cover.code] not in own and any(here[member] for member in cover.members)
    ]
    return ReadGroups(
        frozenset(labels[cover.code] for cover in found), tuple(dict.fromkeys(cover.kind for cover in found))
    )


def cut_length(column: SharedColumn, released: Sequence[str]) -> int | None:
    """To how many digits the release cut the original's codes; None if it did not.

    All original numbers have the same number of digits, at least three, and all released ones the same smaller number.
    """
    whole, cut = (_one_length(labels) for labels in (column.original.labels, released))
    if whole is None or cut is None or whole < SHORTEST_CODE or cut >= whole:
        return None
    beginnings = {label[:cut] for label in column.original.labels}
    cells = column.released.count(released)
    known = column.released.count([label for label in released if label in beginnings])
    return cut if cells and known >= CUT_SHARE * cells else None


def _one_length(labels: Collection[str]) -> int | None:
    """The length of all labels, if they have one length and only digits."""
    lengths = {len(label) for label in labels}
    return lengths.pop() if len(lengths) == 1 and all(label.isdecimal() for label in labels) else None


def nested_pairs(column: SharedColumn) -> float | None:
    """The share of known pairs of rows that nest: the released label is the one that the original's has most often.

    Only released labels that the original lacks count. None without such a pair, if there are not fewer of them than of
    their original labels, and if fewer than `CUT_SHARE` of the pairs nest: the column was not grouped label by label.
    """
    own = set(column.original.labels)
    foreign = np.array([*(label not in own for label in column.released.labels), False])
    ours, theirs = column.original.codes, column.released.codes
    used = (ours >= 0) & foreign[theirs]
    if not used.any():
        return None
    counts = np.zeros((len(column.original.labels), len(column.released.labels)), dtype=np.int64)
    np.add.at(counts, (ours[used], theirs[used]), 1)
    labels, groups = (int((counts.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    share = float(counts.max(axis=1).sum() / counts.sum())
    return share if labels > groups and share >= CUT_SHARE else None
