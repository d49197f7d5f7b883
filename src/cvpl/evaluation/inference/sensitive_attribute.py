"""A sensitive column: its values in the release, the truth about people, beliefs, and when a guess is right.

A guess of a label is right if it is the person's label. A guess g of a number v is right if it lies within the
tolerance, |g - v| <= t, or |g - v| <= 0.05 |v| if no tolerance is stated. Numbers are kept in cells that are narrower
than half the tolerance, and a cell is guessed at the median of its released values, so that everybody in a cell is
right. A released group of labels is guessed as one of its members, as in `sensitive_groups`.

Released values of a sensitive attribute that are groups, such as {A, B} or North/*: how their weight is shared among
the members.

    count(v)      = released records with exactly v + sum over groups g that name v of   records with g / members of g
    share(v in g) = count(v) / sum of the counts of the members of g

An attacker who reads {A, B} knows that the sensitive attribute is A or B, and how common both are. A member that no
record has exactly still has a share, because the records of its groups are split among their members first.

What an attacker believes of a person's sensitive attribute, and how often the guess that follows is right. Beliefs are
a sparse matrix: a row for each person, the weight of every value of the sensitive attribute in it. A row without
weights is a person of whom the attacker learned nothing; then it guesses what is best for anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.search.blocks import ranges
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Times
from cvpl.tables.meaning.labels import find_covers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


RELATIVE = 0.05
"""Without a stated tolerance, a guess of a number is right within this share of the number."""
DAY = 86_400e6
"""Without a stated tolerance, a guess of a time is right within a day, in microseconds."""
MANY_LABELS = 30
"""A column of more labels than this, all of which are numbers, is a column of numbers."""
_CELLS = 1 << 40
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Tolerance:
    """The largest error of a right guess: `share` of the number plus `absolute`; of these one is 0."""

    share: float = 0.0
    absolute: float = 0.0

    def around(self, truth: Floats) -> Floats:
        """The largest error of a right guess of each number."""
        allowed: Floats = (self.share * np.abs(truth) + self.absolute) * (1 + _ROUNDING)
        return allowed

    def cells(self, values: Floats) -> Ints:
        """A cell for each number: numbers of a cell are less than half a tolerance apart."""
        if self.absolute:
            return np.floor(np.clip(values / (self.absolute / 2.5), -_CELLS, _CELLS)).astype(np.int64)
        if not self.share:
            return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
        size = np.abs(values)
        logs = np.log(np.where(size > 0, size, 1.0)) / np.log1p(self.share / 2.5)
        # A zero is a cell of its own, between those of negative and of positive numbers.
        steps = np.floor(logs).astype(np.int64) + _CELLS
        return np.where(size > 0, np.sign(values).astype(np.int64) * steps, 0)


@dataclass(frozen=True, eq=False)
class SensitiveTruth:
    """The sensitive attributes of some people: codes of labels (-1: missing), or numbers; and who has one."""

    known: Flags
    codes: Ints
    numbers: Floats | None

    def take(self, rows: NDArray[np.intp]) -> SensitiveTruth:
        """The sensitive attributes of some of the people."""
        return SensitiveTruth(self.known[rows], self.codes[rows], None if self.numbers is None else self.numbers[rows])


@dataclass(frozen=True, eq=False)
class SensitiveAttribute:
    """A sensitive column of a release with the truth about originals and controls.

    `released` is the value of each record, from 0 on, -1 where it is missing. `values` are the numbers that the values
    stand for, None for labels. `shares` are the shares of released records with each value. Values of labels are also
    the members of released groups; `members` is then a sparse matrix with the share of each value (columns) in each
    group (rows), and 1 for a value in itself. A group has no share of its own. `members` is None without a group.
    """

    name: str
    kind: Literal["category", "number", "time"]
    released: Ints
    shares: Floats
    values: Floats | None
    tolerance: Tolerance
    original: SensitiveTruth
    control: SensitiveTruth | None
    members: Any = None

    @property
    def size(self) -> int:
        """The number of values in the release, with its groups and their members."""
        return len(self.shares)

    @classmethod
    def of(
        cls,
        name: str,
        original: ColumnData,
        released: ColumnData,
        control: ColumnData | None,
        tolerance: float | None = None,
        spec: ColumnSpec | None = None,
    ) -> SensitiveAttribute:
        """The attribute of three columns with labels coded alike. `tolerance` is that of numbers, in days of times.

        Labels that are all numbers are numbers, if there are more than 30 of them. `spec` says which labels a released
        one covers by levels, if the column has any.
        """
        people = [original, released] if control is None else [original, released, control]
        if isinstance(original, Labels):
            numbers = _as_numbers([column for column in people if isinstance(column, Labels)])
            if numbers is None:
                return cls._of_labels(name, people, spec or ColumnSpec(name, "sensitive", "category"))
            return cls._of_numbers(name, "number", numbers, _tolerance(tolerance, 1.0, None))
        if isinstance(original, Times):
            found = _tolerance(tolerance, DAY, DAY)
            return cls._of_numbers(name, "time", [column.ordinal() for column in people], found)
        found = _tolerance(tolerance, 1.0, None)
        return cls._of_numbers(name, "number", [column.ordinal() for column in people], found)

    @classmethod
    def _of_labels(cls, name: str, people: list[Any], spec: ColumnSpec) -> SensitiveAttribute:
        codes, counts = people[1].codes.astype(np.int64), people[1].counts()
        own = np.any([column.counts() > 0 for column in (people[0], *people[2:])], axis=0)
        groups = group_members(spec, people[1].labels, own, counts > 0)
        named = np.zeros(len(counts), dtype=np.bool_)
        named[[code for members in groups.values() for code in members]] = True
        used = np.concatenate([np.flatnonzero(counts), np.flatnonzero(named & (counts == 0))])
        place = np.full(len(people[1].labels) + 1, -1, dtype=np.int64)  # the last one is for missing values
        place[used] = np.arange(len(used))
        # Labels that only people have come after those of the release, and are never guessed.
        others = np.setdiff1d(np.arange(len(place) - 1), used)
        place[others] = len(used) + np.arange(len(others))
        truths = [SensitiveTruth(column.codes >= 0, place[column.codes], None) for column in (people[0], *people[2:])]
        made = cls._made(name, "category", place[codes], len(used), None, Tolerance(), truths)
        if not groups:
            return made
        from scipy.sparse import identity  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        members = identity(len(used), format="lil")
        for code, shares in member_shares(groups, counts).items():
            members[place[code], place[code]] = 0.0
            members[place[code], place[list(groups[code])]] = shares
        whole = members.tocsr()
        whole.eliminate_zeros()
        return replace(made, members=whole, shares=np.asarray(made.shares @ whole))

    @classmethod
    def _of_numbers(
        cls, name: str, kind: Literal["number", "time"], people: list[Floats], tolerance: Tolerance
    ) -> SensitiveAttribute:
        known = np.isfinite(people[1])
        cells, codes = np.unique(tolerance.cells(people[1][known]), return_inverse=True)
        released = np.full(len(known), -1, dtype=np.int64)
        released[known] = codes.reshape(-1)
        order = np.lexsort((people[1][known], released[known]))
        starts = np.searchsorted(released[known][order], np.arange(len(cells) + 1))
        middle = (starts[:-1] + starts[1:] - 1) // 2
        values = people[1][known][order][middle] if len(cells) else np.zeros(0)
        nowhere = [np.full(len(numbers), -1, dtype=np.int64) for numbers in (people[0], *people[2:])]
        truths = [
            SensitiveTruth(np.isfinite(numbers), codes, numbers)
            for numbers, codes in zip((people[0], *people[2:]), nowhere, strict=True)
        ]
        return cls._made(name, kind, released, len(cells), values, tolerance, truths)

    @classmethod
    def _made(
        cls,
        name: str,
        kind: Literal["category", "number", "time"],
        released: Ints,
        size: int,
        values: Floats | None,
        tolerance: Tolerance,
        truths: list[SensitiveTruth],
    ) -> SensitiveAttribute:
        counts = np.bincount(released[released >= 0], minlength=size).astype(np.float64)
        shares = counts / max(1.0, counts.sum())
        return cls(name, kind, released, shares, values, tolerance, truths[0], truths[1] if len(truths) > 1 else None)

    def right(self, guess: Ints, truth: SensitiveTruth) -> Floats:
        """1 where the guessed value of a person is right, else 0; a guess of -1 is no guess.

        The guess of a group is drawn from its members: it is right with the share of the person's value in it.
        """
        if self.values is None:
            hits = np.asarray((guess >= 0) & (guess == truth.codes), dtype=np.float64)
            if self.members is not None:
                able = (guess >= 0) & (truth.codes >= 0) & (truth.codes < self.size)
                hits[able] = np.asarray(self.members[guess[able], truth.codes[able]]).reshape(-1)
            return hits
        assert truth.numbers is not None  # noqa: S101 - the truth about numbers is numbers
        if not len(self.values):
            return np.zeros(len(guess))
        near = np.abs(self.values[guess] - truth.numbers) <= self.tolerance.around(truth.numbers)
        return np.asarray((guess >= 0) & near, dtype=np.float64)

    def shared(self, beliefs: Any) -> Any:
        """Beliefs, a sparse matrix of people by values, with the weight of each group shared among its members."""
        return beliefs if self.members is None else (beliefs @ self.members).tocsr()

    def weights(self) -> tuple[Floats, Floats | None]:
        """How rare the attribute of each original and each control is: w = -log of its share among all these people.

        The share of a number is that of the people within its tolerance. 0 where the sensitive attribute is missing.
        """
        truths = [self.original] if self.control is None else [self.original, self.control]
        if self.values is None:
            codes = np.concatenate([truth.codes[truth.known] for truth in truths])
            counts = np.append(np.bincount(codes), 0)  # the last one is for missing values, coded -1
            shares = [counts[truth.codes] / max(1, len(codes)) for truth in truths]
        else:
            everybody = np.sort(np.concatenate([_numbers(truth)[truth.known] for truth in truths]))
            shares = [share_around(_numbers(truth), self.tolerance, everybody) for truth in truths]
        found = [
            np.where(truth.known, -np.log(np.where(truth.known, share, 1.0)), 0.0)
            for truth, share in zip(truths, shares, strict=True)
        ]
        return found[0], found[1] if len(found) > 1 else None

    @cached_property
    def reach(self) -> Any:
        """A sparse matrix: 1 if a guess of value g (columns) is right for the value v (rows); None for labels."""
        if self.values is None:
            return None
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        order = np.argsort(self.values, kind="stable")
        values = self.values[order]
        allowed = self.tolerance.around(values)
        first = np.searchsorted(values, values - allowed, side="left")
        last = np.searchsorted(values, values + allowed, side="right")
        rows = np.repeat(order, last - first)
        columns = order[ranges(first.astype(np.int64), (last - first).astype(np.int64))]
        return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.size, self.size))

    @cached_property
    def rarity(self) -> Floats:
        """-log of the share of released records for which each value would be right: what an attacker can know."""
        shares = self.shares if self.reach is None else np.asarray(self.reach @ self.shares)
        return np.asarray(-np.log(np.clip(shares, 1e-12, 1.0)))


def _numbers(truth: SensitiveTruth) -> Floats:
    assert truth.numbers is not None  # noqa: S101 - the truth about numbers is numbers
    return truth.numbers


def share_around(truth: Floats, tolerance: Tolerance, everybody: Floats) -> Floats:
    """The share of everybody whose value lies within the tolerance of each true one."""
    known = np.nan_to_num(truth)
    allowed = tolerance.around(known)
    count = np.searchsorted(everybody, known + allowed, "right") - np.searchsorted(everybody, known - allowed, "left")
    return np.asarray(np.maximum(1, count) / max(1, len(everybody)))


def _tolerance(stated: float | None, unit: float, default: float | None) -> Tolerance:
    if stated is not None:
        return Tolerance(absolute=stated * unit)
    return Tolerance(share=RELATIVE) if default is None else Tolerance(absolute=default)


def _as_numbers(columns: list[Labels]) -> list[Floats] | None:
    """The numbers that the labels are; None if some label is not a number, or there are few."""
    used = np.unique(np.concatenate([column.codes[column.codes >= 0] for column in columns]))
    if len(used) <= MANY_LABELS:
        return None
    numbers = np.full(len(columns[0].labels) + 1, np.nan)
    for code in used:
        try:
            numbers[code] = float(columns[0].labels[code])
        except ValueError:
            return None
    return [numbers[column.codes] for column in columns] if np.isfinite(numbers[used]).all() else None


Groups = Mapping[int, tuple[int, ...]]
"""The members of each group, by their codes."""

MOST_LABEL_PAIRS = 10_000_000
"""With more pairs of a released label that nobody has and another label, labels are not read as groups."""


def group_members(spec: ColumnSpec, labels: Sequence[str], own: Flags, released: Flags) -> Groups:
    """The members of each released label that covers others; `own` are labels that some person has.

    A label that somebody has, or that covers no value, is a value of its own.
    """
    if int((released & ~own).sum()) * len(labels) > MOST_LABEL_PAIRS:
        return {}
    values = np.ones(len(labels), dtype=np.bool_)
    values[[cover.code for cover in find_covers(spec, labels, own, released)]] = False
    values |= own
    found: dict[int, set[int]] = {}
    for cover in find_covers(spec, labels, own, released, values):
        members = {code for code in cover.members if values[code]}
        if members and not own[cover.code]:
            found.setdefault(cover.code, set()).update(members)
    return {code: tuple(sorted(members)) for code, members in sorted(found.items())}


def member_shares(groups: Groups, counts: Floats) -> dict[int, Floats]:
    """The share of each member in each group; `counts` are the released records of every label."""
    whole = counts.astype(np.float64).copy()
    whole[list(groups)] = 0.0
    for code, members in groups.items():
        whole[list(members)] += counts[code] / len(members)
    return {code: whole[list(members)] / whole[list(members)].sum() for code, members in groups.items()}


Beliefs = Any
"""A `scipy.sparse.csr_matrix` of people by values."""

_TIED = 1e-9


def normalize_rows(weights: Beliefs) -> Beliefs:
    """The weights with rows that sum to 1; empty rows stay empty."""
    from scipy.sparse import diags  # noqa: PLC0415 - loaded when sensitive attributes are inferred

    total = np.asarray(weights.sum(axis=1)).reshape(-1)
    return (diags(np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)) @ weights).tocsr()


def drawn_hits(beliefs: Beliefs, attribute: SensitiveAttribute, truth: SensitiveTruth) -> Floats:
    """The probability that each person is guessed right, if the guess is drawn with the beliefs as probabilities."""
    people = np.repeat(np.arange(beliefs.shape[0]), np.diff(beliefs.indptr))
    right = attribute.right(beliefs.indices.astype(np.int64), truth.take(people))
    return np.asarray(np.bincount(people, right * beliefs.data, minlength=beliefs.shape[0]), dtype=np.float64)


def best_hits(beliefs: Beliefs, attribute: SensitiveAttribute, truth: SensitiveTruth, *, by_rarity: bool) -> Floats:
    """Whether each person is guessed right by the value with the largest expected score, shared among tied values.

        expected score of a guess g = sum over values v of   belief(v) w(v)   if g is right for v

    w(v) is 1, or with `by_rarity` -log of the share of the value in the release. Without beliefs the shares of the
    release take their place. The belief in a group is shared among its members.
    """
    worth = attribute.rarity if by_rarity else np.ones(attribute.size)
    expected = _expected_scores(attribute.shared(beliefs), attribute, worth)
    counts = np.diff(expected.indptr)
    found = np.zeros(expected.shape[0])
    some = np.flatnonzero(counts)
    if len(some):
        people = np.repeat(np.arange(expected.shape[0]), counts)
        best = np.zeros(expected.shape[0])
        best[some] = np.maximum.reduceat(expected.data, expected.indptr[some])
        tied = expected.data >= best[people] * (1 - _TIED)
        right = attribute.right(expected.indices[tied].astype(np.int64), truth.take(people[tied]))
        hits = np.bincount(people[tied], right, minlength=len(found))
        found = hits / np.maximum(1, np.bincount(people[tied], minlength=len(found)))
    nothing = np.flatnonzero(counts == 0)
    if len(nothing):
        found[nothing] = commonest_hits(attribute, truth.take(nothing), by_rarity=by_rarity)
    return found


def commonest_hits(attribute: SensitiveAttribute, truth: SensitiveTruth, *, by_rarity: bool) -> Floats:
    """The hits of one guess for everybody, by the release: the commonest value, or that of the largest score."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

    people = len(truth.known)
    if not attribute.size:
        return np.zeros(people)
    worth = attribute.rarity if by_rarity else np.ones(attribute.size)
    expected = _expected_scores(csr_matrix(attribute.shares[None, :]), attribute, worth)
    tied = expected.indices[expected.data >= expected.data.max(initial=0.0) * (1 - _TIED)]
    found = np.zeros(people)
    for value in tied:
        found += attribute.right(np.full(people, int(value), dtype=np.int64), truth) / len(tied)
    return found


def _expected_scores(beliefs: Beliefs, attribute: SensitiveAttribute, worth: Floats) -> Beliefs:
    """The expected score of every guess."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

    weighted = csr_matrix((beliefs.data * worth[beliefs.indices], beliefs.indices, beliefs.indptr), shape=beliefs.shape)
    # With one value in the release its rarity is 0, and the guess is still that value.
    return weighted if attribute.reach is None else (weighted @ attribute.reach).tocsr()
