"""Which labels a released label still allows: itself, or the members of the group that it names.

    Some-college          itself
    Higher education      every label below it in the hierarchy file
    North/*  North        every label whose first level is North (with `separator: "/"`)
    {A, B}   A~B          A and B, each of which may be a group again
    123**    **345        every label of this length that agrees where there is no star; where none has this length,
                          a run of stars stands for anything

A group without any known member allows what nobody else does: itself. A name that is both a label and a group that
holds others allows all of them, since nothing tells which of the two the release means.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.protected_values import is_suppressed

_SET = re.compile(r"\{(.*)\}", re.DOTALL)
_LAST = "\U0010ffff"


@dataclass(frozen=True)
class AllowedLabels:
    """`leaves` are the labels that are no group, ordered by their path; `members[i]` are those that label i allows.

    Ordered by path, the leaves below one node of the hierarchy stand next to each other.
    """

    leaves: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]


def allowed_labels(spec: ColumnSpec, labels: Sequence[str]) -> AllowedLabels:
    """What each of the labels allows; every label allows at least one leaf."""
    named = list(dict.fromkeys([*labels, *(spec.parents or ())]))
    named = list(dict.fromkeys([*named, *(part for label in named for part in _parts(spec, label) or ())]))
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
            # A hierarchy file names groups by their own name, which may be a label's too.
            found.update(leaf for path in by_name.get(label, ()) for leaf in below[path])
        return found

    resolved = {label: resolve(label) for label in named}
    alone = [label for label, found in resolved.items() if not found]
    leaves = sorted([*leaves, *alone], key=lambda label: (paths[label], label))
    place = {leaf: at for at, leaf in enumerate(leaves)}
    members = tuple(tuple(sorted(place[leaf] for leaf in resolved[label] or {label})) for label in labels)
    return AllowedLabels(tuple(leaves), members)


def _parts(spec: ColumnSpec, label: str) -> tuple[str, ...] | None:
    """The members of a label that is written as a set; None where it is none."""
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
    """Whether single characters of a label are starred out."""
    if spec.parents is not None and label in spec.parents:
        return False
    said = label if spec.separator is None else spec.separator.join(spec.path(label))
    return "*" in said and not is_suppressed(said)


def _agreeing(mask: str, leaves: Sequence[str]) -> set[str]:
    """The leaves that agree with a mask, a star for each character; where there are none, any number of them."""
    start = mask[: mask.index("*")]
    near = _beginning(start, leaves)
    exact = re.compile("".join("." if sign == "*" else re.escape(sign) for sign in mask), re.DOTALL)
    found = {leaf for leaf in near if exact.fullmatch(leaf)}
    if not found:
        loose = re.compile(".*".join(re.escape(part) for part in re.split(r"\*+", mask)), re.DOTALL)
        found = {leaf for leaf in near if loose.fullmatch(leaf)}
    return found


def _beginning(start: str, leaves: Sequence[str]) -> Iterable[str]:
    """The leaves that begin so; they are sorted."""
    return leaves[bisect_left(leaves, start) : bisect_left(leaves, start + _LAST)]
