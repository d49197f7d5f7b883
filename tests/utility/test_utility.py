"""Utility: the four figures by hand, against slow and obvious second opinions, and by the laws they must obey."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.distance import jensenshannon
from sklearn.linear_model import Ridge

from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.vectorization import CategoryFeatures, ColumnChoice, Vectorization
from cvpl.tables.column_store import ColumnStore
from cvpl.tables.columns import ColumnSpec, Numbers, Pair, Table, Times
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.pair import read_inputs
from cvpl.utility import (
    DownstreamAccuracy,
    TargetAccuracy,
    correlation_preservation,
    distance_preservation,
    downstream_accuracy,
    jensen_shannon,
    marginal_similarity,
    utility,
)
from cvpl.utility.downstream import LinearModel
from examples import examples
from worlds import COLUMNS, make_pair, worlds

NUMBER = {"role": "attribute", "type": "numeric"}
CATEGORY = {"role": "attribute", "type": "category"}
REGION = {**CATEGORY, "separator": "/"}
WHEN = {"role": "attribute", "type": "datetime"}
CHOICES = {"when": ColumnChoice(features=("hour", "day_of_week", "month", "elapsed_days"))}
FIGURES = (
    "correlation_preservation",
    "marginal_similarity",
    "downstream_accuracy_ratio",
    "distance_preservation",
)


def seeded(seed=0):
    return np.random.default_rng(seed)


def one_column(column, original, protected):
    return make_pair({"it": column}, {"it": original}, {"it": protected})


def correlation_of(pair, vectorization=Vectorization()):  # noqa: B008 - frozen settings
    return correlation_preservation(pair, vectorization.fit([pair.original, pair.protected]))


def marginals_of(pair, vectorization=Vectorization()):  # noqa: B008
    return marginal_similarity(pair, vectorization.fit([pair.original, pair.protected])).columns


def distance_of(pair, matches=None, vectorization=Vectorization(), **more):  # noqa: B008
    return distance_preservation(
        pair, vectorization.fit([pair.original, pair.protected]), seeded(), matches=matches, **more
    )


def same_rows(count):
    return np.arange(count), np.arange(count)


def with_intervals(pair, name, low, high):
    """The pair with the released column of numbers as the intervals from `low` to `high`."""
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    columns = {**pair.protected.columns, name: Numbers((low + high) / 2, low, high)}
    return Pair(pair.original, Table("protected", len(low), pair.protected.specs, columns), None)


# Correlation preservation


def test_correlations_that_move_to_other_columns_are_not_kept():
    """Corr(D) = (1, 0, 0) over the pairs xy, xz, yz and Corr(D') = (0, 0, 1): rho = -1/2, which counts as 0."""
    x, z = [-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]
    columns = {"x": NUMBER, "y": NUMBER, "z": NUMBER}
    found = correlation_of(make_pair(columns, {"x": x, "y": x, "z": z}, {"x": x, "y": z, "z": z}))
    assert found.correlation == pytest.approx(-0.5)
    assert (found.figure, found.pairs) == (0.0, 3)


def test_the_indicators_of_one_column_are_not_compared_with_each_other():
    """Three labels and two make six pairs, not ten."""
    values = {"a": ["p", "q", "r", "p"], "b": ["s", "t", "t", "s"]}
    assert correlation_of(make_pair({"a": CATEGORY, "b": CATEGORY}, values, values)).pairs == 6


def test_a_feature_that_is_constant_in_one_table_has_correlation_zero_there():
    """The x is released as a constant: Corr(D) = (1, 0, 0) over xy, xz, yz and Corr(D') = (0, 0, 1), rho = -1/2."""
    x, z = [-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0]
    columns = {"x": NUMBER, "y": NUMBER, "z": NUMBER}
    pair = make_pair(columns, {"x": x, "y": x, "z": z}, {"x": [5.0] * 4, "y": z, "z": z})
    found = correlation_of(pair)
    assert (found.correlation, found.pairs) == (pytest.approx(-0.5), 3)


def test_a_feature_that_is_constant_in_both_tables_is_left_out():
    """A fourth column that never varies adds no pair."""
    rng = seeded()
    sides = [{name: rng.normal(size=9).tolist() for name in "xyz"} | {"w": [at] * 9} for at in (2.0, 2.0)]
    assert correlation_of(make_pair(dict.fromkeys("wxyz", NUMBER), *sides)).pairs == 3


def test_a_release_of_constants_keeps_no_correlation():
    """The original's columns hang together, the release's do not vary at all: 0, not undefined."""
    rng = seeded()
    values = {name: rng.normal(size=30).tolist() for name in "xyz"}
    pair = make_pair(dict.fromkeys("xyz", NUMBER), values, {name: [1.0] * 30 for name in "xyz"})
    assert correlation_of(pair).correlation == 0.0


def test_without_a_pattern_in_the_original_correlation_is_undefined():
    """One pair of columns has no pattern, and neither have constants."""
    two = make_pair({"x": NUMBER, "y": NUMBER}, *[{"x": [1.0, 2.0, 4.0], "y": [2.0, 1.0, 4.0]}] * 2)
    assert correlation_of(two) == replace(correlation_of(two), correlation=None, pairs=1)
    constants = {name: [1.0] * 5 for name in "xyz"}
    assert correlation_of(make_pair(dict.fromkeys("xyz", NUMBER), constants, constants)).figure is None


# Marginal similarity


def test_divergence_by_hand():
    """For (1, 0) and (1/2, 1/2) the middle is (3/4, 1/4); where nothing is shared the divergence is 1, at most."""
    expected = (log2(4 / 3) + log2(2 / 3) / 2 + 1 / 2) / 2
    assert jensen_shannon(np.array([2.0, 0.0]), np.array([5.0, 5.0])) == pytest.approx(expected)
    assert jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 3.0])) == 1.0
    assert jensen_shannon(np.array([1.0, 3.0]), np.array([2.0, 6.0])) == 0.0


REGIONS = ["N/u", "N/r", "S/u", "S/r"]
# Each of four labels has 1/4; "N/*" says (4 - 2) / (4 - 1) of a label, so each label gets 1/6 and 1/3 is not said.
LEVEL_1 = 1 - (log2((1 / 4) / (5 / 24)) + 4 / 6 * log2((1 / 6) / (5 / 24)) + 1 / 3 * log2(2)) / 2


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        (REGIONS, 1.0),
        (["N/*", "N/*", "S/*", "S/*"], LEVEL_1),
        (["N", "N", "S", "S"], LEVEL_1),
        (["{N/u, N/r}", "{N/r,N/u}", "{S/u, S/r}", "{S/u, S/r}"], LEVEL_1),
        (["*/*"] * 4, 0.0),
        ([None] * 4, 0.0),
        (["{N/u, N/r, S/u, S/r}"] * 4, 0.0),
        (["elsewhere"] * 4, 0.0),
    ],
    ids=["as it was", "level 1", "its name alone", "sets", "stars", "missing", "all of them", "another label"],
)
def test_a_coarser_label_scores_less_and_one_that_allows_everything_nothing(released, expected):
    """A label's weight goes to what it allows, as far as it says anything, and the rest to what is not said."""
    assert marginals_of(one_column(REGION, REGIONS, released))["it"] == pytest.approx(expected)


def test_a_masked_code_allows_the_codes_that_start_like_it():
    """The mask 12* allows 121 and 122 of three codes, and says (3 - 2) / (3 - 1): weights 1/4, 1/4 and 1/2."""
    pair = one_column(CATEGORY, ["121", "122", "13"], ["12*", "12*", "12*"])
    p, q = np.array([1, 1, 1, 0]) / 3, np.array([1 / 4, 1 / 4, 0, 1 / 2])
    assert marginals_of(pair)["it"] == pytest.approx(1 - jensenshannon(p, q, base=2) ** 2)


def test_missing_values_are_a_value_of_their_own():
    """Where both tables miss the same share nothing is lost; where only the release does, a quarter has no like."""
    kept = one_column(CATEGORY, ["a", "b", "b", None], ["b", None, "a", "b"])
    assert marginals_of(kept)["it"] == pytest.approx(1.0)
    lost = one_column(CATEGORY, ["a", "a", "a", "a"], ["a", "a", "a", None])
    assert marginals_of(lost)["it"] == pytest.approx(1 - jensenshannon([1, 0], [3 / 4, 1 / 4], base=2) ** 2)


def test_an_interval_is_spread_over_the_originals_that_it_allows():
    """[1, 2] allows two of four values and says 2/3: 1/3 each to 1 and 2, and 1/3 is not said."""
    plain = one_column(NUMBER, [1.0, 2.0, 3.0, 4.0], [0.0] * 4)
    q = np.array([1, 1, 1, 1, 2]) / 6
    expected = 1 - jensenshannon([1 / 4] * 4 + [0], q, base=2) ** 2
    halves = with_intervals(plain, "it", [1, 1, 3, 3], [2, 2.5, 4, 4])
    assert marginals_of(halves)["it"] == pytest.approx(expected)
    assert marginals_of(with_intervals(plain, "it", [0] * 4, [9] * 4))["it"] == pytest.approx(0.0)
    assert marginals_of(with_intervals(plain, "it", [0.5, 1.5, 2.5, 3.5], [1.5, 2.5, 3.5, 4.5]))["it"] == 1.0


def test_numbers_are_compared_on_bins_of_equally_many_originals():
    """Of a hundred values each bin holds five; nothing is told apart in a bin, nothing shared beyond the range."""
    values = np.arange(1.0, 101.0)
    lowest = values - (values - 1) % 5  # 1, 1, 1, 1, 1, 6, ...
    assert marginals_of(one_column(NUMBER, values.tolist(), lowest.tolist()))["it"] == pytest.approx(1.0)
    moved = np.where(values <= 5, 500.0, values)
    expected = 1 - jensenshannon([1 / 20] * 20 + [0], [0] + [1 / 20] * 20, base=2) ** 2
    assert marginals_of(one_column(NUMBER, values.tolist(), moved.tolist()))["it"] == pytest.approx(expected)
    assert marginals_of(one_column(NUMBER, values.tolist(), (values + 100).tolist()))["it"] == pytest.approx(0.0)


def test_a_time_is_compared_by_its_instants_and_by_the_features_in_use():
    """Noons released an hour early: every hour is another, which counts for half; elapsed days are the instants."""
    noons = np.datetime64("2024-01-01T12", "us") + np.arange(10) * np.timedelta64(1, "D")
    pair = one_column(WHEN, noons.tolist(), (noons - np.timedelta64(1, "h")).tolist())
    instants = 1 - jensenshannon([1] * 10 + [0], [0] + [1] * 10, base=2) ** 2  # the first day is before all originals
    assert marginals_of(pair)["it"] == pytest.approx(instants)
    features = Vectorization(columns={"it": ColumnChoice(features=("hour", "elapsed_days"))})
    assert marginals_of(pair, features)["it"] == pytest.approx((instants + 0) / 2)


def test_a_month_allows_the_days_in_it():
    """A span is spread as an interval is: two of four days allowed, as for the numbers 1 to 4."""
    days = np.array(["2024-01-10", "2024-01-20", "2024-02-10", "2024-02-20"], dtype="datetime64[us]")
    first = np.array(["2024-01-01", "2024-01-01", "2024-02-01", "2024-02-01"], dtype="datetime64[us]")
    pair = one_column(WHEN, days.tolist(), days.tolist())
    spans = {"it": Times(first, first + np.timedelta64(28, "D"))}
    coarse = Pair(pair.original, Table("protected", 4, pair.protected.specs, spans), None)
    expected = 1 - jensenshannon([1 / 4] * 4 + [0], np.array([1, 1, 1, 1, 2]) / 6, base=2) ** 2
    assert marginals_of(coarse)["it"] == pytest.approx(expected)


# Downstream accuracy


def downstream_of(original, protected, columns=None):
    columns = columns or dict.fromkeys(original, CATEGORY)
    return downstream_accuracy(make_pair(columns, original, protected), Vectorization(), seeded())


def test_what_is_learned_from_turned_labels_is_always_wrong():
    """In the original b says a; the release turns b's labels round, so that every prediction from it is wrong."""
    a, b = ["x", "y"] * 10, ["p", "q"] * 10
    found = downstream_of({"a": a, "b": b}, {"a": a, "b": b[::-1]})
    assert found.targets == (TargetAccuracy("a", 20, 1.0, 0.0, 0.5), TargetAccuracy("b", 20, 1.0, 0.0, 0.5))
    assert (found.original, found.protected, found.commonest, found.ratio, found.figure) == (1.0, 0.0, 0.5, 0.0, 0.0)


def test_a_coarser_label_leaves_a_guess_among_those_it_allows():
    """The column says the region, which is released at level 1: the compass is right and the rest a guess of two."""
    region = ["N/u", "N/r", "S/u", "S/r"] * 5
    found = downstream_of(
        {"a": ["1", "2", "3", "4"] * 5, "region": region},
        {"a": ["1", "2", "3", "4"] * 5, "region": [f"{label[0]}/*" for label in region]},
        {"a": CATEGORY, "region": REGION},
    )
    assert found.targets[1] == TargetAccuracy("region", 20, 1.0, 0.5, 0.25)


def test_which_columns_are_predicted():
    """Those with 2 to 20 labels in the original; constants, names and numbers are not, and the rest is no target."""
    columns = {"one": CATEGORY, "two": CATEGORY, "twenty": CATEGORY, "many": CATEGORY, "number": NUMBER}
    values = {
        "one": ["x"] * 42,
        "two": ["x", "y"] * 21,
        "twenty": [str(at % 20) for at in range(42)],
        "many": [str(at % 21) for at in range(42)],
        "number": [float(at) for at in range(42)],
    }
    assert [target.column for target in downstream_of(values, values, columns).targets] == ["two", "twenty"]


def test_without_another_column_the_commonest_label_is_all_there_is():
    """One column alone: both models guess the commonest of its labels, four of five."""
    values = {"it": ["x", "x", "x", "x", "y"]}
    assert downstream_of(values, values).targets == (TargetAccuracy("it", 5, 0.8, 0.8, 0.8),)


def test_a_ratio_above_one_counts_as_one_and_without_a_right_prediction_it_is_undefined():
    """Raw 0.6 / 0.5 is kept as 1.2 and counts as 1; x / 0 is nothing; no target, nothing."""
    better = DownstreamAccuracy((TargetAccuracy("a", 10, 0.5, 0.6, 0.4),))
    assert (better.ratio, better.figure) == (pytest.approx(1.2), 1.0)
    assert DownstreamAccuracy((TargetAccuracy("a", 10, 0.0, 0.6, 0.4),)).figure is None
    assert DownstreamAccuracy(()).figure is None


# Distance preservation


def test_distances_of_the_same_people():
    """People at 0, 1, 3 released at 0, 2, 3: distances (1, 3, 2) against (2, 3, 1), rho = 1/2."""
    found = distance_of(one_column(NUMBER, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0]), same_rows(3))
    assert (found.correlation, found.basis, found.pairs) == (pytest.approx(0.5), "same_people", 3)


def test_distances_turned_round_count_as_nothing():
    """Distances (0, 1, 1) against (1, 1/2, 1/2): rho = -1 is kept raw and counts as 0."""
    pair = one_column(NUMBER, [0.0, 0.0, 1.0], [0.0, 1.0, 0.5])
    found = distance_of(pair, same_rows(3))
    assert (found.correlation, found.figure) == (pytest.approx(-1.0), 0.0)


def test_without_matches_distributions_are_compared_and_named():
    """Two matched people are one pair, which is too few; then, and without matches, nobody corresponds."""
    pair = one_column(NUMBER, [0.0, 1.0, 3.0, 7.0], [7.0, 0.0, 1.0, 3.0])
    for matches in (None, same_rows(2), same_rows(0)):
        found = distance_of(pair, matches)
        assert (found.basis, found.correlation, found.pairs) == ("distributions", pytest.approx(1.0), 6)
    assert distance_of(pair, same_rows(4)).correlation < 0.5


def test_a_record_that_two_people_share_is_not_compared_with_itself():
    """Originals 0 and 1 have the same released record: of the three pairs of matches two are compared."""
    pair = one_column(NUMBER, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0])
    assert distance_of(pair, (np.array([0, 1, 2]), np.array([0, 0, 2]))).pairs == 2


def test_equal_distances_in_the_original_are_undefined_and_in_the_release_nothing():
    """Constants in the original leave nothing to keep; constants in the release keep nothing."""
    varied, constant = [0.0, 1.0, 3.0], [1.0, 1.0, 1.0]
    assert distance_of(one_column(NUMBER, constant, varied), same_rows(3)).figure is None
    assert distance_of(one_column(NUMBER, varied, constant), same_rows(3)).correlation == 0.0
    assert distance_of(one_column(NUMBER, varied, constant)).correlation == 0.0


# Against slow and obvious second opinions


def random_pair(seed, rows=45, others=50):
    """Two tables with every type, missing values, and a release with intervals, spans, coarse and foreign labels."""
    rng = seeded(seed)
    start = np.datetime64("2024-01-01T00", "us")

    def some(values):
        return [None if rng.random() < 0.1 else value for value in values]

    def table(count, places, codes):
        hours = rng.integers(0, 5000, count) * np.timedelta64(1, "h")
        return {
            "age": some(rng.integers(18, 80, count).astype(float).tolist()),
            "code": some(rng.choice(codes, count).tolist()),
            "place": some(rng.choice(places, count).tolist()),
            "amount": some(rng.integers(0, 6, count).astype(float).tolist()),
            "colour": some(rng.choice(["r", "g", "b"], count, p=[0.6, 0.3, 0.1]).tolist()),
            "when": some((start + hours).tolist()),
            "secret": ["x"] * count,
        }

    original = table(rows, ["N/u", "N/r", "S/u", "S/r", "S/x", "E"], ["AA1", "AA2", "AB1"])
    pair = make_pair(COLUMNS, original, table(others, ["N/*", "N/u", "S", "{N/r, E}", "W/u"], ["AA1", "AA*", "AB1"]))
    low = np.floor(rng.integers(10, 90, others) / 10) * 10
    wide = rng.random(others) < 0.6
    age = np.where(rng.random(others) < 0.1, np.nan, low)
    columns = {
        **pair.protected.columns,
        "age": Numbers(age + 4.5 * wide, age, age + 9 * wide),
        "when": Times(first := pair.protected.columns["when"].first, first + np.timedelta64(20, "D") * wide),
    }
    return Pair(pair.original, Table("protected", others, pair.protected.specs, columns), None)


def dense(pair, vectorization):
    space = vectorization.fit([pair.original, pair.protected])
    return space, space.of(pair.original).dense(), space.of(pair.protected).dense()


SETTINGS = [
    Vectorization(columns=CHOICES),
    Vectorization(encode="hierarchical", missing="indicator", columns=CHOICES),
    Vectorization(encode="frequency", scale="robust", columns=CHOICES),
    Vectorization(scale="none", columns={**CHOICES, "code": ColumnChoice(vectorize=False)}),
]


@pytest.mark.parametrize("vectorization", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_correlation_equals_that_of_the_dense_matrix(vectorization, seed):
    """Column by column with numpy's corrcoef, pair by pair in a loop."""
    pair = random_pair(seed)
    space, *matrices = dense(pair, vectorization)
    categories = [part for part in space.parts if isinstance(part, CategoryFeatures)]
    coded = {part.start + at for part in categories for at in range(part.width)}

    def correlation(matrix, i, j):
        if min(np.ptp(matrix[:, i]), np.ptp(matrix[:, j])) < 1e-12:
            return 0.0
        return np.corrcoef(matrix[:, i], matrix[:, j])[0, 1]

    live = [i for i in range(space.width) if any(np.ptp(matrix[:, i]) >= 1e-12 for matrix in matrices)]
    pairs = [(i, j) for i, j in combinations(live, 2) if space.owners[i] != space.owners[j] or not {i, j} & coded]
    entries = [[correlation(matrix, i, j) for i, j in pairs] for matrix in matrices]
    found = correlation_preservation(pair, space)
    assert found.pairs == len(pairs)
    assert found.correlation == pytest.approx(np.corrcoef(*entries)[0, 1], abs=1e-9)


def allowed_by_hand(label, originals):
    """The original's labels that a released one allows, None for a label of another kind."""
    if label in originals:
        return [label]
    if label.startswith("{"):
        return [member.strip() for member in label[1:-1].split(",") if member.strip() in originals]
    if label.endswith("*") and "/" not in label:
        return [o for o in originals if len(o) == len(label) and o.startswith(label.rstrip("*"))]
    return [o for o in originals if o.split("/")[0] == label.split("/")[0]] if "/u" not in label else []


def similarity_by_hand(evaluate_truth, original, protected):
    """1 - scipy's Jensen-Shannon distance, squared, of two lists of cells that `weigh` turns into weights."""
    sides = []
    for cells in (original, protected):
        weights = {}
        for cell in cells:
            for value, weight in evaluate_truth(cell).items():
                weights[value] = weights.get(value, 0.0) + weight
        sides.append(weights)
    values = sorted(set(sides[0]) | set(sides[1]), key=str)
    p, q = ([weights.get(value, 0.0) for value in values] for weights in sides)
    return 1 - jensenshannon(p, q, base=2) ** 2


def weigh_label(originals):
    def evaluate_truth(label):
        if label is None:
            return {None: 1.0}
        allowed = allowed_by_hand(label, originals)
        if not allowed:
            return {label: 1.0}
        said = (len(originals) - len(allowed)) / (len(originals) - 1)
        return {None: 1 - said} | {value: said / len(allowed) for value in allowed}

    return evaluate_truth


def weigh_number(originals):
    values = sorted(set(originals))
    if len(values) <= 20:
        upper = values
    else:
        ordered = sorted(originals)
        upper = sorted({ordered[int(np.ceil(len(ordered) * k / 20)) - 1] for k in range(1, 21)})

    def bin_of(value):
        if value > values[-1]:
            return "above"
        return "below" if value < values[0] else next(at for at, end in enumerate(upper) if value <= end)

    def evaluate_truth(cell):
        low, high, middle = cell
        if np.isnan(middle):
            return {None: 1.0}
        allowed = [value for value in values if low <= value <= high] if high > low else []
        if not allowed:
            return {bin_of(middle): 1.0}
        said = (len(values) - len(allowed)) / (len(values) - 1)
        weights = {None: 1 - said}
        for value in allowed:
            weights[bin_of(value)] = weights.get(bin_of(value), 0.0) + said / len(allowed)
        return weights

    return evaluate_truth


def cells_of(column):
    if isinstance(column, Numbers):
        return list(zip(column.low, column.high, column.values, strict=True))
    ends = [column.first, column.last, column.middle()]
    return list(zip(*(np.where(np.isnat(t), np.nan, t.astype(np.int64).astype(float)) for t in ends), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_marginals_equal_those_counted_cell_by_cell(seed):
    """Weights in dictionaries, one cell after the other, and scipy's divergence."""
    pair = random_pair(seed)
    vectorization = Vectorization(columns=CHOICES)
    space = vectorization.fit([pair.original, pair.protected])
    found = marginal_similarity(pair, space)
    expected = {}
    for spec in pair.original.specs:
        columns = [table.columns[spec.name] for table in (pair.original, pair.protected)]
        if spec.type == "category":
            cells = [[None if c < 0 else column.labels[c] for c in column.codes] for column in columns]
            expected[spec.name] = similarity_by_hand(weigh_label({c for c in cells[0] if c is not None}), *cells)
            continue
        views = [[cells_of(column) for column in columns]]
        for feature in space.number_features:
            if feature.spec.name == spec.name and feature.name in ("hour", "day_of_week", "month"):
                views.append([[(v, v, v) for v in feature.raw(column)] for column in columns])
        parts = [
            similarity_by_hand(weigh_number([c[2] for c in cells[0] if not np.isnan(c[2])]), *cells) for cells in views
        ]
        expected[spec.name] = np.mean(parts)
    assert found.columns == pytest.approx(expected, abs=1e-9)
    assert found.figure == pytest.approx(np.mean(list(expected.values())), abs=1e-9)


@pytest.mark.parametrize("vectorization", SETTINGS)
def test_accuracy_equals_that_of_models_fitted_without_each_tested_person(vectorization):
    """scikit-learn's ridge regression, fitted anew for every original that is left out, on the dense matrix."""
    pair = random_pair(5)
    scaled = vectorization.model_copy(update={"scale": "z_score"})
    space, original, protected = dense(pair, scaled)
    found = {target.column: target for target in downstream_accuracy(pair, vectorization, seeded()).targets}
    assert list(found) == ["code", "place", "colour"]
    for name, target in found.items():
        columns = [table.columns[name] for table in (pair.original, pair.protected)]
        cells = [[None if c < 0 else column.labels[c] for c in column.codes] for column in columns]
        classes = sorted({c for c in cells[0] if c is not None})
        truths = []
        for side in cells:
            truth = np.zeros((len(side), len(classes)))
            for row, cell in enumerate(side):
                allowed = [] if cell is None else allowed_by_hand(cell, set(classes))
                for label in allowed:
                    truth[row, classes.index(label)] = 1 / len(allowed)
            truths.append(truth)
        used = [i for i in range(space.width) if space.owners[i] != name]
        released = Ridge(alpha=1.0, solver="cholesky").fit(protected[:, used], truths[1])
        hits = {"original": [], "protected": []}
        for row, cell in enumerate(cells[0]):
            if cell is None:
                continue
            others = np.arange(len(original)) != row
            own = Ridge(alpha=1.0, solver="cholesky").fit(original[others][:, used], truths[0][others])
            for side, model in (("original", own), ("protected", released)):
                scores = model.predict(original[[row]][:, used])[0]
                tied = scores >= scores.max() - 1e-9
                hits[side].append(tied[classes.index(cell)] / tied.sum())
        assert target.original == pytest.approx(np.mean(hits["original"]), abs=1e-9)
        assert target.protected == pytest.approx(np.mean(hits["protected"]), abs=1e-9)
        known = [cell for cell in cells[0] if cell is not None]
        assert target.commonest == pytest.approx(max(map(known.count, classes)) / len(known))


def test_held_out_predictions_equal_those_of_models_fitted_anew():
    """Two numbers from all categories, in closed form and by scikit-learn without each record in turn."""
    pair = random_pair(6)
    space, original, _ = dense(pair, Vectorization())
    vectors = space.of(pair.original)
    numbers = space.number_places
    used = np.setdiff1d(np.arange(space.width), numbers)
    model = LinearModel.fit(vectors.moments(space.neutral), space.neutral, used, numbers)
    x, y = original[:, used], original[:, numbers]
    assert model(vectors) == pytest.approx(Ridge(alpha=1.0).fit(x, y).predict(x), abs=1e-9)
    others = ~np.eye(len(x), dtype=bool)
    anew = [Ridge(alpha=1.0).fit(x[row], y[row]).predict(x[~row])[0] for row in others]
    assert model.held_out(vectors, y) == pytest.approx(np.array(anew), abs=1e-9)


@pytest.mark.parametrize("vectorization", SETTINGS)
def test_distances_equal_those_of_the_dense_matrix(vectorization):
    """All pairs in a loop: the same people, and the distributions by their quantiles."""
    pair = random_pair(7)
    space, original, protected = dense(pair, vectorization)
    rng = seeded(3)
    matches = rng.permutation(45)[:40], rng.permutation(50)[:40]
    pairs = list(combinations(range(40), 2))
    before = [np.linalg.norm(original[matches[0][i]] - original[matches[0][j]]) for i, j in pairs]
    after = [np.linalg.norm(protected[matches[1][i]] - protected[matches[1][j]]) for i, j in pairs]
    found = distance_preservation(pair, space, seeded(), matches=matches)
    assert found.correlation == pytest.approx(np.corrcoef(before, after)[0, 1], abs=1e-9)
    sides = [
        np.quantile([np.linalg.norm(a - b) for a, b in combinations(matrix, 2)], np.arange(0.005, 1, 0.01))
        for matrix in (original, protected)
    ]
    found = distance_preservation(pair, space, seeded())
    assert found.correlation == pytest.approx(np.corrcoef(*sides)[0, 1], abs=1e-9)


# Laws


@settings(max_examples=examples(30), deadline=None)
@given(worlds())
def test_every_figure_is_a_share_or_undefined(world):
    """Whatever the tables, constants, single records and missing values included."""
    found = utility(world.pair, seeded(), vectorization=Vectorization(columns=CHOICES))
    assert list(found.figures) == list(FIGURES)
    defined = [figure for figure in found.figures.values() if figure is not None]
    assert all(0 <= figure <= 1 for figure in defined)
    assert found.mean == (pytest.approx(np.mean(defined)) if defined else None)


@settings(max_examples=examples(30), deadline=None)
@given(worlds())
def test_a_release_that_equals_its_original_keeps_everything(world):
    """1 for every figure that is defined, with and without matches."""
    pair = make_pair(world.columns, world.original, world.original)
    for matches in (None, same_rows(pair.original.rows)):
        found = utility(pair, seeded(), vectorization=Vectorization(columns=CHOICES), matches=matches)
        assert found.downstream.ratio is None or found.downstream.ratio >= 1
        assert all(figure == pytest.approx(1.0) for figure in found.figures.values() if figure is not None)


SPECS = [
    ColumnSpec("age", "quasi_identifier", "numeric"),
    ColumnSpec("gender", "quasi_identifier", "category"),
    ColumnSpec("region", "quasi_identifier", "category", "/"),
    ColumnSpec("brand_product", "attribute", "category"),
    ColumnSpec("purchase_place", "attribute", "category"),
    ColumnSpec("purchase_time", "attribute", "datetime"),
    ColumnSpec("days_after_ad", "attribute", "numeric"),
    ColumnSpec("ad_channel", "attribute", "category"),
]
BUYERS = Vectorization(columns={"purchase_time": ColumnChoice(features=("hour", "day_of_week"))})


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The utility of several releases of 6,000 simulated people, one value in fifty missing, read from files."""
    folder = tmp_path_factory.mktemp("utility")
    people = Touchpoints(records=6_000, missing_rate=0.02).draw(seeded(1))
    people.write(folder / "original.parquet")

    def measure(release, matched=True, **more):
        release.write(folder / "released.parquet")
        files = folder / "original.parquet", folder / "released.parquet"
        read = read_inputs(*files, SPECS, identity=IdentityKeys("person_id", "person_id"), **more)
        matches = (read.evaluation.matches.original, read.evaluation.matches.protected) if matched else None
        return utility(read.pair, seeded(), vectorization=BUYERS, matches=matches)

    return people, measure


@pytest.fixture(scope="module")
def noisy(measured):
    """A release with low, medium or high noise and its utility, measured once."""
    people, measure = measured

    @cache
    def found(level):
        release = Perturbation(level).protect(people, seeded(6))
        return release, measure(release)

    return found


def test_shuffled_rows_change_nothing_where_matches_follow(measured, noisy):
    """The same table in another order is the same release to every figure, and keeps everything."""
    people, measure = measured
    release, one = noisy("medium")
    other = measure(release.take(seeded(3).permutation(len(release))))
    assert dict(one.figures) == pytest.approx(dict(other.figures), abs=1e-12)
    assert one.downstream.ratio == pytest.approx(other.downstream.ratio, abs=1e-12)
    shuffled = measure(people.take(seeded(4).permutation(len(people))))
    assert list(shuffled.figures.values()) == pytest.approx([1.0] * 4)


def test_columns_shuffled_one_by_one_keep_their_distributions_and_nothing_else(measured):
    """Marginals are the same to the last count; correlations, predictions and distances are not."""
    people, measure = measured
    rng = seeded(5)
    apart = replace(
        people,
        numbers={name: array[rng.permutation(len(people))] for name, array in people.numbers.items()},
        times={name: array[rng.permutation(len(people))] for name, array in people.times.items()},
        categories={
            name: column._replace(codes=column.codes[rng.permutation(len(people))])
            for name, column in people.categories.items()
        },
    )
    found = measure(apart)
    assert found.marginal.figure == pytest.approx(1.0)
    assert found.correlation.figure < 0.1
    assert found.distance.figure < 0.1
    assert found.downstream.protected <= found.downstream.commonest + 0.02 < found.downstream.original
    assert found.mean == pytest.approx(np.mean(list(found.figures.values())))


def test_more_noise_keeps_less(noisy):
    """From low to high perturbation correlations, marginals and distances fall; predictions do not rise."""
    low, medium, high = (noisy(level)[1] for level in ("low", "medium", "high"))
    for name in ("correlation_preservation", "marginal_similarity", "distance_preservation"):
        assert low.figures[name] > medium.figures[name] > high.figures[name]
    assert low.downstream.ratio >= high.downstream.ratio
    assert low.mean > medium.mean > high.mean


def test_coarser_rounding_keeps_less(measured):
    """Intervals of ten years, compass alone and months keep less than intervals of five, whole regions and hours."""
    people, measure = measured
    fine, coarse = (
        measure(Rounding(*grain).protect(people, seeded(7))) for grain in ((5, 2, "hour"), (10, 1, "month"))
    )
    for name in FIGURES:
        assert fine.figures[name] > coarse.figures[name]
    for name in ("age", "region", "purchase_time"):
        assert fine.marginal.columns[name] > coarse.marginal.columns[name]
    assert coarse.marginal.columns["gender"] == pytest.approx(1.0)


def test_synthetic_people_are_compared_by_distributions(measured):
    """No row is anybody's: the basis says so, and what the copula loses shows in correlations and predictions."""
    people, measure = measured
    synthetic = measure(GaussianCopula(0.95).protect(people, seeded(8)), matched=False)
    assert synthetic.distance.basis == "distributions"
    assert synthetic.marginal.figure > 0.99
    assert synthetic.correlation.figure < 0.5
    assert synthetic.downstream.ratio < 0.95
    fresh = measure(Touchpoints(records=6_000, missing_rate=0.02).draw(seeded(9)), matched=False)
    assert fresh.correlation.figure > synthetic.correlation.figure
    assert fresh.downstream.ratio > synthetic.downstream.ratio


def test_tables_on_disk_have_the_same_utility(measured):
    """Columns fetched one by one give the figures of those in memory."""
    people, measure = measured
    release = Rounding().protect(people, seeded(10))
    kept = measure(release, place=lambda rows: ColumnStore())
    assert dict(kept.figures) == pytest.approx(dict(measure(release).figures), abs=1e-12)


def test_one_seed_gives_one_utility(measured, noisy):
    """People and pairs are drawn by the generator that is passed, and by nothing else."""
    release, found = noisy("high")
    assert found == measured[1](release)
    assert found.distance.pairs == 5_000
    # One label in fifty is missing among the 5,000 who are asked.
    assert all(4_850 < target.tested < 4_950 for target in found.downstream.targets)
