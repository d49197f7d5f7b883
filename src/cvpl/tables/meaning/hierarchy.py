"""Hierarchy files as ARX writes them: one line per label, from the label to increasingly coarse groups."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cvpl.errors import InputError, Problem
from cvpl.files.input_file import read_bounded
from cvpl.tables.meaning.protected_values import is_suppressed

MOST_MEGABYTES = 100
"""The largest hierarchy file that is read."""
DELIMITERS = (";", "\t", ",")
"""The delimiters between label and groups, in the order in which they are tried: ARX writes a semicolon by default."""

Route = tuple[str, ...]


def read_hierarchy(path: Path, *, delimiter: str | None = None) -> dict[str, Route]:
    """Read a hierarchy file: label -> path from level 1, the coarsest, down to the label.

    Without a `delimiter` it is the semicolon; if no line has one outside quotes, the tab; if none has that either, the
    comma. A column of stars, where everything is suppressed, does not count as a level. Groups are listed too, each
    with its own shorter path, so that released groups can be looked up. A name may occur at several levels of one path:
    a label that is also the name of its own group counts as the label; a group that is also the name of a wider group
    counts as the narrower one if both hold the same labels, else as the wider one, which allows for both. Raises
    InputError for lines of different length, and for a name in two places of which neither contains the other.
    """
    lines = _lines(path, DELIMITERS if delimiter is None else (delimiter,))
    if not lines:
        raise InputError([Problem(path.name, "the hierarchy file is empty", "List one label per line.")])
    problems = _shape_problems(path.name, lines)
    routes = [tuple(field for field in reversed(line) if not is_suppressed(field)) for line in lines]
    parents, twice = _places(routes)
    if twice:
        what = "a label or group has two different places"
        problems.append(Problem(path.name, what, "Give each one path.", row=min(twice), count=len(set(twice))))
    if problems:
        raise InputError(problems)
    return parents


def _lines(path: Path, delimiters: Sequence[str]) -> list[list[str]]:
    """Return the fields of every line that is not blank, by the first delimiter that splits any line."""
    cure = "Correct the path; in a configuration it is relative to its folder, or to --data."
    try:
        text = read_bounded(path, path.name, "hierarchy file", MOST_MEGABYTES, cure).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError([_unreadable(path)]) from None
    whole: list[list[str]] | None = None
    for delimiter in delimiters:
        try:
            file = io.StringIO(text, newline="")
            lines = [line for line in csv.reader(file, delimiter=delimiter, strict=True) if line]
        except csv.Error:
            continue
        if any(len(line) > 1 for line in lines):
            return lines
        whole = lines
    if whole is None:
        raise InputError([_unreadable(path)])
    return whole


def _unreadable(path: Path) -> Problem:
    cure = "Use a UTF-8 file with ';' between label and groups, and quotes around a field that contains one."
    return Problem(path.name, "the hierarchy file cannot be read", cure)


def _places(routes: Sequence[Route]) -> tuple[dict[str, Route], list[int]]:
    """Return every name's path, and the numbers of the lines that give a name a second place."""
    parents: dict[str, Route] = {}
    twice = []
    for number, route in enumerate(routes, start=1):
        if route and parents.setdefault(route[-1], route) != route:
            twice.append(number)
    held = Counter(route[:depth] for route in set(routes) for depth in range(1, len(route)))
    labels = set(parents)
    for number, route in enumerate(routes, start=1):
        for depth in range(1, len(route)):
            group, place = route[depth - 1], route[:depth]
            known = parents.setdefault(group, place)
            if not _nested(known, place):
                twice.append(number)
            elif group not in labels:
                parents[group] = _standing(known, place, held)
    return parents, twice


def _nested(one: Route, other: Route) -> bool:
    """Whether one place contains the other."""
    return all(level == same_level for level, same_level in zip(one, other, strict=False))


def _standing(one: Route, other: Route, held: Counter[Route]) -> Route:
    """Choose between two nested places of one group: the narrower, unless the wider holds more labels."""
    wide, narrow = sorted((one, other), key=len)
    return narrow if held[wide] == held[narrow] else wide


def _shape_problems(name: str, lines: Sequence[Sequence[str]]) -> list[Problem]:
    width = len(lines[0])
    uneven = [number for number, line in enumerate(lines, start=1) if len(line) != width]
    if uneven:
        what = f"found more or fewer fields than the {width} in the first line"
        return [Problem(name, what, "Give every label the same number of levels.", row=uneven[0], count=len(uneven))]
    if width == 1:
        cure = "Write the groups after the label, separated by ';'."
        return [Problem(name, "no label has a group", cure)]
    return []
