"""Hierarchy files: one line a label, from the label itself to ever coarser groups, as ARX writes them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from cvpl.errors import InputError, Problem
from cvpl.tables.protected_values import is_suppressed


def read_hierarchy(path: Path, *, delimiter: str = ";") -> dict[str, tuple[str, ...]]:
    """Label -> path from level 1, the coarsest, down to the label.

    A last column of stars, the level at which everything is suppressed, is no level. Every group is listed too,
    with its own shorter path, so that a released group finds its place. A label that is also the name of its own group
    counts as the label. Lines of different length, and a name in two different places, are refused.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, delimiter=delimiter) if line]
    except (OSError, UnicodeDecodeError, csv.Error):
        cure = f"Give a UTF-8 file with '{delimiter}' between label and groups."
        raise InputError([Problem(path.name, "the hierarchy file cannot be read", cure)]) from None
    if not lines:
        raise InputError([Problem(path.name, "the hierarchy file is empty", "List one label a line.")])
    problems = _shape_problems(path.name, lines, delimiter)
    parents: dict[str, tuple[str, ...]] = {}
    routes = [tuple(field for field in reversed(line) if not is_suppressed(field)) for line in lines]
    # Labels first: where a label is also the name of its group, its own full path is the one that counts.
    places = [(number, route, len(route)) for number, route in enumerate(routes, start=1) if route]
    places += [(number, route, depth) for number, route, full in places for depth in range(1, full)]
    twice = []
    for number, route, depth in places:
        known = parents.setdefault(route[depth - 1], route[:depth])
        if known[:depth] != route[:depth]:
            twice.append(number)
    if twice:
        what = "a label or group has two different places"
        problems.append(Problem(path.name, what, "Give each one path.", row=min(twice), count=len(set(twice))))
    if problems:
        raise InputError(problems)
    return parents


def _shape_problems(name: str, lines: Sequence[Sequence[str]], delimiter: str) -> list[Problem]:
    width = len(lines[0])
    uneven = [number for number, line in enumerate(lines, start=1) if len(line) != width]
    if uneven:
        what = f"found more or fewer fields than the {width} of the first line"
        return [Problem(name, what, "Give every label the same number of levels.", row=uneven[0], count=len(uneven))]
    if width == 1:
        cure = f"Write the groups behind the label, with '{delimiter}' between them."
        return [Problem(name, "no label has a group", cure)]
    return []
