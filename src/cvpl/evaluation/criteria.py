"""All formal criteria of one release, from its classes of records with equal quasi-identifiers.

t-closeness     how far the sensitive values of a class are from those of the whole release (Li et al., 2007)
δ-presence      how sure an attacker who has the whole population can be that a person is in the release
class risks     prosecutor, journalist and marketer, by class size (El Emam, Guide to the De-Identification, 2013): a
                prosecutor looks for a person who is known to be in the release, a journalist for any person of the
                population, a marketer for as many links as possible. Without a known population the last two face the
                release's own classes, so their risks are those of the prosecutor, the largest of the three
individual      the Poisson-gamma model with sampling weights (Benedetti and Franconi, 1998): the number of people F_j
risk            that a class of f_j records has in the population is unknown; given f_j it has a negative binomial law
                with success probability p_j, and the risk of a record is the mean of 1 / F_j
compatible      a suppressed cell may have any value, as sdcMicro counts; ARX and pycanon take it for a value of its
sizes           own. Such classes are never smaller, so k is never smaller either

How many people of the population are unique in it, estimated from the class sizes of a sample. Both estimators take the
records for a simple random sample of the population. They are those of ARX.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment import detect
from cvpl.operators.blocking import compress_codes
from cvpl.tables.columns import ColumnData, Table

Ints = NDArray[np.int64]
Numbers = NDArray[np.float64]


Basis = Literal["release", "estimated", "population"]

MOST_COMPARED = 100_000_000
"""The most records compared over all pairs of patterns of suppression; beyond it the sizes are not computed."""
SIZES: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, None))
"""The class sizes between which records are counted."""


@dataclass(frozen=True)
class AttributeCriteria:
    """l-diversity and t-closeness of a sensitive column; `ordered` is None for categories."""

    diversity: Diversity
    equal: float
    ordered: float | None


@dataclass(frozen=True)
class PopulationEstimates:
    """Estimates of a population of `size` people, of which the release is taken to be a simple random sample."""

    size: int
    zayatz: float | None
    pitman: float | None


@dataclass(frozen=True, eq=False)
class ReleaseCriteria:
    """The formal criteria of a release with at least one record and one quasi-identifier."""

    names: tuple[str, ...]
    classes: EquivalenceClasses
    suppressed: float
    """The share of cells of the quasi-identifiers without a value."""
    k_as_any: int | None
    """k if a suppressed cell matches every value."""
    risks: ClassRisks
    basis: Basis
    individual: IndividualRisk | None
    attributes: Mapping[str, AttributeCriteria]
    estimates: PopulationEstimates | None
    presence: tuple[float, float] | None
    before: EquivalenceClasses | None = None
    """The classes of the originals as they are; None if they lack a quasi-identifier."""


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """The whole population: the originals, and everybody else."""

    originals: Table
    others: Table


def release_criteria(
    released: Table,
    names: Sequence[str],
    attributes: Mapping[str, ColumnData],
    *,
    population: int | None = None,
    weights: Numbers | None = None,
    everybody: KnownPopulation | None = None,
    more: Mapping[str, ColumnData] | None = None,
    originals: Table | None = None,
) -> ReleaseCriteria | None:
    """The criteria of a release by the quasi-identifiers `names`; None without records or without quasi-identifiers.

    `population` is the number of people of whom the release is a sample, `weights` how many each record stands for;
    with both the weights estimate the individual risk. `everybody` is the population itself, if it is known.
    `more` are quasi-identifiers that only the release has; the population, and the `originals` as they are, then have
    no classes of their own.
    """
    more = more or {}
    if not released.rows or not (names or more):
        return None
    before = None
    if originals is not None and originals.rows and not more:
        before = EquivalenceClasses.by([_codes(originals.columns[name]) for name in names], originals.rows)
    columns = [_codes(column) for column in (*(released.columns[name] for name in names), *more.values())]
    classes = EquivalenceClasses.by(columns, released.rows)
    own = weights is None and population is not None
    each = np.full(released.rows, max(1.0, (population or 0) / released.rows)) if own else weights
    individual = None if each is None else individual_risk(classes, each)
    people, shares = (
        (None, None) if everybody is None or more else _population_risks(released, names, classes, everybody)
    )
    risks = class_risks(classes, people)
    assert risks is not None  # noqa: S101 - there are records
    basis: Basis = "release" if people is None else "population"
    if people is None and individual is not None:
        basis, mean = "estimated", individual.mean
        risks = ClassRisks(risks.prosecutor_maximum, risks.prosecutor_average, individual.maximum, mean, mean)
    estimates = None
    if population is not None and population >= released.rows:
        found = (estimate(classes.sizes, population) for estimate in (zayatz_uniques, pitman_uniques))
        estimates = PopulationEstimates(population, *found)
    sizes_as_any = compatible_sizes(columns, released.rows)
    return ReleaseCriteria(
        names=(*names, *more),
        classes=classes,
        suppressed=float(np.mean([float((codes < 0).mean()) for codes in columns])),
        k_as_any=None if sizes_as_any is None else int(sizes_as_any.min()),
        risks=risks,
        basis=basis,
        individual=individual,
        attributes={name: _sensitive_criteria(classes, column) for name, column in attributes.items()},
        estimates=estimates,
        presence=shares,
        before=before,
    )


def _codes(column: ColumnData) -> Codes:
    return column.distinct(plain=column.plain)[1]


def _sensitive_criteria(classes: EquivalenceClasses, column: ColumnData) -> AttributeCriteria:
    counts = ClassValueCounts.of_sensitive(classes, _codes(column))
    varied, equal = diversity(counts), equal_distance(counts)
    assert varied is not None and equal is not None  # noqa: PT018, S101 - there are records
    return AttributeCriteria(varied, equal, ordered_distance(counts) if column.ordered else None)


def _population_risks(
    released: Table, names: Sequence[str], classes: EquivalenceClasses, everybody: KnownPopulation
) -> tuple[Numbers, tuple[float, float] | None]:
    """The people of the population in each class of the release, and δ-presence, at the release's granularity."""
    granularity = detect(everybody.originals, released)
    mine, others = (granularity.apply(table) for table in (everybody.originals, everybody.others))
    parts: list[Codes] = []
    for name in names:
        column = released.columns[name].joined(mine.columns[name]).joined(others.columns[name])
        parts.append(_codes(column))
    rows = released.rows
    keys = combined_codes(parts, rows + mine.rows + others.rows)
    people = np.bincount(keys[rows:], minlength=int(keys.max()) + 1).astype(np.float64)
    of_class = np.zeros(classes.count)
    of_class[classes.of] = people[keys[:rows]]
    split = rows + mine.rows
    return of_class, presence([part[rows:split] for part in parts], [part[split:] for part in parts])


def equal_distance(counts: ClassValueCounts) -> float | None:
    """The t of the equal distance: max over classes of 1/2 Σ_v |q_v - p_v|; None without records.

    q_v is the share of value v in the class, p_v in the release. Both sum to 1, so the distance is the sum of q_v - p_v
    over the values that are more frequent in the class, which all occur in it.
    """
    if not len(counts.sizes):
        return None
    whole = np.bincount(counts.value, counts.count, minlength=counts.values) / counts.sizes.sum()
    more = np.maximum(0.0, counts.count / counts.sizes[counts.of] - whole[counts.value])
    return float(np.bincount(counts.of, more).max())


def ordered_distance(counts: ClassValueCounts) -> float | None:
    """The t of the ordered distance: max over classes of 1/(m - 1) Σ_i |Σ over v <= i of (q_v - p_v)|.

    m is the number of different values in the release, in their order; with m = 1 the distance is 0. None without
    records. The cumulative share of a class is constant between two of its values, and that of the release only grows,
    so each stretch is summed with the prefix sums of the latter on both sides of the place where they cross.
    """
    if not len(counts.sizes):
        return None
    if counts.values < 2:
        return 0.0
    whole = np.cumsum(np.bincount(counts.value, counts.count, minlength=counts.values)) / counts.sizes.sum()
    summed = np.concatenate([[0.0], np.cumsum(whole)])
    before = np.cumsum(counts.count)
    starts = np.searchsorted(counts.of, np.arange(len(counts.sizes)))
    reached = (before - (before[starts] - counts.count[starts])[counts.of]) / counts.sizes[counts.of]
    follows = np.append(counts.of[1:] == counts.of[:-1], False)
    until = np.where(follows, np.append(counts.value[1:], 0), counts.values)
    first = counts.value[starts]
    stretches = np.bincount(counts.of, _stretch(whole, summed, counts.value, until, reached))
    stretches += _stretch(whole, summed, np.zeros_like(first), first, np.zeros(len(first)))
    return float(stretches.max() / (counts.values - 1))


def _stretch(
    whole: np.ndarray, summed: np.ndarray, begin: np.ndarray, end: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """Σ |share - whole_j| over begin <= j < end, where `whole` never falls and `summed` are its prefix sums."""
    cross = np.clip(np.searchsorted(whole, share), begin, end)
    below = share * (cross - begin) - (summed[cross] - summed[begin])
    above = (summed[end] - summed[cross]) - share * (end - cross)
    result: np.ndarray = np.maximum(0.0, below) + np.maximum(0.0, above)
    return result


@dataclass(frozen=True)
class IndividualRisk:
    """The largest and the mean risk of a record, and the expected number of right links, Σ f_j r_j."""

    maximum: float
    mean: float
    expected: float


def individual_risk(classes: EquivalenceClasses, weights: Numbers) -> IndividualRisk | None:
    """The risk from sampling weights: how many people of the population each record stands for, 1 or more.

        r_j = E[1 / F_j] = p_j / f_j · 2F1(1, 1; f_j + 1; 1 - p_j)        p_j = f_j / Σ over records of w

    With weights of 1 the release is the population, and r_j = 1 / f_j. None without records.
    """
    if not classes.count:
        return None
    people = np.bincount(classes.of, np.maximum(weights, 1.0), minlength=classes.count).astype(np.float64)
    risk = class_risk(classes.sizes.astype(np.float64), people)
    expected = float((classes.sizes * risk).sum())
    return IndividualRisk(float(risk.max()), expected / classes.records, expected)


def class_risk(sizes: Numbers, people: Numbers) -> Numbers:
    """E[1 / F] of each class of `sizes` records that stand for `people` people."""
    from scipy.special import hyp2f1  # noqa: PLC0415 - loaded when a risk is estimated

    share = np.minimum(1.0, sizes / people)
    result: Numbers = share / sizes * hyp2f1(1.0, 1.0, sizes + 1, 1 - share)
    return result


def presence(people: Sequence[Codes], others: Sequence[Codes]) -> tuple[float, float] | None:
    """(δ_min, δ_max): the least and the largest share of a class who are in the release (Nergiz et al., 2007).

        δ(class) = people of the class / (people and others of the class)

    `people` are the columns of those who are in the release, `others` those of the rest of the population, at the
    granularity of the release. The least is over all classes of the population, so it is 0 if a class has only others.
    None without people.
    """
    mine, rest = (len(columns[0]) if columns else 0 for columns in (people, others))
    if not mine:
        return None
    both = [np.concatenate([one, other]) for one, other in zip(people, others, strict=True)]
    keys = combined_codes(both, mine + rest)
    inside = np.bincount(keys[:mine], minlength=int(keys.max()) + 1)
    share = inside / np.bincount(keys)
    return float(share.min()), float(share.max())


@dataclass(frozen=True)
class ClassRisks:
    """The largest and the average risk of a record, and the share of right links of a marketer."""

    prosecutor_maximum: float
    prosecutor_average: float
    journalist_maximum: float
    journalist_average: float
    marketer: float


def class_risks(classes: EquivalenceClasses, population: Numbers | None = None) -> ClassRisks | None:
    """The three risks; `population` has the number of people F_j of each class in the population.

        prosecutor    maximum 1 / min f_j     average J / n
        journalist    maximum 1 / min F_j     average max(J / Σ F_j, 1/n Σ f_j / F_j)
        marketer      1/n Σ f_j / F_j

    f_j is the size of class j in the release, J the number of classes, n the number of records. F_j is at least f_j.
    Without a population F_j = f_j. None without records.
    """
    if not classes.count:
        return None
    inside = classes.sizes.astype(np.float64)
    whole = inside if population is None else np.maximum(population, inside)
    links = float((inside / whole).sum()) / classes.records
    return ClassRisks(
        prosecutor_maximum=1 / float(inside.min()),
        prosecutor_average=classes.count / classes.records,
        journalist_maximum=1 / float(whole.min()),
        journalist_average=max(classes.count / float(whole.sum()), links),
        marketer=links,
    )


def compatible_sizes(columns: Sequence[Codes], rows: int) -> Ints | None:
    """For each record, the number of records, itself included, that agree in every column that both of them know.

    A code of -1 agrees with every value. Records are compared pattern by pattern: records that know the same columns
    have one pattern. None if there are too many patterns (`MOST_COMPARED`).
    """
    known = combined_codes([(codes >= 0).astype(np.int32) for codes in columns], rows)
    patterns = [np.flatnonzero(known == pattern) for pattern in range(int(known.max(initial=-1)) + 1)]
    if len(patterns) * rows > MOST_COMPARED:
        return None
    if len(patterns) == 1:
        keys = combined_codes([codes for codes in columns if codes[0] >= 0], rows)
        return np.bincount(keys)[keys]
    sizes = np.zeros(rows, dtype=np.int64)
    for mine in patterns:
        for theirs in patterns:
            both = [codes for codes in columns if codes[mine[0]] >= 0 and codes[theirs[0]] >= 0]
            together = np.concatenate([mine, theirs])
            keys = combined_codes([codes[together] for codes in both], len(together))
            counts = np.bincount(keys[len(mine) :], minlength=int(keys.max()) + 1)
            sizes[mine] += counts[keys[: len(mine)]]
    return sizes


Codes = NDArray[np.int32]

_LARGEST = 1 << 62


def combined_codes(columns: Sequence[Codes], rows: int) -> Ints:
    """A number from 0 on for each record, equal for records that are equal in all columns.

    A code of -1 is a missing or suppressed value, and counts as a value of its own. Without columns all records are
    equal.
    """
    keys, size = np.zeros(rows, dtype=np.int64), 1
    for codes in columns:
        values = int(codes.max(initial=-1)) + 2
        if size * values > _LARGEST:
            keys, size = compress_codes(keys, size)
        keys *= values
        keys += codes
        keys += 1
        size *= values
    return compress_codes(keys, size)[0]


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The class of each record, numbered from 0, and the number of records of each class."""

    of: Ints
    sizes: Ints

    @classmethod
    def by(cls, columns: Sequence[Codes], rows: int) -> EquivalenceClasses:
        """The classes of records that are equal in all columns; see `combined_codes`."""
        of = combined_codes(columns, rows)
        return cls(of, np.bincount(of).astype(np.int64))

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.of)

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    @property
    def k(self) -> int | None:
        """The size of the smallest class, k of k-anonymity; None without records."""
        return int(self.sizes.min()) if self.count else None

    @cached_property
    def size_of_record(self) -> Ints:
        """The size of each record's class."""
        return self.sizes[self.of]

    @property
    def average_size(self) -> float | None:
        """Records per class, n / J; None without records."""
        return self.records / self.count if self.count else None

    @property
    def largest(self) -> int | None:
        """The size of the largest class; None without records."""
        return int(self.sizes.max()) if self.count else None

    def share_in_sizes(self, first: int, last: int | None) -> float | None:
        """The share of records in classes of `first` to `last` records, both included; None without records."""
        if not self.records:
            return None
        inside = (self.sizes >= first) & (True if last is None else self.sizes <= last)
        return float(self.sizes[inside].sum()) / self.records


@dataclass(frozen=True, eq=False)
class ClassValueCounts:
    """How often each sensitive value occurs in each class, one entry for each pair that occurs.

    Entries are sorted by class, then by value. A missing value (code -1) is a value of its own, after all others.
    """

    of: Ints
    value: Ints
    count: Ints
    sizes: Ints
    values: int
    """The number of different values in the whole release."""

    @classmethod
    def of_sensitive(cls, classes: EquivalenceClasses, attribute: Codes) -> ClassValueCounts:
        """Count the values of a sensitive column in each class."""
        known = int(attribute.max(initial=-1)) + 1
        codes = np.where(attribute >= 0, attribute, known).astype(np.int64)
        used, codes = np.unique(codes, return_inverse=True)
        width = max(1, len(used))
        pairs, count = np.unique(classes.of * width + codes.reshape(len(attribute)), return_counts=True)
        return cls(pairs // width, pairs % width, count.astype(np.int64), classes.sizes, len(used))


@dataclass(frozen=True)
class Diversity:
    """l-diversity of one sensitive column.

    `distinct` is the least number of different values in a class. `entropy` is the largest l of entropy l-diversity,
    exp of the least entropy of a class. `recursive_c` belongs to recursive (c, l)-diversity with l = `distinct`: the
    release has it for every c above this number; None for l = 1, where every release has it.
    """

    distinct: int
    entropy: float
    recursive_c: float | None


def diversity(counts: ClassValueCounts) -> Diversity | None:
    """The l-diversity of one sensitive column; None without records."""
    if not len(counts.sizes):
        return None
    distinct = int(np.bincount(counts.of).min())
    c = recursive_c(counts, distinct) if distinct > 1 else None
    return Diversity(distinct, entropy_l(counts), c)


def entropy_l(counts: ClassValueCounts) -> float:
    """exp(min over classes of -Σ q_v log q_v), where q_v is the share of value v in the class."""
    share = counts.count / counts.sizes[counts.of]
    entropy = np.bincount(counts.of, -share * np.log(share))
    return float(np.exp(max(0.0, entropy.min())))


def recursive_c(counts: ClassValueCounts, level: int) -> float:
    """The largest r_1 / (r_l + ... + r_m) over classes; r_1 >= r_2 >= ... are the counts of the values of a class.

    Recursive (c, l)-diversity asks for r_1 < c (r_l + ... + r_m) in every class, so it holds for every c above this
    ratio. Every class needs at least l different values.
    """
    order = np.lexsort((-counts.count, counts.of))
    of, count = counts.of[order], counts.count[order]
    starts = np.searchsorted(of, np.arange(len(counts.sizes)))
    rank = np.arange(len(of)) - starts[of]
    tail = np.bincount(of[rank >= level - 1], count[rank >= level - 1], minlength=len(counts.sizes))
    return float((count[starts] / tail).max())


_STEPS, _ACCURACY = 300, 1e-9


def zayatz_uniques(sizes: Ints, population: int) -> float | None:
    """Zayatz's estimate (1991) of the number of population uniques.

        E_1 N / n · (E_1 / J) P(1 | 1) / Σ_j (E_j / J) P(1 | j)        P(1 | j): hypergeometric, one of j is drawn

    E_j is the number of classes of j records, J of all classes, n of records, N of people in the population. None
    without records, and 0 without a unique record.
    """
    if not len(sizes):
        return None
    records = int(sizes.sum())
    size, classes = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    one = np.array([_one_drawn(int(j), records, population) for j in size])
    given = classes[0] * one[0] / float((classes * one).sum())
    return float(classes[0] * given * population / records)


def _one_drawn(j: int, records: int, population: int) -> float:
    """The probability that exactly one of j people is among `records` drawn of the population."""
    others = records - 1
    if population - j < others:
        return 0.0
    logs = math.log(j) + _log_choose(population - j, others) - _log_choose(population, records)
    return math.exp(logs)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def pitman_uniques(sizes: Ints, population: int) -> float | None:
    """The estimate of the number of population uniques under Pitman's model (Hoshino, 2001).

        Γ(θ + 1) / Γ(θ + α) N^α

    θ and α are the maximum likelihood estimates from the sizes. None if they do not exist (no unique record, or no
    class of several records), or if the estimate is above the population.
    """
    records, classes = int(sizes.sum()), len(sizes)
    if not classes or classes == records or int(sizes.min()) > 1:
        return None
    found = pitman_parameters(sizes, records, classes)
    if found is None:
        return None
    theta, alpha = found
    estimate = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population))
    return estimate if estimate <= population else None


def pitman_parameters(sizes: Ints, records: int, classes: int) -> tuple[float, float] | None:
    """θ > 0 and 0 < α < 1 of the largest likelihood.

        log L = Σ_{i=1}^{J-1} log(θ + i α) - Σ_{i=1}^{n-1} log(θ + i) + Σ_j Σ_{i=1}^{f_j-1} log(i - α)

    It is maximized over θ for each α, and over α by golden sections; both curves have one top.
    """
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when an estimate is made

    size, times = np.unique(sizes, return_counts=True)

    def likelihood(theta: float, alpha: float) -> float:
        chosen = classes - 1
        first = chosen * math.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
        second = gammaln(theta + records) - gammaln(theta + 1)
        third = float((times * (gammaln(size - alpha) - gammaln(1 - alpha))).sum())
        return float(first - second + third)

    def best_theta(alpha: float) -> float:
        return math.exp(_top(lambda log: likelihood(math.exp(log), alpha), math.log(1e-6), math.log(1e6 * records)))

    alpha = _top(lambda value: likelihood(best_theta(value), value), 1e-6, 1 - 1e-6)
    theta = best_theta(alpha)
    at_an_end = alpha < 1e-5 or alpha > 1 - 1e-5 or theta > 1e5 * records
    return None if at_an_end else (theta, alpha)


def _top(curve: Callable[[float], float], low: float, high: float) -> float:
    """Where a curve with one top is largest, by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = curve(left), curve(right)
    for _ in range(_STEPS):
        if high - low < _ACCURACY * max(1.0, abs(low)):
            break
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = curve(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = curve(left)
    return (low + high) / 2
