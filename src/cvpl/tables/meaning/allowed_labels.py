"""The labels that a released label allows: itself, or the members of the group that it names.

    Some-college          itself
    Higher education      every label below it in the hierarchy file
    North/*  North        every label whose first level is North (with `separator: "/"`)
    {A, B}   A~B          A and B, each of which may be a group again
    123**    **345        every label of this length that agrees where there is no star; if no label has this length,
                          a run of stars matches any text

A group without known members allows only itself, and no other label allows it. A name that is both a label and a group
with members allows all of them, since the release does not say which of the two it means.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.protected_values import is_suppressed

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
    composed = {label for label in named if _parts(spec, label) or _masked(spec, label)}
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
        if _masked(spec, label):
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


def _masked(spec: ColumnSpec, label: str) -> bool:
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
