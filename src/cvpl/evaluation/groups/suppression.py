"""Suppression of small counts in tables, safe against subtraction.

Two things are protected, both with `k` (10 by default). *Sizes*: groups of fewer than k people are pooled into one row
with at least one other group, until the row has k people. *Shares*: a share of n people reveals how many were linked,
so it is shown only if at least k of them were linked and at least k were not. Otherwise only the side is shown, "fewer
than k", including zero, since showing a zero would reveal that others are not zero. A hidden number must not follow
from the total: rows are hidden until each hidden number could, given all that is shown, be any of at least k.

Every hidden row gets a range: the numbers it may have, given the shown rows of its table, the bounds ("fewer than k",
"all but fewer than k") and the total. Readers can compute this range from what is published, so it discloses nothing
more, in one table or in several. A row that was hidden only to protect another one is then known to within k.

Several tables describe the same people. Someone who knows which groups of one table consist of groups of another can
subtract across tables. So no hidden number may be a combination of shown rows, and no two nested rows may differ by a
small number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_ROUNDING = 1e-9
"""Sums that differ by less are equal; it is far below one person."""


def pooled_rows(tables: Sequence[Ints], k: int) -> list[Ints]:
    """For each table, the row of each group; groups of fewer than k people share row 0 of their table with others.

    `tables` has one array per table: the group of each record, from 0. If nothing is pooled, rows are numbered from 1.
    """
    people, members, _ = _atoms(tables)
    sizes = [_sums(codes, people) for codes in members]
    pools = [_first_pool(size, k) for size in sizes]
    while (leak := _size_leak(people, members, sizes, pools, k)) is not None:
        if not enlarge_pool(sizes, pools, leak):
            break
    return [_rows(size, pool) for size, pool in zip(sizes, pools, strict=True)]


def hidden_shares(rows: Sequence[Ints], hits: Floats, k: int) -> list[Bools]:
    """For each table and row, whether its share must be hidden; `rows` has each record's row in each table.

    With k = 1 nothing is hidden.
    """
    if k <= 1:
        return [np.zeros(int(codes.max(initial=0)) + 1, dtype=bool) for codes in rows]
    people, members, atom_of = _atoms(rows)
    linked = _sums(atom_of, hits)
    sums = [(_sums(codes, linked), _sums(codes, people)) for codes in members]
    hidden = [_hide_one_table(*both, k) for both in sums]
    while (leak := _share_leak(people, linked, members, hidden, k)) is not None:
        if not hide_another_row(sums, hidden, leak):
            break
    return hidden


def bounds(linked: float, size: float, k: int) -> tuple[float, float]:
    """The published bounds of a hidden number of linked people: fewer than k, all but fewer than k, or none."""
    few, most = _is_few(linked, k), _is_few(size - linked, k)
    if few and not most:
        return 0.0, float(k - 1)
    if most and not few:
        return size - (k - 1), size
    return 0.0, size


def published_ranges(linked: Floats, sizes: Floats, hidden: Bools, k: int) -> dict[int, tuple[float, float]]:
    """For each hidden row of one table, the published minimum and maximum number of linked people.

    This is what `feasible` computes from the shown rows, the bounds and the total. If every row of a table is hidden,
    the total alone may leave fewer than k numbers for one of them; then only the bounds are published. A range from 0
    to the row's size is no information.
    """
    rows = [int(row) for row in np.flatnonzero(hidden)]
    if _is_vague(linked, sizes, hidden, k):
        return dict(zip(rows, feasible(linked, sizes, hidden, k), strict=True))
    return {row: bounds(float(linked[row]), float(sizes[row]), k) for row in rows}


def feasible(linked: Floats, sizes: Floats, hidden: Bools, k: int) -> list[tuple[float, float]]:
    """The smallest and largest number that each hidden row may have, given shown rows, bounds and the total."""
    ends = [bounds(x, n, k) for x, n in zip(linked.tolist(), sizes.tolist(), strict=True)]
    left = float(linked[hidden].sum())
    low, high = (sum(ends[at][side] for at in np.flatnonzero(hidden)) for side in (0, 1))
    return [
        (max(ends[at][0], left - (high - ends[at][1])), min(ends[at][1], left - (low - ends[at][0])))
        for at in np.flatnonzero(hidden)
    ]


def _sums(codes: Ints, weights: Floats) -> Floats:
    """Sum the weights of each group."""
    return np.bincount(codes, weights=weights).astype(np.float64)


def _is_few(count: float, k: int) -> bool:
    """Whether a count is at most k - 1. Ties make counts fractional: a count above k - 1 counts as at least k."""
    return count <= k - 1 + _ROUNDING


def _is_small(linked: float, size: float, k: int) -> bool:
    return _is_few(linked, k) or _is_few(size - linked, k)


def _first_pool(sizes: Floats, k: int) -> set[int]:
    there = [int(group) for group in np.argsort(sizes, kind="stable") if sizes[group]]
    pool = [group for group in there if sizes[group] < k]
    rest = there[len(pool) :]
    while pool and rest and (len(pool) < 2 or sizes[pool].sum() < k):
        pool.append(rest.pop(0))
    return set(pool)


def _rows(sizes: Floats, pool: set[int]) -> Ints:
    """Row 0 for the pool, 1, 2, ... for the other groups in their order, -1 for a group without people."""
    rows = np.full(len(sizes), -1, dtype=np.int64)
    number = 0
    for group in np.flatnonzero(sizes):
        if int(group) in pool:
            rows[group] = 0
        else:
            number += 1
            rows[group] = number
    return rows


def _size_leak(
    people: Floats, members: Sequence[Ints], sizes: Sequence[Floats], pools: Sequence[set[int]], k: int
) -> tuple[int, int | None] | None:
    """A table whose pool reveals a small number: by a group's size as a sum of shown ones, or by nested rows."""
    rows = [_rows(size, pool) for size, pool in zip(sizes, pools, strict=True)]
    of_atom = [row[codes] for row, codes in zip(rows, members, strict=True)]
    shown = np.array([of == item for of in of_atom for item in np.unique(of)], dtype=np.float64)
    for at, (codes, pool) in enumerate(zip(members, pools, strict=True)):
        for group in sorted(pool):
            if sizes[at][group] < k and is_spanned(shown, codes == group):
                return at, None
    for at, mine in enumerate(of_atom):
        for other, theirs in enumerate(of_atom):
            if at == other:
                continue
            for row, inner in _nested_rows(mine, theirs):
                gap = people[mine == row].sum() - people[theirs == inner].sum()
                if 0 < gap < k and inner != 0:
                    return other, int(np.flatnonzero(rows[other] == inner)[0])
                if 0 < gap < k:
                    return at, None
    return None


def enlarge_pool(sizes: Sequence[Floats], pools: list[set[int]], leak: tuple[int, int | None]) -> bool:
    """Pool one more group of the leaking table, or of the table with the most groups left; False if none is left."""
    at, group = leak
    left = [
        [int(item) for item in np.argsort(size, kind="stable") if size[item] and item not in pool]
        for size, pool in zip(sizes, pools, strict=True)
    ]
    if group is None:
        if not left[at]:
            at = max(range(len(left)), key=lambda item: len(left[item]))
        if not left[at]:
            return False
        group = left[at][0]
    pools[at].add(group)
    if len(pools[at]) < 2:
        rest = [item for item in left[at] if item != group]
        pools[at].update(rest[:1])
    return True


def _hide_one_table(linked: Floats, sizes: Floats, k: int) -> Bools:
    hidden = np.array([n > 0 and _is_small(x, n, k) for x, n in zip(linked, sizes, strict=True)], dtype=bool)
    while hidden.any() and not _is_vague(linked, sizes, hidden, k):
        at = _next_to_hide(linked, sizes, hidden)
        if at is None:
            break
        hidden[at] = True
    return hidden


def _is_vague(linked: Floats, sizes: Floats, hidden: Bools, k: int) -> bool:
    """Whether every hidden number could be any of k numbers, or of all that its row allows if these are fewer."""
    widths = [high - low for low, high in feasible(linked, sizes, hidden, k)]
    wanted = [min(k - 1.0, n) for n in sizes[hidden]]
    return all(width >= want - _ROUNDING for width, want in zip(widths, wanted, strict=True))


def _next_to_hide(linked: Floats, sizes: Floats, hidden: Bools) -> int | None:
    """The smallest shown row; the row with the highest share comes last, since readers need it most."""
    shown = [int(at) for at in np.flatnonzero(~hidden & (sizes > 0))]
    if not shown:
        return None
    top = max(shown, key=lambda at: linked[at] / sizes[at])
    return min((at for at in shown if at != top), key=lambda at: sizes[at], default=top)


def _share_leak(
    people: Floats, linked: Floats, members: Sequence[Ints], hidden: Sequence[Bools], k: int
) -> tuple[int, int | None] | None:
    """A table with a hidden number that follows from all shown rows, or a row that reveals a small part."""
    shown = [
        codes == item for codes, mask in zip(members, hidden, strict=True) for item in np.unique(codes[~mask[codes]])
    ]
    known = np.array([np.ones(len(people), dtype=bool), *shown], dtype=np.float64)
    for at, (codes, mask) in enumerate(zip(members, hidden, strict=True)):
        for row in np.flatnonzero(mask).tolist():
            if (codes == row).any() and not (codes == row).all() and is_spanned(known, codes == row):
                return at, None
    for at, mine in enumerate(members):
        for other, theirs in enumerate(members):
            if at == other:
                continue
            for row, inner in _nested_rows(mine, theirs):
                if hidden[at][row] or hidden[other][inner]:
                    continue
                rest = (mine == row) & (theirs != inner)
                if rest.any() and _is_small(float(linked[rest].sum()), float(people[rest].sum()), k):
                    return other, inner
    return None


def hide_another_row(
    sums: Sequence[tuple[Floats, Floats]], hidden: Sequence[Bools], leak: tuple[int, int | None]
) -> bool:
    """Hide the leaking row, or one more row of its table, or of any table; False if none is left."""
    at, row = leak
    if row is None:
        for table in (at, *(item for item in range(len(sums)) if item != at)):
            row = _next_to_hide(*sums[table], hidden[table])
            if row is not None:
                at = table
                break
    if row is None:
        return False
    hidden[at][row] = True
    # A single hidden row follows from the total.
    if hidden[at].sum() == 1 and (other := _next_to_hide(*sums[at], hidden[at])) is not None:
        hidden[at][other] = True
    return True


def _atoms(tables: Sequence[Ints]) -> tuple[Floats, list[Ints], Ints]:
    """The sets of people that no table separates: sizes, group in each table, and the set of each record."""
    key = np.zeros(len(tables[0]), dtype=np.int64)
    for codes in tables:
        _, key = np.unique(key * (int(codes.max()) + 1) + codes, return_inverse=True)
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    return counts.astype(np.float64), [codes[first].astype(np.int64) for codes in tables], key.astype(np.int64)


def _nested_rows(mine: Ints, theirs: Ints) -> list[tuple[int, int]]:
    """Rows of one table, each with a row of the other nested inside it."""
    holders = {int(inner): np.unique(mine[theirs == inner]) for inner in np.unique(theirs)}
    return [(int(rows[0]), inner) for inner, rows in holders.items() if len(rows) == 1]


def is_spanned(shown: Floats, target: Bools) -> bool:
    """Whether the set's number is a linear combination of the shown ones."""
    wanted = target.astype(np.float64)
    weights, *_ = np.linalg.lstsq(shown.T, wanted, rcond=None)
    return bool(np.abs(shown.T @ weights - wanted).max(initial=0.0) < 1e-6)
