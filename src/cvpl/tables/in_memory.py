"""Frames as the checked pair of an audit: the same result as writing and reading them, without the files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import NOBODY, CategoryCodes, Frame
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Pair, Table, Times
from cvpl.tables.evaluation_only import Scenario, TrueMatches
from cvpl.tables.meaning.protected_values import is_suppressed, read_number, read_time

NAMES = ("original", "protected", "control")


def pair_of(frames: Sequence[Frame], specs: Sequence[ColumnSpec]) -> Pair:
    """Make a pair of original, protected and, optionally, control.

    A column in which the original or the release has no value is left out, as in reading. A label that cannot be read
    as a number or a time raises ValueError: mechanisms never write one.
    """
    read = {spec.name: _column(spec, frames) for spec in specs}
    kept = tuple(spec for spec in specs if all(column.known().any() for column in read[spec.name][:2]))
    tables = [
        Table(name, len(frame), kept, {spec.name: read[spec.name][at] for spec in kept})
        for at, (name, frame) in enumerate(zip(NAMES, frames, strict=False))
    ]
    return Pair(tables[0], tables[1], tables[2] if len(tables) > 2 else None)


def matches_of(original: Frame, protected: Frame, scenario: Scenario = "simulation") -> TrueMatches:
    """Find the true matches by person number, unique in each table; rows without a person match nothing."""
    order = np.argsort(original.people, kind="stable")
    place = np.minimum(np.searchsorted(original.people[order], protected.people), len(order) - 1)
    same = (original.people[order][place] == protected.people) & (protected.people != NOBODY)
    rows, released = order[place[same]].astype(np.int64), np.flatnonzero(same)
    sorted_by_row = np.argsort(rows, kind="stable")
    return TrueMatches(rows[sorted_by_row], released[sorted_by_row], True, scenario)


def _column(spec: ColumnSpec, frames: Sequence[Frame]) -> list[ColumnData]:
    if spec.type == "category":
        return list(_labels(spec, [frame.category(spec.name) for frame in frames]))
    if spec.type == "numeric":
        plain = frames[0].number(spec.name).astype(np.float64)
        return [_numbers(spec.name, frame, plain[np.isfinite(plain)]) for frame in frames]
    return [_times(spec.name, frame) for frame in frames]


def _labels(spec: ColumnSpec, columns: Sequence[CategoryCodes]) -> list[Labels]:
    used = [[column.labels[code] for code in np.unique(column.codes[column.codes >= 0])] for column in columns]
    shown = {label for labels in used[1:] for label in labels if not spec.says_nothing(label)}
    labels = tuple(sorted(shown.union(used[0])))
    place = {label: code for code, label in enumerate(labels)}
    return [
        Labels(np.array([*(place.get(label, -1) for label in column.labels), -1], dtype=np.int32)[column.codes], labels)
        for column in columns
    ]


def _numbers(name: str, frame: Frame, originals: NDArray[np.float64]) -> Numbers:
    if name in frame.numbers:
        values = frame.numbers[name].astype(np.float64)
        return Numbers(values, values, values)
    codes, labels = frame.category(name)
    whole = bool(originals.size) and bool(np.all(originals == np.trunc(originals)))
    ends = (float(originals.min()), float(originals.max())) if originals.size else (np.inf, -np.inf)
    meant = np.full((3, len(labels) + 1), np.nan)  # code -1 indexes the last entry
    for code, label in enumerate(labels):
        if is_suppressed(label):
            continue
        found = read_number(label, whole=whole, smallest=ends[0], largest=ends[1])
        if found is None:
            raise ValueError(f"column {name!r}: a label of the release is neither a number nor an interval")
        meant[:, code] = found.middle, found.low, found.high
    return Numbers(*(side[codes] for side in meant))


def _times(name: str, frame: Frame) -> Times:
    if name in frame.times:
        first = frame.times[name].astype("datetime64[us]")
        return Times(first, first)
    codes, labels = frame.category(name)
    meant = np.full((2, len(labels) + 1), np.datetime64("NaT", "us"))
    for code, label in enumerate(labels):
        if is_suppressed(label):
            continue
        found = read_time(label)
        if found is None:
            raise ValueError(f"column {name!r}: a label of the release is neither a time nor a time span")
        meant[:, code] = np.datetime64(found.first, "us"), np.datetime64(found.last, "us")
    return Times(meant[0][codes], meant[1][codes])
