"""Uniques, minimal sample uniques, SUDA2 scores and predicates in plain loops over rows."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import prod


def picked(row, columns):
    """The values of a row in some columns."""
    return tuple(row[at] for at in columns)


def uniques(original, released, columns):
    """How many rows are unique in the originals, in the release, and in both by the same values."""
    mine = Counter(picked(row, columns) for row in original)
    theirs = Counter(picked(row, columns) for row in released)
    return (
        sum(count == 1 for count in mine.values()),
        sum(count == 1 for count in theirs.values()),
        sum(count == 1 and theirs[value] == 1 for value, count in mine.items()),
    )


def minimal_sets(rows, at, columns, most=3):
    """The sets of up to `most` columns by which row `at` is unique, while it is not by any part of them."""
    found = []
    for size in range(1, most + 1):
        for chosen in combinations(columns, size):
            mine = picked(rows[at], chosen)
            alone = sum(picked(row, chosen) == mine for row in rows) == 1
            if alone and not any(set(part) < set(chosen) for part in found):
                found.append(chosen)
    return found


def suda_scores(rows, most=3):
    """The SUDA2 score of each row over all columns."""
    keys = len(rows[0])
    most = min(most, keys - 1)
    return [
        sum(prod(keys - i for i in range(len(found), most + 1)) for found in minimal_sets(rows, at, range(keys), most))
        for at in range(len(rows))
    ]


def exact_rows(original, released):
    """Unique originals, and those whose row is in the release."""
    counts, there = Counter(original), set(released)
    alone = [row for row in original if counts[row] == 1]
    return len(original), len(alone), sum(row in there for row in alone)
