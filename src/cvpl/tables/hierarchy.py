"""Hierarchy files: one line a label, from the label itself to ever coarser groups, as ARX writes them."""

from __future__ import annotations

import csv
from pathlib import Path

from cvpl.errors import InputError, Problem
from cvpl.tables.protected_values import is_suppressed


def read_hierarchy(path: Path, *, delimiter: str = ";") -> dict[str, tuple[str, ...]]:
    """Label -> path from level 1, the coarsest, down to the label.

    A last column of stars, the level at which everything is suppressed, is no level. Every group is listed too,
    with its own shorter path, so that a released group finds its place. A label with two different paths is refused.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, delimiter=delimiter) if line]
    except (OSError, UnicodeDecodeError, csv.Error):
        cure = f"Give a UTF-8 file with '{delimiter}' between label and groups."
        raise InputError([Problem(path.name, "the hierarchy file cannot be read", cure)]) from None
    if not lines:
        raise InputError([Problem(path.name, "the hierarchy file is empty", "List one label a line.")])
    parents: dict[str, tuple[str, ...]] = {}
    problems = []
    routes = [tuple(field for field in reversed(line) if not is_suppressed(field)) for line in lines]
    # Labels first: where a label is also the name of its group, its own full path is the one that counts.
    places = [(number, route, len(route)) for number, route in enumerate(routes, start=1) if route]
    places += [(number, route, depth) for number, route, full in places for depth in range(1, full)]
    for number, route, depth in places:
        known = parents.setdefault(route[depth - 1], route[:depth])
        if len(known) == depth and known != route[:depth]:
            what = "a label or group has two different places"
            problems.append(Problem(path.name, what, "Give each label one path.", row=number))
    if problems:
        raise InputError(problems)
    return parents
