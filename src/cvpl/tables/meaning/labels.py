"""What labels mean: the labels that a released one covers or allows, and the levels of a hierarchy.

The labels that a released label covers, by its spelling or the column's levels:

West/*  West        the labels whose path begins with it, by a separator or a hierarchy file
123**   1*3         a mask: the labels that differ only where it has stars; one star at the end matches any rest, and
                    so do several if some mask of this shape would else match no label
{A, B}  A, B        a set of labels; {A, 12*} also of those that a group, a mask or a range in it covers; [A, B] if
                    both are labels
123                 a prefix, if the released labels are all of one length and nearly all are prefixes
30-39   [30, 40)    a range, if the labels are numbers

The labels that a released label allows: itself, or the members of the group that it names.

    Some-college          itself
    Higher education      every label below it in the hierarchy file
    North/*  North        every label whose first level is North (with `separator: "/"`)
    {A, B}   A~B          A and B, each of which may be a group again
    123**    **345        every label of this length that agrees where there is no star; if no label has this length,
                          a run of stars matches any text

A group without known members allows only itself, and no other label allows it. A name that is both a label and a group
with members allows all of them, since the release does not say which of the two it means.

Labels that are whole numbers, written with decimals in one table and without in the other. A dataframe that holds a
code column as floats writes 1 as 1.0. Without conversion the two would never match, and a release of unchanged values
would look safe.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.files.reading import read_bounded
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.protected_values import is_suppressed, read_number

Flags = NDArray[np.bool_]

NEARLY_ALL = 0.9
"""Released labels are read as beginnings if at least this share of them are."""
_BETWEEN = (",", ";", "|")


@dataclass(frozen=True)
class LabelCover:
    """A released label, the codes of the labels that it covers, and the name of this kind of cover."""

    code: int
    members: tuple[int, ...]
    kind: str


def find_covers(
    spec: ColumnSpec, labels: Sequence[str], own: Flags, released: Flags, values: Flags | None = None
) -> list[LabelCover]:
    """Every released label that covers others; `own` and `released` say in which table a label occurs.

    By levels a label may cover others even if the attacker has it too. A text is read as a mask, a set or a range only
    if the attacker does not have it as a label. `values` are the labels that can be covered; by default those that the
    attacker has or the release has not.
    """
    there = [int(code) for code in np.flatnonzero(released)]
    foreign = [code for code in there if not own[code]]
    exact = np.flatnonzero(own | ~released if values is None else values).tolist()
    found = list(_covers_by_level(spec, labels, there))
    found += _covers_by_mask(labels, foreign, exact)
    found += _covers_by_set(labels, foreign, exact, partial(_covered_labels, spec, labels, exact))
    found += _covers_by_range(labels, foreign, exact)
    return found or list(_covers_by_beginning(labels, foreign, there, exact))


def _covers_by_level(spec: ColumnSpec, labels: Sequence[str], there: Sequence[int]) -> Iterator[LabelCover]:
    """Labels whose path begins with the released label's."""
    if spec.separator is None and spec.parents is None:
        return
    paths = [spec.path(label) for label in labels]
    below: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for code, path in enumerate(paths):
        for depth in range(1, len(path) + 1):
            below[path[:depth]].append(code)
    for code in there:
        members = tuple(item for item in below[paths[code]] if item != code)
        if members:
            yield LabelCover(code, members, f"level {len(paths[code])}")


def _covers_by_mask(labels: Sequence[str], foreign: Sequence[int], exact: Sequence[int]) -> Iterator[LabelCover]:
    """Labels that match a mask; masks with stars in the same positions are looked up together."""
    shapes: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
    for code in foreign:
        label = labels[code]
        if "*" in label and label.strip("*"):
            shapes[len(label), tuple(at for at, sign in enumerate(label) if sign != "*")].append(code)
    for (length, kept), codes in shapes.items():
        # One star at the end may match any rest.
        any_rest = kept == tuple(range(length - 1)) or _is_beginning(labels, kept, length, codes, exact)
        fitting: dict[str, list[int]] = defaultdict(list)
        for code in exact:
            label = labels[code]
            if len(label) == length or (any_rest and len(label) > len(kept)):
                fitting["".join(label[at] for at in kept)].append(code)
        stars = length - len(kept)
        kind = "the rest masked" if any_rest else f"{stars} characters masked"
        for code in codes:
            members = tuple(fitting[labels[code].replace("*", "")])
            if members:
                yield LabelCover(code, members, kind)


def _is_beginning(
    labels: Sequence[str], kept: tuple[int, ...], length: int, codes: Sequence[int], exact: Sequence[int]
) -> bool:
    """Whether masks with several stars at the end match any rest: one of them has no label of its length."""
    if kept != tuple(range(len(kept))):
        return False
    beginnings = {labels[code][: len(kept)] for code in exact if len(labels[code]) == length}
    return any(labels[code].rstrip("*") not in beginnings for code in codes)


def _covered_labels(
    spec: ColumnSpec, labels: Sequence[str], exact: Sequence[int], texts: Sequence[str]
) -> Mapping[str, tuple[int, ...]]:
    """The labels that some other texts cover by levels, as masks or as ranges."""
    known, values = [*labels, *texts], set(exact)
    codes = range(len(labels), len(known))
    found: dict[str, tuple[int, ...]] = {}
    for cover in (
        *_covers_by_level(spec, known, codes),
        *_covers_by_mask(known, codes, exact),
        *_covers_by_range(known, codes, exact),
    ):
        members = tuple(code for code in cover.members if code in values)
        found[known[cover.code]] = found.get(known[cover.code], ()) + members
    return found


def _covers_by_set(
    labels: Sequence[str],
    foreign: Sequence[int],
    exact: Sequence[int],
    covered: Callable[[Sequence[str]], Mapping[str, tuple[int, ...]]],
) -> Iterator[LabelCover]:
    """Labels that a set lists: in braces, or without braces if every part is a label.

    What else stands in braces is looked up with `covered`.
    """
    place = {labels[code]: code for code in exact}
    for code in foreign:
        label = labels[code].strip()
        braced = label.startswith("{") and label.endswith("}")
        enclosed = braced or (label.startswith("[") and label.endswith("]"))
        for sign in _BETWEEN:
            parts = (label[1:-1] if enclosed else label).split(sign)
            if len(parts) < (1 if enclosed else 2):
                continue
            members, strange = _members(parts, sign, place)
            if strange and braced:
                more = covered(strange)
                members += [item for text in strange for item in more.get(text, ())]
            if members and (braced or not strange):
                yield LabelCover(code, tuple(dict.fromkeys(members)), "sets of labels")
                break


def _members(parts: Sequence[str], sign: str, place: dict[str, int]) -> tuple[list[int], list[str]]:
    """The labels in the parts, rejoined if a label contains the separator; and the parts that are no labels."""
    longest = 1 + max((label.count(sign) for label in place), default=0)
    members: list[int] = []
    strange: list[str] = []
    at = 0
    while at < len(parts):
        for count in range(min(longest, len(parts) - at), 0, -1):
            text = sign.join(parts[at : at + count]).strip()
            if text in place:
                members.append(place[text])
                at += count
                break
        else:
            strange.append(parts[at].strip())
            at += 1
    return members, strange


def _covers_by_range(labels: Sequence[str], foreign: Sequence[int], exact: Sequence[int]) -> Iterator[LabelCover]:
    """Labels that are numbers, in a range of numbers."""
    numbers = {code: _number(labels[code]) for code in exact}
    known = sorted((number, code) for code, number in numbers.items() if number is not None)
    if not known:
        return
    values = np.array([number for number, _ in known])
    whole = bool(np.all(values == np.trunc(values)))
    for code in foreign:
        label = labels[code]
        if "*" in label or label.strip().startswith("{"):
            continue
        span = read_number(label, whole=whole, smallest=float(values[0]), largest=float(values[-1]))
        if span is None or span.low >= span.high:
            continue
        first, last = np.searchsorted(values, span.low, "left"), np.searchsorted(values, span.high, "right")
        members = tuple(item for _, item in known[first:last])
        if members:
            yield LabelCover(code, members, "ranges of numbers")


def _number(label: str) -> float | None:
    found = read_number(label, whole=False, smallest=np.inf, largest=-np.inf)
    return found.low if found is not None and found.low == found.high else None


def _covers_by_beginning(
    labels: Sequence[str], foreign: Sequence[int], there: Sequence[int], exact: Sequence[int]
) -> Iterator[LabelCover]:
    """Labels that start with a released one, if all released labels are of one length and nearly all are prefixes.

    A few may be missing: the release of a sample has beginnings that the originals do not have.
    """
    lengths = {len(labels[code]) for code in foreign}
    if len(foreign) < len(there) or len(lengths) != 1:
        return
    (length,) = lengths
    longer: dict[str, list[int]] = defaultdict(list)
    for code in exact:
        if len(labels[code]) > length:
            longer[labels[code][:length]].append(code)
    beginnings = [code for code in foreign if labels[code] in longer]
    if length and len(beginnings) >= NEARLY_ALL * len(foreign):
        for code in beginnings:
            yield LabelCover(code, tuple(longer[labels[code]]), f"the first {length} characters")


_SET = re.compile(r"\{(.*)\}", re.DOTALL)
_LAST = "\U0010ffff"


@dataclass(frozen=True)
class AllowedLabels:
    """The leaves that each label allows.

    `leaves` are the labels that are not groups, sorted by path, so the leaves below one node of the hierarchy are
    adjacent. `members[i]` are the leaves that label i allows.
    """

    leaves: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]


def allowed_labels(spec: ColumnSpec, labels: Sequence[str]) -> AllowedLabels:
    """Find the leaves that each label allows; every label allows at least one."""
    named = dict.fromkeys([*labels, *(spec.parents or ())])
    more = list(named)
    while more := [part for label in more for part in _parts(spec, label) or () if part not in named]:
        named.update(dict.fromkeys(more))  # a member of a set may be a set again
    paths = {label: spec.path(label) for label in named}
    groups = {path[:depth] for path in paths.values() for depth in range(1, len(path))}
    composed = {label for label in named if _parts(spec, label) or _is_masked(spec, label)}
    leaves = sorted(
        (label for label in named if label not in composed and paths[label] not in groups),
        key=lambda label: (paths[label], label),
    )
    below: dict[tuple[str, ...], set[str]] = {}
    for leaf in leaves:
        for depth in range(1, len(paths[leaf]) + 1):
            below.setdefault(paths[leaf][:depth], set()).add(leaf)
    by_name: dict[str, list[tuple[str, ...]]] = {}
    for path in groups:
        by_name.setdefault(path[-1], []).append(path)
    sorted_leaves = sorted(leaves)

    def resolve(label: str) -> set[str]:
        if parts := _parts(spec, label):
            return set().union(*(resolve(part) for part in parts))
        if _is_masked(spec, label):
            return _agreeing(label, sorted_leaves)
        found = set(below.get(paths[label], ()))
        if spec.parents is not None:
            # A group in a hierarchy file may have the same name as a label.
            found.update(leaf for path in by_name.get(label, ()) for leaf in below[path])
        return found

    resolved = {label: resolve(label) for label in named}
    alone = [label for label, found in resolved.items() if not found]
    leaves = sorted([*leaves, *alone], key=lambda label: (paths[label], label))
    place = {leaf: at for at, leaf in enumerate(leaves)}
    members = tuple(tuple(sorted(place[leaf] for leaf in resolved[label] or {label})) for label in labels)
    return AllowedLabels(tuple(leaves), members)


def _parts(spec: ColumnSpec, label: str) -> tuple[str, ...] | None:
    """Return the members of a label that is written as a set; None if it is not a set."""
    if spec.parents is not None and label in spec.parents:
        return None
    if match := _SET.fullmatch(label.strip()):
        parts = match[1].split(",")
    elif "~" in label:
        parts = label.split("~")
    else:
        return None
    found = tuple(part.strip() for part in parts)
    return found if all(found) else None


def _is_masked(spec: ColumnSpec, label: str) -> bool:
    """Whether some characters of a label are replaced by stars."""
    if spec.parents is not None and label in spec.parents:
        return False
    shown = label if spec.separator is None else spec.separator.join(spec.path(label))
    return "*" in shown and not is_suppressed(shown)


def _agreeing(mask: str, leaves: Sequence[str]) -> set[str]:
    """Return the leaves that match a mask, one character per star; if none match, any number of characters per star."""
    start = mask[: mask.index("*")]
    near = _beginning(start, leaves)
    exact = re.compile("".join("." if sign == "*" else re.escape(sign) for sign in mask), re.DOTALL)
    found = {leaf for leaf in near if exact.fullmatch(leaf)}
    if not found:
        loose = re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", mask)), re.DOTALL)
        found = {leaf for leaf in near if loose.fullmatch(leaf)}
    return found


def _beginning(start: str, leaves: Sequence[str]) -> Iterable[str]:
    """Return the leaves that begin with `start`; `leaves` must be sorted."""
    return leaves[bisect_left(leaves, start) : bisect_left(leaves, start + _LAST)]


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
            if not _contains_place(known, place):
                twice.append(number)
            elif group not in labels:
                parents[group] = _standing(known, place, held)
    return parents, twice


def _contains_place(one: Route, other: Route) -> bool:
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


_WHOLE = re.compile(r"(-?[0-9]+)(?:\.0+)?")


@dataclass(frozen=True)
class LabelRespelling:
    """The known label for each spelling in a table, and the spellings that could mean two labels."""

    meant: dict[str, str]
    unclear: tuple[str, ...]


def find_respellings(labels: Iterable[str], known: Iterable[str]) -> LabelRespelling:
    """Find labels that are not `known` themselves, but equal a known label except for zero decimals.

    "1.0" and "1.00" mean "1" where that is known, and "1" means "1.0" where that is. "01.0" does not mean "1":
    leading zeros belong to a code. Where both "1" and "1.0" are known, "1.00" could mean either.
    """
    known = set(known)
    places: dict[str, list[str]] = {}
    for label in known:
        if match := _WHOLE.fullmatch(label):
            places.setdefault(match[1], []).append(label)
    meant, unclear = {}, []
    for label in labels:
        match = None if label in known else _WHOLE.fullmatch(label)
        found = places.get(match[1], []) if match else []
        if len(found) == 1:
            meant[label] = found[0]
        elif found:
            unclear.append(label)
    return LabelRespelling(meant, tuple(unclear))
