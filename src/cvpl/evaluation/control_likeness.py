"""Validity of a control: drawn from the same population as the originals, and with nobody from the release.

Five tests: each column, all columns together, rows that occur in both tables, rows that occur twice in the control, and
rows that belong together. A test alarms only if the difference is statistically significant and large enough to matter,
so that millions of rows raise no false alarm. Rows are treated as independent draws: where units are declared, the
tables that are compared have one row of each.

A linear classifier two-sample test: how well a linear rule separates the rows of two tables, on held-out rows. Columns
may agree one by one and still differ in their joint distribution. So the rule uses each column's features and products
of features across columns: it can detect a difference in means or in pairwise dependence.

Two-sample tests: distances between two samples, and their p-values. Each distance here is at most the total variation,
which bounds the difference in the share of any event: a limit on it limits the harm. p-values are asymptotic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import beyond_chance
from cvpl.evaluation.repeated_rows import RelatedRows, RepeatedRows, related_rows, repeated_rows
from cvpl.result import ColumnLikeness, ControlLikeness
from cvpl.result.publishing import ALL_NUMBERS, RoundingGrid
from cvpl.tables.columns import ColumnData, Labels, Table
from cvpl.tables.keys import row_keys

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


ALPHA = 1e-5
"""The nominal false-alarm rate of the tests of columns; the docs give the measured one of all tests."""
FAR_COLUMN = 0.05
"""The largest accepted distance between a column's distributions: the share of any event may differ by this much."""
FAR_AREA = 0.53
"""The largest accepted area under the curve."""
RARE_DOUBLES = 0.01
"""Duplicates are unusual if fewer originals than this have one."""
TOO_ALIKE = 0.9
"""If this share of originals has a duplicate, copies in the control are not informative."""
FEWEST_RECORDS = 50
"""Fewer records than this are too few for the tests of columns and of related rows."""
MOST_ROWS = 100_000
"""Tables with more rows are sampled for the column tests."""
MOST_JOINT = 5_000
"""Tables with more rows are sampled for the joint test: the effect-size limits are reached with far fewer."""


@dataclass(frozen=True)
class ColumnTest:
    """The test of one column: its figures, the smaller of the two tests' p-values, and what is said about it."""

    figures: ColumnLikeness
    p_value: float
    message: str


@dataclass(frozen=True)
class JointLikeness:
    """How well all columns together separate the two tables: an area under the curve, 0.5 for chance."""

    area: float
    standard_error: float | None
    differs: bool
    message: str


@dataclass(frozen=True)
class CopiedShare:
    """The share of controls that duplicate an original's row, and the share of originals that duplicate another's.

    `beyond_chance` is (control - original) / (1 - original): the share of the control that must have been copied.
    `suspicious` is the answer of the exact test (`repeated_rows`).
    """

    control_share: float
    original_share: float
    beyond_chance: float
    suspicious: bool
    message: str


@dataclass(frozen=True)
class Doubles:
    """The share of controls whose row occurs in the control more than once, and that share by chance.

    `usual` is false if hardly any original has a duplicate: then doubles are worth a note even without an alarm.
    """

    share: float
    expected: float
    usual: bool
    suspicious: bool
    message: str


@dataclass(frozen=True)
class Relations:
    """Whether rows belong together that were not declared to; `across` if those of control and originals do."""

    found: RelatedRows | None
    message: str

    @property
    def across(self) -> bool:
        """Whether control and originals are related to each other."""
        return self.found is not None and self.found.across


NO_RELATIONS = Relations(None, "rows of a table do not resemble each other more than those of the other")


@dataclass(frozen=True)
class ControlTests:
    """All tests of a control: the figures of a result, and beside them what each test says."""

    figures: ControlLikeness
    columns: tuple[ColumnTest, ...]
    joint: JointLikeness
    copies: CopiedShare
    doubles: Doubles
    relations: Relations = NO_RELATIONS

    @property
    def differences(self) -> list[str]:
        """What is said about columns that differ, and about all of them together if they do."""
        found = [column.message for column in self.columns if column.figures.differs]
        return [*found, self.joint.message] if self.joint.differs else found

    @classmethod
    def of(
        cls,
        columns: tuple[ColumnTest, ...],
        joint: JointLikeness,
        copies: CopiedShare,
        doubles: Doubles,
        relations: Relations,
        *,
        enough: bool,
    ) -> ControlTests:
        """The tests with their figures; `alarms` has a sentence for each test that raised one, and no cell."""
        figures = ControlLikeness(
            alike=True,
            enough=enough,
            area=joint.area,
            copies_beyond_chance=copies.beyond_chance,
            columns=[column.figures for column in columns],
            alarms=[],
        )
        found = cls(figures, columns, joint, copies, doubles, relations)
        alarms = found.differences
        alarms += [copies.message] if copies.suspicious else []
        alarms += [doubles.message] if doubles.suspicious else []
        alarms += [relations.message] if relations.found is not None else []
        return replace(found, figures=figures.model_copy(update={"alike": not alarms, "alarms": alarms}))


def control_likeness(
    original: Table, control: Table, rng: np.random.Generator, grid: RoundingGrid = ALL_NUMBERS
) -> ControlTests:
    """Compare a control with the originals: column by column, jointly, and by rows that are equal or related.

    The tables have the same columns and label codes, and rows that are independent of each other unless a test alarms.
    ALPHA is split over the tests of columns, and evenly again over columns; the other tests are exact. With fewer than
    50 records in a table only rows that occur twice alarm. `grid` has the numbers that messages may contain.
    """
    enough = min(original.rows, control.rows) >= FEWEST_RECORDS
    level = ALPHA / 3
    for_copies, for_relations = rng.spawn(2)
    copies, doubles = _find_repeated_rows(original, control, rng, for_copies, grid)
    relations = _relations(original, control, for_relations, grid) if enough else NO_RELATIONS
    mine, others = (_sample(table, MOST_ROWS, rng) for table in (original, control))
    names = [spec.name for spec in mine.specs]
    columns = tuple(
        column_likeness(name, mine.columns[name], others.columns[name], level / len(names), grid, enough=enough)
        for name in names
    )
    mine, others = (_sample(table, MOST_JOINT, rng) for table in (mine, others))
    found, error = classifier_test(mine, others, rng)
    limit = max(FAR_AREA, 0.5 - error * NormalDist().inv_cdf(level))
    differs = enough and found > limit
    joint = JointLikeness(
        found, error if math.isfinite(error) else None, differs, joint_message(grid.nearest(found), differs)
    )
    return ControlTests.of(columns, joint, copies, doubles, relations, enough=enough)


def joint_message(found: float, differs: bool) -> str:
    """The sentence about all columns together."""
    if differs:
        return (
            f"all columns together separate the control from the originals (area under the curve {found:.2f}, chance "
            "is 0.50): the control comes from another population, and its rate is not the originals' base rate"
        )
    return f"all columns together do not separate the control from the originals (area under the curve {found:.2f})"


def _sample(table: Table, most: int, rng: np.random.Generator) -> Table:
    if table.rows <= most:
        return table
    return table.take(np.sort(rng.choice(table.rows, most, replace=False)).astype(np.intp))


def column_likeness(
    name: str, first: ColumnData, second: ColumnData, level: float, grid: RoundingGrid, *, enough: bool
) -> ColumnTest:
    """The test of one column.

    The distance is that of Kolmogorov and Smirnov for numbers and times and the total variation for labels, among known
    values; beside it stands the difference in missing shares.
    """
    known = first.known(), second.known()
    distance, p_value = _known_distance(first, second, name)
    missing, p_missing = total_variation(*(np.bincount(item.astype(np.int64), minlength=2) for item in known))
    apart = [distance > FAR_COLUMN and p_value < level / 2, missing > FAR_COLUMN and p_missing < level / 2]
    differs = enough and any(apart)
    message = f"column '{name}' has similar distributions in the control and the originals"
    if differs:
        kind = "values" if apart[0] else "missing values"
        message = (
            f"column '{name}': {kind} are distributed differently in the control and the originals (distance "
            f"{grid.nearest(distance if apart[0] else missing):.2f}): the control comes from another population"
        )
    figures = ColumnLikeness(column=name, distance=distance, missing=missing, differs=differs)
    return ColumnTest(figures, min(p_value, p_missing), message)


@singledispatch
def _known_distance(first: ColumnData, second: ColumnData, name: str) -> tuple[float, float]:
    """The distance between the distributions of the known values, and its p-value."""
    return kolmogorov_smirnov(*(column.ordinal()[column.known()] for column in (first, second)))


@_known_distance.register(Labels)
def _label_distance(first: Labels, second: Labels, name: str) -> tuple[float, float]:
    if first.labels != second.labels:
        raise ValueError(f"column {name!r}: the two tables' labels have different codes")
    return total_variation(first.counts(), second.counts())


def _relations(original: Table, control: Table, rng: np.random.Generator, grid: RoundingGrid) -> Relations:
    found = related_rows(_sample(original, MOST_JOINT, rng), _sample(control, MOST_JOINT, rng), rng)
    if found is None:
        return NO_RELATIONS
    names = ", ".join(f"'{name}'" for name in found.columns)
    by = f"by the column {names}" if len(found.columns) == 1 else f"by the columns {names}"
    share = f"about {grid.nearest(found.share):.0%} of the rows have a relative beyond chance"
    if found.across:
        return Relations(
            found,
            f"rows of the control resemble rows of the originals {by} more than each other ({share}): the same people "
            "or households are in both, and the control is no base rate. Draw the control by person or household",
        )
    return Relations(
        found,
        f"rows of the originals, or of the control, belong together {by} ({share}), and no column declares it. Declare "
        "the column that joins them (a household, a class, a site, a person) with the role group",
    )


def _find_repeated_rows(
    original: Table,
    control: Table,
    rng: np.random.Generator,
    for_test: np.random.Generator,
    grid: RoundingGrid,
) -> tuple[CopiedShare, Doubles]:
    """Copies of originals in the control, and doubles in it."""
    keys, others = row_keys(original), row_keys(control)
    ordered = np.sort(keys)
    asked = keys if len(keys) <= MOST_ROWS else rng.choice(keys, MOST_ROWS, replace=False)
    strangers = others if len(others) <= MOST_ROWS else rng.choice(others, MOST_ROWS, replace=False)
    base = float((_times(ordered, asked) > 1).mean())
    share = float((_times(ordered, strangers) > 0).mean())
    beyond = 0.0 if base >= 1 else max(0.0, beyond_chance(share, base))
    tested = repeated_rows(keys, others, for_test)
    suspicious = base < TOO_ALIKE and tested.copied
    shown, usual = grid.nearest(share), grid.nearest(base)
    if suspicious:
        message = (
            f"{shown:.1%} of the control's rows are exact copies of originals, where {usual:.1%} are expected: about "
            f"{grid.nearest(beyond):.1%} of the control seem to be in the release, and its rate is too high"
        )
    elif base >= TOO_ALIKE:
        message = f"{usual:.1%} of the originals have a duplicate, so copies cannot show whether the control overlaps"
    else:
        message = f"{shown:.1%} of the control's rows are copies of originals, and {usual:.1%} are expected"
    copies = CopiedShare(share, base, beyond, suspicious, message)
    return copies, _doubles(tested, grid, usual=base >= RARE_DOUBLES)


def _doubles(tested: RepeatedRows, grid: RoundingGrid, *, usual: bool) -> Doubles:
    message = (
        f"{grid.nearest(tested.doubled):.1%} of the control's rows occur in it more than once, where "
        f"{grid.nearest(tested.expected):.1%} are expected"
    )
    if tested.doubles:
        message += ": people of the control are counted several times, and its rate is not a base rate"
    return Doubles(tested.doubled, tested.expected, usual, tested.doubles, message)


def _times(ordered: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.searchsorted(ordered, keys, "right") - np.searchsorted(ordered, keys, "left")
    return found


FOLDS = 5
MOST_LABELS = 12
"""Each of a column's most common labels has a feature; the other labels have none."""
MOST_PRODUCTS = 300
"""Products of features are sampled if there are more."""
PENALTY = 0.05
"""The ridge penalty, as a share of the rows, on features of variance 1."""

SPREAD = 1.5
"""Folds share most of their training rows, so the mean of their areas varies more than that of independent folds: up to
1.43 times as much on random splits of simulated people and of Adult."""


def classifier_test(first: Table, second: Table, rng: np.random.Generator) -> tuple[float, float]:
    """The cross-fitted area under the ROC curve of a ridge rule, and its standard error under no difference.

    0.5 is chance. Each fold's rows are scored by a rule fitted on the other folds; the area is the mean over folds.
    Given the rule, a fold's area has the Mann-Whitney variance (n + m + 1) / (12 n m); the standard error of the mean
    is widened by SPREAD. (0.5, inf) with too few rows.
    """
    sizes = first.rows, second.rows
    if min(sizes) < 2 * FOLDS:
        return 0.5, math.inf
    X = separation_features(first, second, rng)
    y = np.repeat([0.0, 1.0], sizes)
    fold = np.concatenate([rng.permutation(size) % FOLDS for size in sizes])
    grams = [_gram(X[fold == item], y[fold == item]) for item in range(FOLDS)]
    areas, variances = [], []
    for item in range(FOLDS):
        others = [gram for at, gram in enumerate(grams) if at != item]
        A, b = np.sum([gram[0] for gram in others], axis=0), np.sum([gram[1] for gram in others], axis=0)
        A[1:, 1:] += PENALTY * A[0, 0] * np.eye(len(A) - 1)
        weights = np.linalg.solve(A, b)
        mine = fold == item
        scores = X[mine] @ weights
        apart = scores[y[mine] == 1], scores[y[mine] == 0]
        areas.append(area(*apart))
        n, m = len(apart[0]), len(apart[1])
        variances.append((n + m + 1) / (12 * n * m))
    return float(np.mean(areas)), SPREAD * math.sqrt(sum(variances)) / FOLDS


def area(positive: Floats, negative: Floats) -> float:
    """P(positive > negative) + P(equal) / 2, over all pairs."""
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, side="left")
    upto = np.searchsorted(ordered, positive, side="right")
    return float((below + upto).mean() / (2 * len(negative)))


def _gram(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    return X.T @ X, X.T @ y


def separation_features(first: Table, second: Table, rng: np.random.Generator) -> Floats:
    """An intercept, each column's features and products of features of different columns, all standardized."""
    blocks = [_column(first.columns[spec.name], second.columns[spec.name]) for spec in first.specs]
    owner = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    plain = _standard(np.concatenate(blocks, axis=1))
    left, right = np.triu_indices(len(owner), 1)
    across = np.flatnonzero(owner[left] != owner[right])
    if len(across) > MOST_PRODUCTS:
        across = np.sort(rng.choice(across, MOST_PRODUCTS, replace=False))
    products = _standard(plain[:, left[across]] * plain[:, right[across]])
    return np.concatenate([np.ones((len(plain), 1)), plain, products], axis=1)


def _column(first: ColumnData, second: ColumnData) -> Floats:
    """Labels: one feature for each of the most common. Numbers and times: the rank. All: whether it is missing."""
    known = np.concatenate([first.known(), second.known()])
    return np.stack([(~known).astype(np.float64), *_known_features(first.joined(second), known)], axis=1)


@singledispatch
def _known_features(both: ColumnData, known: NDArray[np.bool_]) -> list[Floats]:
    """The rank of each known value, and its squared distance from the middle rank."""
    values = both.ordinal()
    ranks = np.full(len(values), 0.5)
    _, place, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    if len(counts):
        ranks[known] = ((np.cumsum(counts) - counts / 2) / counts.sum())[place]
    return [ranks, (ranks - 0.5) ** 2]


@_known_features.register(Labels)
def _label_features(both: Labels, known: NDArray[np.bool_]) -> list[Floats]:
    counts = both.counts()
    common = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    return [(both.codes == code).astype(np.float64) for code in common if counts[code]]


def _standard(X: Floats) -> Floats:
    """Scale to mean 0 and variance 1; a constant feature becomes 0."""
    spread = X.std(axis=0)
    result: Floats = (X - X.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    return result


FEWEST_EXPECTED = 10
"""Labels are pooled until each class has this expected count in the smaller sample: below it, the χ² law fails."""


def kolmogorov_smirnov(first: Floats, second: Floats) -> tuple[float, float]:
    """The largest distance between two distribution functions, and its p-value.

    D = max |F1 - F2|;  p = P(K >= D √(nm / (n + m))) under Kolmogorov's law. With ties p is too large, never too small.
    (0, 1) where a sample is empty.
    """
    from scipy.special import kolmogorov  # noqa: PLC0415 - loaded when a test is made

    n, m = len(first), len(second)
    if not n or not m:
        return 0.0, 1.0
    points = np.unique(np.concatenate([first, second]))
    shares = [np.searchsorted(np.sort(item), points, side="right") / len(item) for item in (first, second)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    return distance, float(kolmogorov(distance * math.sqrt(n * m / (n + m))))


def total_variation(first: Ints, second: Ints) -> tuple[float, float]:
    """Half the summed difference of the class shares, and the p-value of the χ² test of no difference.

    `first` and `second` are the counts of the same classes. Classes that are too rare for the test are pooled into one,
    for both figures. (0, 1) if a sample is empty or one class is left.
    """
    n, m = int(first.sum()), int(second.sum())
    if not n or not m:
        return 0.0, 1.0
    together = first + second
    rare = together * min(n, m) / (n + m) < FEWEST_EXPECTED
    a, b = (np.append(item[~rare], item[rare].sum()) for item in (first, second))
    kept = a + b > 0
    a, b = a[kept], b[kept]
    if len(a) < 2:
        return 0.0, 1.0
    distance = float(np.abs(a / n - b / m).sum() / 2)
    pooled = (a + b) / (n + m)
    statistic = float(((a - n * pooled) ** 2 / (n * pooled) + (b - m * pooled) ** 2 / (m * pooled)).sum())
    return distance, chi_square_tail(statistic, len(a) - 1)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """P(χ² >= statistic)."""
    # scipy.stats has the same, and takes seconds to load where scipy.special takes tenths of one.
    from scipy.special import chdtrc  # noqa: PLC0415 - loaded when a test is made

    return float(chdtrc(freedom, statistic))
