"""The best candidates by agreement, from an index on rare values and a bound for the rest.

Records that agree on many columns usually agree on a rare value. So a query first scores the candidates that share its
rarest values, which are few; their scores set a threshold, the bar. A candidate that shares none of these values can
score at most the sum of the query's other weights: if that is below the bar, the search is over.

Otherwise the candidates are searched in zones: they are sorted by the columns with common values, so that neighbours
are similar, and cut into zones of sixteen. An upper bound on the scores in a zone is known without scoring it: for the
query's common values from the smallest and the largest code of the zone in each column, for the rare ones from the
lists of candidates with each value. Most zones stay below the bar and are skipped, sixteen neighbouring zones at a time
where their common bound does.

    the query's values   rare <-------------------------------------> common
    candidates with them  ||     |||       ||||||||      (too many to score one by one)
                          scored           zones:  [ ][ ][x][ ][ ][x][x][ ]    x: may beat the bar, scored fully

The bounds of zones and of their candidates are sums of integers, each rounded up; candidates that reach the bar are
scored by the sum over the columns in their order, as `AgreementScorer.pairs` computes it, and only that score counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.operators.similarity import AgreementScorer
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.machine import threads
from cvpl.search.rare_values.counting_sort import stable_order
from cvpl.search.tree.simd import LANES, add_agreement, add_overlap, at_least, load, lowest_bit, store, zero
from cvpl.search.two_best import ROOM, insert, is_skipped, write

Ints = NDArray[np.int64]
Words = NDArray[np.int32]
Array = Any

ZONE = LANES
LOOKED_AT = 256
"""The largest number of candidates scored one by one, from the lists of candidates with a value."""
QUERIES_AT_ONCE = 512
RARE = 0.25
"""A value with fewer candidates than this share of the zones is looked up in its list, zone by zone."""
_NO_CODE = np.iinfo(np.int32).max
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RareValues:
    """The index of a block's candidates, in the order of the zones.

    A column that is compared twice, for near values and for equal ones, stands here once.
    `records` (places x columns) are their codes, and `zoned` the same codes zone by zone, sixteen of a column together.
    `rows[place]` is a candidate's row; `lists` are places sorted by code, column by column, and `listed` these codes. A
    zone's `low` and `high` (columns x zones, padded to sixteens) are over known values; without any, low > high.
    `lowest` and `highest` are the same for each sixteen zones.
    """

    records: Words
    zoned: Words
    rows: Ints
    lists: Words
    listed: Words
    low: Words
    high: Words
    lowest: Words
    highest: Words

    @classmethod
    def of(cls, b: Words, workers: int = 1) -> RareValues:
        """Index the rows of `b`, one code per column, with so many threads."""
        count, columns = b.shape
        order = places = np.arange(count, dtype=np.int32)
        unsorted = np.ascontiguousarray(b.T)
        for column in _sorted_by(unsorted)[::-1]:
            order = stable_order(unsorted[column], order)
        rows, zones = order.astype(np.int64), -(-count // ZONE)
        codes, lists, listed = np.empty((3, columns, count), dtype=np.int32)
        zoned = np.empty((zones, columns, ZONE), dtype=np.int32)
        low, high = _no_ranges(columns, zones)
        lowest, highest = _no_ranges(columns, low.shape[1] // LANES)

        def fill(column: int) -> None:
            padded = np.full(zones * ZONE, -1, dtype=np.int32)
            padded[:count] = codes[column] = unsorted[column][rows]
            there = zoned[:, column] = padded.reshape(zones, ZONE)
            lists[column] = stable_order(codes[column], places)
            listed[column] = np.sort(codes[column])
            low[column, :zones] = np.where(there >= 0, there, _NO_CODE).min(axis=1)
            high[column, :zones] = there.max(axis=1)
            together = low.shape[1] // LANES
            lowest[column, :together] = low[column].reshape(together, LANES).min(axis=1)
            highest[column, :together] = high[column].reshape(together, LANES).max(axis=1)

        with threads(workers) as pool:
            list(pool.map(fill, range(columns)))
        ranges = low, high, lowest, highest
        return cls(np.ascontiguousarray(codes.T), zoned.ravel(), rows, lists, listed, *ranges)

    def search(
        self,
        scorer: AgreementScorer,
        queries: Ints,
        skip_query: Ints,
        skip_candidate: Ints,
        found: BestCandidates,
        into: Ints,
        numbers: Ints,
    ) -> Ints:
        """Search some of the scorer's queries and write the results; those of query q go to place into[q].

        Pairs to skip are sorted by query. `numbers` are the candidates' numbers in `found`, sorted. Returns the queries
        that have to be searched in another way.
        """
        place = np.empty(len(self.rows), dtype=np.int64)
        if len(skip_query):
            place[self.rows] = np.arange(len(place))
        first, last = (np.searchsorted(skip_query, queries, side) for side in ("left", "right"))
        failed = np.zeros(len(queries), dtype=np.bool_)
        worth = scorer.worth
        _search(
            scorer.a,
            queries,
            np.array(scorer.places, dtype=np.int64),
            worth.start,
            worth.first,
            worth.last,
            worth.agree,
            worth.differ,
            2.0**30 / max(1.0, worth.most - worth.least),
            self.records,
            self.zoned,
            self.rows,
            self.lists,
            self.listed,
            self.low,
            self.high,
            self.lowest,
            self.highest,
            first,
            last,
            place[skip_candidate] if len(skip_candidate) else skip_candidate,
            into,
            numbers,
            found.best,
            found.row,
            found.second,
            found.second_row,
            found.ties,
            failed,
        )
        return queries[failed]


def _no_ranges(columns: int, zones: int) -> tuple[Words, Words]:
    """The ranges of zones without known values, padded to sixteens."""
    low, high = np.full((2, columns, -(-zones // LANES) * LANES), -1, dtype=np.int32)
    low[:] = _NO_CODE
    return low, high


def _sorted_by(codes: Words) -> list[int]:
    """The columns in the order in which candidates are sorted by them: the most informative first, rare values last.

    A column's information is its entropy. Columns of mostly rare values come last: their lists give better bounds.
    """
    count = codes.shape[1]
    zones = max(1, count // ZONE)
    informative: list[tuple[float, int]] = []
    rare: list[tuple[float, int]] = []
    for column, there in enumerate(codes):
        counts = np.bincount(there + 1)
        counts = counts[counts > 0]
        entropy = float(np.log(count) - (counts * np.log(counts)).sum() / count)
        (rare if entropy > np.log(count) - np.log(max(1.0, RARE * zones)) else informative).append((-entropy, column))
    return [column for _, column in sorted(informative) + sorted(rare)]


@njit(nogil=True, cache=True)
def _ends(codes: Array, low: int, high: int) -> Any:
    """The start and end of the codes from `low` to `high` among sorted codes."""
    return np.searchsorted(codes, low, side="left"), np.searchsorted(codes, high, side="right")


@njit(nogil=True, cache=True)
def _score(
    place: int, there: Array, records: Array, first: Array, last: Array, agree: Array, otherwise: Array
) -> float:
    """The score of one candidate, summed in the order of the columns."""
    score = 0.0
    for column in range(len(there)):
        code = records[place, there[column]]
        if code >= first[column] and code <= last[column]:
            score += agree[column]
        elif code >= 0:
            score += otherwise[column]
    return score


@njit(nogil=True, cache=True)
def _nobody_agrees(begins: Array, ends: Array, missing: Array, otherwise: Array) -> bool:
    """Whether no candidate agrees with the query on any column, and all have the same score."""
    for column in range(len(begins)):
        if ends[column] > begins[column] or (missing[column] and otherwise[column] != 0.0):
            return False
    return True


@njit(nogil=True, cache=True)
def _all_tied(
    otherwise: Array, rows: Array, first: int, last: int, skips: Array, top: Array, who: Array, near: Array, many: Array
) -> None:
    """The result of a query that disagrees with every candidate: all are tied, and the lowest rows come first."""
    score = 0.0
    for column in range(len(otherwise)):
        score += otherwise[column]
    found, row = 0, 0
    while found < 2 and row < len(rows):
        left_out = False
        for at in range(first, last):
            left_out |= rows[skips[at]] == row
        if not left_out:
            top[found], who[found] = score, row
            found += 1
        row += 1
    near[0], many[0] = score, len(rows) - (last - first)


@njit(nogil=True, cache=True)
def _bounds(
    rare: Array,
    low: Array,
    high: Array,
    left: int,
    there: Array,
    common: Array,
    first: Array,
    last: Array,
    most: Array,
    least: Array,
) -> Any:
    """The bounds of sixteen ranges of candidates, from `left` on: what rare values add, and the common columns."""
    total = load(rare, left)
    for column in range(len(there)):
        if common[column]:
            at = there[column] * len(rare) + left
            total = add_overlap(
                total, load(low, at), load(high, at), first[column], last[column], most[column], least[column]
            )
    return total


@njit(nogil=True, cache=True)
def _search(
    a: Array,
    queries: Array,
    there: Array,
    start: Array,
    table_first: Array,
    table_last: Array,
    table_agree: Array,
    differ: Array,
    scale: float,
    records: Array,
    zoned: Array,
    rows: Array,
    lists: Array,
    listed: Array,
    low: Array,
    high: Array,
    lowest: Array,
    highest: Array,
    skip_first: Array,
    skip_last: Array,
    skips: Array,
    into: Array,
    numbers: Array,
    best: Array,
    best_row: Array,
    second: Array,
    second_row: Array,
    ties: Array,
    failed: Array,
) -> None:
    """The search itself; see the module and `RareValues.search`. `scale` turns scores into integers.

    `there` has for every column that is compared the one of the index that holds its codes.
    """
    (count, held), columns = records.shape, len(there)
    zones, width, wide = -(-count // ZONE), low.shape[1], lowest.shape[1]
    flat_low, flat_high, flat_lowest, flat_highest = low.ravel(), high.ravel(), lowest.ravel(), highest.ravel()
    first, last = np.empty(columns, np.int64), np.empty(columns, np.int64)
    agree, otherwise = np.empty(columns), np.empty(columns)
    gain, loss = np.empty(columns, np.int64), np.empty(columns, np.int64)
    most, least = np.empty(columns), np.empty(columns)
    begins, ends = np.empty(columns, np.int64), np.empty(columns, np.int64)
    top, who = np.empty(2), np.empty(2, np.int64)
    near, many = np.empty(ROOM), np.empty(ROOM, np.int64)
    bound, together = np.empty(width, np.int32), np.empty(wide, np.int32)
    more_rare, most_rare = np.empty(width, np.int32), np.empty(wide, np.int32)
    stamp, stamped = np.zeros(width, np.int64), 0
    high_gain, low_gain = np.empty(columns, np.int64), np.empty(columns, np.int64)
    common = np.empty(columns, np.bool_)
    missing = np.zeros(columns, np.bool_)
    for column in range(columns):
        missing[column] = listed[there[column], 0] < 0
    for number in range(len(queries)):
        query = queries[number]
        rest = 0.0
        for column in range(columns):
            code = a[query, column]
            first[column], last[column], agree[column], otherwise[column] = 1, 0, 0.0, 0.0
            begins[column], ends[column] = 0, 0
            if code >= 0:
                at = start[column] + code
                first[column], last[column], agree[column] = table_first[at], table_last[at], table_agree[at]
                otherwise[column] = differ[column]
                if first[column] <= last[column]:
                    begins[column], ends[column] = _ends(listed[there[column]], first[column], last[column])
            # The most that the column can add: with a candidate that agrees, and without.
            least[column] = max(otherwise[column], 0.0) if missing[column] else otherwise[column]
            most[column] = max(agree[column], least[column]) if ends[column] > begins[column] else least[column]
            rest += most[column]
            gain[column] = np.int64(np.ceil(agree[column] * scale))
            loss[column] = np.int64(np.ceil(otherwise[column] * scale))
        # The rarest values first, and the bound for candidates without any of them.
        order = np.argsort(ends - begins)
        top[0], top[1], who[0], who[1] = -np.inf, -np.inf, -1, -1
        many[:] = 0
        fits, over, looked = True, False, 0
        if _nobody_agrees(begins, ends, missing, otherwise):
            _all_tied(otherwise, rows, skip_first[number], skip_last[number], skips, top, who, near, many)
            over = True
        for taken in range(0 if over else columns):
            column = order[taken]
            looked += ends[column] - begins[column]
            if looked > LOOKED_AT:
                break
            for at in range(begins[column], ends[column]):
                place = lists[there[column], at]
                seen = False
                for earlier in range(taken):
                    other = order[earlier]
                    code = records[place, there[other]]
                    seen |= (code >= first[other]) & (code <= last[other])
                if seen or is_skipped(place, skip_first[number], skip_last[number], skips):
                    continue
                score = _score(place, there, records, first, last, agree, otherwise)
                fits &= insert(score, rows[place], top, who, near, many)
            rest += least[column] - most[column]
            if rest < min(top[1], top[0] - TIE) - _ROUNDING:
                over = True
                break
        if fits and not over:
            # Zone by zone. The lists have set the bar; all results are scored again.
            bar = min(top[1], top[0] - TIE) - _ROUNDING
            limit = np.int64(np.floor(max(bar * scale, -(2.0**30))))
            base = np.int64(0)
            more_rare[:], most_rare[:] = 0, 0
            for column in range(columns):
                high_gain[column] = np.int64(np.ceil(most[column] * scale))
                low_gain[column] = np.int64(np.ceil(least[column] * scale))
                common[column] = ends[column] - begins[column] > RARE * zones
                if not common[column]:
                    base += low_gain[column]
                    more = np.int64(np.ceil((most[column] - least[column]) * scale))
                    stamped += 1
                    for at in range(begins[column], ends[column]):
                        zone = lists[there[column], at] // ZONE
                        if stamp[zone] != stamped:
                            stamp[zone] = stamped
                            more_rare[zone] += more
                            most_rare[zone // LANES] = max(most_rare[zone // LANES], more_rare[zone])
            for left in range(0, wide, LANES):
                total = _bounds(
                    most_rare, flat_lowest, flat_highest, left, there, common, first, last, high_gain, low_gain
                )
                store(together, left, total)
            top[0], top[1], who[0], who[1] = -np.inf, -np.inf, -1, -1
            many[:] = 0
            # The most promising sixteen zones first: they raise the bar for the others.
            promising, promise = 0, np.int64(-(2**31))
            for sixteen in range(width // LANES):
                if together[sixteen] > promise:
                    promising, promise = sixteen, together[sixteen]
            for step in range(width // LANES + 1):
                sixteen = promising if step == 0 else step - 1
                if (step > 0 and sixteen == promising) or together[sixteen] < limit - base:
                    continue
                left = sixteen * LANES
                total = _bounds(more_rare, flat_low, flat_high, left, there, common, first, last, high_gain, low_gain)
                store(bound, left, total)
                open_zones = at_least(load(bound, left), limit - base)
                while open_zones:
                    zone = left + lowest_bit(open_zones)
                    open_zones &= open_zones - 1
                    if zone >= zones or bound[zone] < limit - base:
                        continue
                    total = zero()
                    for column in range(columns):
                        total = add_agreement(
                            total,
                            load(zoned, (zone * held + there[column]) * ZONE),
                            first[column],
                            last[column],
                            gain[column],
                            loss[column],
                        )
                    members = at_least(total, limit)
                    while members:
                        place = zone * ZONE + lowest_bit(members)
                        members &= members - 1
                        if place < count and not is_skipped(place, skip_first[number], skip_last[number], skips):
                            score = _score(place, there, records, first, last, agree, otherwise)
                            fits &= insert(score, rows[place], top, who, near, many)
                    bar = max(bar, min(top[1], top[0] - TIE) - _ROUNDING)
                    limit = np.int64(np.floor(max(bar * scale, -(2.0**30))))
        if not fits:
            failed[number] = True
            continue
        write(into[query], top, who, near, many, numbers, best, best_row, second, second_row, ties)
