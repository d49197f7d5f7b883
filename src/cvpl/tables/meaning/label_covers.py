"""The labels that a released label covers, by its spelling or the column's levels.

West/*  West        the labels whose path begins with it, by a separator or a hierarchy file
123**   1*3         a mask: the labels that differ only where it has stars; one star at the end matches any rest, and
                    so do several if some mask of this shape would else match no label
{A, B}  A, B        a set of labels; {A, 12*} also of those that a group, a mask or a range in it covers; [A, B] if
                    both are labels
123                 a prefix, if the released labels are all of one length and nearly all are prefixes
30-39   [30, 40)    a range, if the labels are numbers
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.protected_values import read_number

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


def covers(
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
    found = list(_by_levels(spec, labels, there))
    found += _by_masks(labels, foreign, exact)
    found += _by_sets(labels, foreign, exact, partial(_covered, spec, labels, exact))
    found += _by_ranges(labels, foreign, exact)
    return found or list(_by_beginnings(labels, foreign, there, exact))


def _by_levels(spec: ColumnSpec, labels: Sequence[str], there: Sequence[int]) -> Iterator[LabelCover]:
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


def _by_masks(labels: Sequence[str], foreign: Sequence[int], exact: Sequence[int]) -> Iterator[LabelCover]:
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


def _covered(
    spec: ColumnSpec, labels: Sequence[str], exact: Sequence[int], texts: Sequence[str]
) -> Mapping[str, tuple[int, ...]]:
    """The labels that some other texts cover by levels, as masks or as ranges."""
    known, values = [*labels, *texts], set(exact)
    codes = range(len(labels), len(known))
    found: dict[str, tuple[int, ...]] = {}
    for cover in (*_by_levels(spec, known, codes), *_by_masks(known, codes, exact), *_by_ranges(known, codes, exact)):
        members = tuple(code for code in cover.members if code in values)
        found[known[cover.code]] = found.get(known[cover.code], ()) + members
    return found


def _by_sets(
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


def _by_ranges(labels: Sequence[str], foreign: Sequence[int], exact: Sequence[int]) -> Iterator[LabelCover]:
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


def _by_beginnings(
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
