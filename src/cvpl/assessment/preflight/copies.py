"""Copies of originals in the release, compared with the same count for people who are not in it.

An exact copy agrees with an original on every column that both tables share, a near copy on all compared columns or on
all but one. Equal rows also occur by chance, especially in tables with few categories. So copies close the gate only if
originals have significantly more of them than the control. Without a control, or if no control has a copy, chance is
estimated from the originals: how often an original's row equals another original's. A control with far more copies than
its rows have among originals and controls contains people who are in the release.

Which cells of a row are empty can tell people apart too, and is kept by many methods that change the values. With a
control, those people are counted whose pattern of empty cells is theirs alone, and occurs in the release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.intervals.bounds import wilson_bounds
from cvpl.result.publishing import Disclosure
from cvpl.search.machine import threads
from cvpl.tables.columns import Pair, Table
from cvpl.tables.keys import Keys, keys_without_one, row_keys
from cvpl.wording import people_in_words, share_words

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EXACT, NEAR, EMPTY = "exact_copies", "near_copies", "empty_cells"
FAR_COPIES = 0.05
"""Controls with this many more copies than chance gives count as people in the release."""
RARE_DOUBLES = 0.005
"""Duplicates are rare if fewer originals than this have one: then equal rows are counted as single pairs."""
FEWEST_COPIES = 2
"""This many copies never close the gate by their number alone."""
MOST_SEARCHED = 100_000
"""More originals, or more controls, than this are sampled; the release is not."""
FEWEST_COLUMNS = 3
"""The fewest columns of a table in which near copies are searched."""


@dataclass(frozen=True)
class Chance:
    """The expected share of originals with a copy by chance, its standard deviation over releases, and the most copies.

    `most` is None if duplicates are too common to be counted as single pairs.
    """

    share: float
    spread: float
    most: float | None = None


@dataclass(frozen=True)
class _Copies:
    """Which people have an exact copy in the release, and which have one that agrees except in one column."""

    exact: Bools
    near: Bools


def copy_findings(
    pair: Pair,
    rng: np.random.Generator,
    disclosure: Disclosure,
    shared_rows: Mapping[str, Keys] | None = None,
    workers: int = 1,
) -> list[out.Finding]:
    """Findings on exact and near copies; empty if the release has none, or fewer than k that are within error.

    `shared_rows` are the rows as numbers over all columns that original and release share, if these are more than the
    compared ones; exact copies are then counted by them as well.
    """
    found = _compared_columns_findings(pair, rng, workers, disclosure)
    whole = _whole_rows(shared_rows or {}, disclosure)
    if whole is not None:
        exact = [finding for finding in (whole, *found) if finding.check == EXACT]
        most = max(exact, key=lambda finding: (finding.closes_gate, (finding.share or 0.0) - (finding.expected or 0.0)))
        found = [most, *(finding for finding in found if finding.check != EXACT)]
    # That there are any, but fewer than k, would tell of a few people.
    return [finding for finding in found if finding.closes_gate or finding.count != 0]


def _whole_rows(rows: Mapping[str, Keys], disclosure: Disclosure) -> out.Finding | None:
    """Exact copies over all shared columns; None without any."""
    if "original" not in rows or "protected" not in rows:
        return None
    flags, *rest = _which_exist(rows["protected"], *(rows[table] for table in ("original", "control") if table in rows))
    if not flags.any():
        return None
    controls = rest[0] if rest else None
    doubles = _others(rows["original"])
    chance = _chance_of(doubles, len(doubles) - 1, len(rows["protected"]))
    return _finding(EXACT, flags, controls, chance, len(doubles), disclosure, where=" in all shared columns")


def _compared_columns_findings(
    pair: Pair, rng: np.random.Generator, workers: int, disclosure: Disclosure
) -> list[out.Finding]:
    """Copies by the compared columns."""
    asked = [_sample_queries(table, rng) for table in (pair.original, pair.control) if table is not None]
    with threads(workers) as pool:
        expected = pool.submit(_chance, pair.original, pair.protected.rows)
        mine, *rest = pool.submit(_copies, asked, pair.protected).result()
        chance = expected.result()
    others = rest[0] if rest else None
    kinds = (
        (EXACT, mine.exact, None if others is None else others.exact, 0),
        (NEAR, mine.near, None if others is None else others.near, 1),
    )
    found = [
        _finding(check, flags, controls, chance[place], pair.original.rows, disclosure)
        for check, flags, controls, place in kinds
        if flags.any() and (check == EXACT or bool((flags & ~mine.exact).any()))
    ]
    if others is not None:
        found += _empty_cells(asked, pair, disclosure)
    if pair.control is None or others is None or not others.exact.any():
        return found
    usual = _chance_of_controls(pair.original, pair.control, pair.protected.rows)
    if _too_many(others.exact, usual):
        share = disclosure.share(float(others.exact.mean()), "both")
        expected_share = disclosure.share(usual.share, "both")
        message = (
            f"the rows of {share_words(share, k=disclosure.k, of='')} of the control are in the release unchanged, "
            f"where {share_words(expected_share, k=disclosure.k)} are expected by chance: people of the control are in "
            "the release, and the risk is too low"
        )
        found.append(
            out.Finding(
                check="control_in_release", closes_gate=True, message=message, share=share, expected=expected_share
            )
        )
    return found


def _empty_cells(asked: Sequence[Table], pair: Pair, disclosure: Disclosure) -> list[out.Finding]:
    """The people who are alone with their pattern of empty cells, and it occurs in the release."""
    tables = (*asked, pair.protected)
    missing = [
        np.packbits(np.column_stack([~table.columns[n].known() for n in _names(table)]), axis=1) for table in tables
    ]
    patterns, codes = np.unique(np.vstack(missing), axis=0, return_inverse=True)
    mine, others, released = np.split(codes.reshape(-1), np.cumsum([table.rows for table in tables[:-1]]))
    alone = np.bincount(np.concatenate([mine, others]), minlength=len(patterns)) == 1
    there = np.bincount(released, minlength=len(patterns)) > 0
    kept = alone & there & patterns.any(axis=1)
    if not kept[mine].any():
        return []
    chance = Chance(float(kept[others].mean()), 0.0)
    found = _finding(EMPTY, kept[mine], kept[others], chance, pair.original.rows, disclosure)
    return [found] if found.closes_gate else []


def _names(table: Table) -> list[str]:
    return [spec.name for spec in table.specs]


def _too_many(controls: Bools, chance: Chance) -> bool:
    """Whether controls have far more copies than people outside the release would."""
    share = float(controls.mean())
    far = share > chance.share + FAR_COPIES
    return far and beyond_error(share, len(controls), chance.share, len(controls), chance.spread)


def _finding(
    check: str,
    flags: Bools,
    controls: Bools | None,
    chance: Chance,
    rows: int,
    disclosure: Disclosure,
    where: str = "",
) -> out.Finding:
    """Compare the share of originals with a copy with that of the control, or with chance."""
    share = float(flags.mean())
    # The originals with one row find a copy together, or not: the spread says by how much more the share varies.
    by_chance = beyond_error(share, len(flags), chance.share, rows, chance.spread)
    by_chance |= chance.most is not None and int(flags.sum()) > max(FEWEST_COPIES, chance.most)
    if controls is None:
        expected, closes = chance.share, by_chance
    else:
        expected = float(controls.mean())
        closes = beyond_error(share, len(flags), expected, len(controls)) or (not controls.any() and by_chance)
    count = disclosure.count(round(share * rows))
    share = disclosure.grid("originals").up(share)
    expected = disclosure.share(expected, "originals" if controls is None else "controls")
    message = copies_message(check, count, disclosure.k, share, expected, controls is not None, closes, where)
    return out.Finding(check=check, closes_gate=closes, message=message, count=count, share=share, expected=expected)


def beyond_error(share: float, records: float, base: float, base_records: float, spread: float = 0.0) -> bool:
    """Whether a share is significantly above another: the lower end of Newcombe's 95% interval is above 0.

    `spread` is an additional standard deviation of the difference.
    """
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    below = share - wilson_bounds(share, records, z)[0]
    above = wilson_bounds(base, base_records, z)[1] - base
    return share - base > math.hypot(below, above, z * spread)


def copies_message(
    check: str, count: int, k: int, share: float, expected: float, with_control: bool, closes: bool, where: str
) -> str:
    """The sentence about copies of originals."""
    what = {
        EXACT: "unchanged" + where,
        NEAR: "with at most one value changed",
        EMPTY: "by empty cells that nobody else has",
    }[check]
    people = people_in_words(count, k, "original", None)
    people = f"row of {people} is" if count == 1 else f"rows of {people} are"
    others = "of the control" if with_control else "expected by chance"
    verdict = "" if closes else ", which is within error"
    most = "at most " if count == 0 < share else ""  # the share is rounded up, and the count hidden
    mine = most + share_words(share, k=k)
    theirs = share_words(expected, k=k, of="" if with_control else "people")
    return f"the {people} in the release {what}: {mine}, and {theirs} {others}{verdict}"


def _sample_queries(table: Table, rng: np.random.Generator) -> Table:
    if table.rows <= MOST_SEARCHED:
        return table
    return table.take(np.sort(rng.choice(table.rows, MOST_SEARCHED, replace=False)).astype(np.intp))


def _copies(tables: Sequence[Table], release: Table) -> list[_Copies]:
    """Who of each table has a copy in the release."""
    whole, released = [row_keys(table) for table in tables], row_keys(release)
    exact = _which_exist(released, *whole)
    near = [flags.copy() for flags in exact]
    if len(release.specs) >= FEWEST_COLUMNS:
        without = [keys_without_one(table, keys) for table, keys in zip(tables, whole, strict=True)]
        for release_keys, *people_keys in zip(keys_without_one(release, released), *without, strict=True):
            for flags, found in zip(near, _which_exist(release_keys, *people_keys), strict=True):
                np.logical_or(flags, found, out=flags)
    return [_Copies(*flags) for flags in zip(exact, near, strict=True)]


def _which_exist(there: Keys, *wanted: Keys) -> list[Bools]:
    """Which keys of each list are among the keys `there`.

    Most are not. So their low bits are looked up first, in both directions, and only keys whose low bits occur on both
    sides are compared whole.
    """
    low = np.uint64((1 << (4 * len(there)).bit_length()) - 1)  # few different keys share so many bits
    places = there & low
    marked = np.zeros(int(low) + 1, dtype=np.bool_)
    marked[places] = True
    perhaps = [np.flatnonzero(marked[keys & low]) for keys in wanted]
    marked[:] = False
    for keys, rows in zip(wanted, perhaps, strict=True):
        marked[keys[rows] & low] = True
    ordered = np.sort(there[marked[places]])
    found = []
    for keys, rows in zip(wanted, perhaps, strict=True):
        flags = np.zeros(len(keys), dtype=np.bool_)
        if len(ordered):
            place = np.minimum(np.searchsorted(ordered, keys[rows]), len(ordered) - 1)
            flags[rows] = ordered[place] == keys[rows]
        found.append(flags)
    return found


def _chance_of(doubles: Floats, others: int, released: int, together: Floats | None = None) -> Chance:
    """Chance for exact copies, from how many of so many other people have each person's row.

    `together` are the people who share a row, and so find a copy of it together. If duplicates are rare they are
    counted as pairs: D equal pairs of n (n - 1) / 2 give at most about (sqrt(D + 1) + 1)² of them, and as many copies
    among n r pairs of a person and a released row, plus 3 standard errors.
    """
    rows = len(doubles)
    varies = _varies(doubles, others, released) * (doubles + 1 if together is None else together)
    most = None
    if float((doubles > 0).mean()) < RARE_DOUBLES:
        pairs = (math.sqrt(float(doubles.sum()) / 2 + 1) + 1) ** 2
        expected = pairs * released / max(1.0, others / 2)
        most = expected + 3 * math.sqrt(expected)
    return Chance(_share_by_chance(doubles, others, released), math.sqrt(float(varies.sum())) / rows, most)


def _chance(originals: Table, released: int) -> tuple[Chance, Chance]:
    """The shares of originals whose row, or whose row except one value, a release of other people would contain.

    Each comes with its standard deviation over releases: which rows a release contains is random, and all originals
    with that row share it. Rows are treated as independent; near copies may occur together.
    """
    whole = row_keys(originals)
    doubles = _others(whole)
    near = np.zeros(originals.rows)
    if len(originals.specs) >= FEWEST_COLUMNS:
        for keys in keys_without_one(originals, whole):
            near += _others(keys) - doubles
    others, near = originals.rows - 1, near + doubles
    spread = float(np.sqrt(_varies(near, others, released)).mean())
    return _chance_of(doubles, others, released), Chance(_share_by_chance(near, others, released), spread)


def _chance_of_controls(originals: Table, control: Table, released: int) -> Chance:
    """The share of controls whose row a release of other people would contain, from originals and controls together."""
    keys = row_keys(control)
    doubles = _others(np.concatenate([row_keys(originals), keys]))[originals.rows :]
    return _chance_of(doubles, originals.rows + control.rows - 1, released, _others(keys) + 1)


def _share_by_chance(doubles: Floats, others: int, released: int) -> float:
    """The share of people with a row among `released` strangers, if d of so many `others` have each one's row.

    Without bias: the d rows are missed by r of the n others with probability C(n - d, r) / C(n, r). The rate d / n in
    1 - exp(-d r / n) would say too little, since that is concave. More released rows than others miss at least the
    mean to the power r / n.
    """
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when tables are checked

    if others < 1:
        return 0.0
    drawn = min(released, others)
    number, place = np.unique(doubles, return_inverse=True)
    left = others - number
    logs = gammaln(left + 1) + gammaln(others - drawn + 1) - gammaln(others + 1)
    missed = np.where(left >= drawn, np.exp(np.minimum(0, logs - gammaln(np.maximum(0, left - drawn) + 1))), 0.0)
    return 1 - math.pow(float(missed[place.reshape(-1)].mean()), released / drawn)


def _varies(doubles: Floats, others: int, released: int) -> Floats:
    """The variance of whether each person's row is among `released` strangers.

    A row without a duplicate would have one about as often as there are rows with a single duplicate to one without
    any, by Good and Turing.
    """
    alone, paired = int((doubles == 0).sum()), int((doubles == 1).sum())
    expected = np.where(doubles > 0, doubles, min(1.0, paired / max(1, alone)))
    missed = np.exp(-expected * released / max(1, others))
    return np.asarray(missed * (1 - missed))


def _others(keys: Keys) -> Floats:
    """The number of other rows with the same key."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return (counts[inverse.reshape(-1)] - 1).astype(np.float64)
