from math import atanh, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation, Rounding
from cvpl.laboratory.mechanisms.perturbation import LEVELS
from cvpl.laboratory.simulation import Touchpoints
from examples import TIMES

FALSE_ALARM = 1e-6  # probability that one z-test below fails although the mechanism is right
Z = NormalDist().inv_cdf(1 - FALSE_ALARM / 2)
N = 50_000 if TIMES > 1 else 20_000
MECHANISMS = [Perturbation("low"), Perturbation("high"), Rounding(), Rounding(5, 2, "week"), GaussianCopula(0.8)]


def rng(seed=3):
    """A fresh generator."""
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def table():
    """People with anomalies and missing values."""
    return Touchpoints(records=N, anomaly_rate=0.01, missing_rate=0.02).draw(rng(1))


@pytest.fixture(scope="module")
def complete():
    """Plain people with every value."""
    return Touchpoints(records=N).draw(rng(2))


def by_id(table):
    """The table with its people in the order of their ids, so that releases can be compared value by value."""
    return table.take(np.argsort(table.people))


def assert_shares_kept(before, after):
    """z-test of every value's share, the rare ones pooled, where a normal tail would be wrong; no value is new."""
    values = before.max() + 2
    assert after.max() + 2 <= values
    counts, release = (np.bincount(codes + 1, minlength=values) for codes in (before, after))
    assert not release[counts == 0].any()
    rare = counts < 400
    p, q = (np.append(c[~rare], c[rare].sum()) / len(before) for c in (counts, release))
    assert (np.abs(p - q) <= Z * np.sqrt(p * (1 - p) / len(before))).all()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_keeps_the_shape(table, mechanism):
    """A release has the columns and the length of its table, is repeated by its seed and changed by another."""
    one, same, other = (mechanism.protect(table, rng(seed)) for seed in (3, 3, 4))
    assert one.order == table.order
    assert len(one) == len(table)
    columns, others = same.to_columns(), other.to_columns()
    for name, column in one.to_columns().items():
        np.testing.assert_array_equal(column, columns[name])
    assert not np.array_equal(one.to_columns()["region"], others["region"])


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=10, deadline=None)
@given(records=st.integers(0, 12), missing=st.floats(0, 1))
def test_every_mechanism_takes_the_smallest_tables(mechanism, records, missing):
    """No rows, one row, all values missing: none of these stops a mechanism."""
    table = Touchpoints(records=max(records, 1), missing_rate=missing).draw(rng()).take(np.arange(records))
    assert len(mechanism.protect(table, rng())) == records


@pytest.mark.parametrize("mechanism", MECHANISMS[:4])
def test_ids_are_kept_and_rows_shuffled(table, mechanism):
    """A release that masks records keeps every id once, in another order."""
    release = mechanism.protect(table, rng())
    assert np.array_equal(np.sort(release.people), np.sort(table.people))
    assert not np.array_equal(release.people, table.people)


def test_the_levels():
    """Noise on age and times is the paper's; noise on lags and swaps is this package's choice."""
    assert LEVELS == {
        "low": (3600, 0.02, 1 / 15, {"age": 1, "days_after_ad": 0.5}),
        "medium": (86400, 0.05, 3 / 15, {"age": 3, "days_after_ad": 1}),
        "high": (604800, 0.10, 5 / 15, {"age": 5, "days_after_ad": 2}),
    }


@pytest.mark.parametrize("level", LEVELS)
def test_noise_has_the_stated_size(complete, level):
    """Times, and ages and lags away from their edges, move by mean 0 and the level's standard deviation."""
    noise = LEVELS[level]
    before, after = by_id(complete), by_id(Perturbation(level).protect(complete, rng()))
    inside = (before.numbers["age"] > 40) & (before.numbers["age"] < 60)
    far = before.numbers["days_after_ad"] > 12
    jitter = (after.times["purchase_time"] - before.times["purchase_time"]).astype(float)
    age = (after.numbers["age"] - before.numbers["age"])[inside]
    lag = (after.numbers["days_after_ad"] - before.numbers["days_after_ad"])[far]
    for change, variance in [
        (jitter, noise.seconds**2),
        (age, noise.named["age"] ** 2 + 1 / 12),
        (lag, noise.named["days_after_ad"] ** 2),
    ]:
        n = len(change)
        assert abs(change.mean()) <= Z * sqrt(variance / n)
        assert abs(change.var() / variance - 1) <= Z * sqrt(2 / n) + 0.005  # clipped and rounded ages: a little off


def test_perturbed_values_stay_in_range(complete):
    """Ages keep the table's range and type, lags stay at or above 0, the income is untouched."""
    release = by_id(Perturbation("high").protect(complete, rng()))
    age = release.numbers["age"]
    assert age.dtype == np.int64
    assert (age.min(), age.max()) == (18, 80)
    assert release.numbers["days_after_ad"].min() == 0
    np.testing.assert_array_equal(release.numbers["income"], by_id(complete).numbers["income"])


@pytest.mark.parametrize("level", LEVELS)
def test_swaps_come_at_their_rate_and_keep_shares(table, level):
    """A category changes with probability swap * (1 - sum of squared shares); the shares stay."""
    before, after = by_id(table), by_id(Perturbation(level).protect(table, rng()))
    for name, (codes, _) in before.categories.items():
        share = np.bincount(codes + 1) / N
        expected = LEVELS[level].swap * (1 - (share**2).sum())
        changed = np.mean(codes != after.categories[name].codes)
        assert abs(changed - expected) <= Z * sqrt(expected * (1 - expected) / N)
        assert_shares_kept(codes, after.categories[name].codes)


def test_missing_stays_missing(table):
    """Neither noise nor rounding fills in a value."""
    before = by_id(table)
    for mechanism in (Perturbation("high"), Rounding()):
        after = by_id(mechanism.protect(table, rng()))
        lost = np.isnat(before.times["purchase_time"])
        np.testing.assert_array_equal(np.isnat(after.times["purchase_time"]), lost)
    np.testing.assert_array_equal(after.categories["age"].codes == -1, np.isnan(before.numbers["age"]))


def four_people():
    """Ages, regions and times at the edges of their groups, and one person of whom nothing is known."""
    return Frame(
        people=np.arange(4),
        numbers={"age": np.array([18, 34, 40, np.nan])},
        times={
            "when": np.array(["2024-05-01T13:45:10", "2024-04-28T23:59:59", "2024-04-29", "NaT"], dtype="datetime64[s]")
        },
        categories={
            "region": CategoryCodes(
                np.array([0, 2, 1, -1], dtype=np.int32), ("North/Urban", "North/Rural", "East/Urban")
            )
        },
        order=("person_id", "age", "region", "when"),
        id_name="person_id",
        whole=("age",),
    )


@pytest.mark.parametrize(
    ("width", "labels"),
    [(10, ["10-19", "30-39", "40-49", None]), (5, ["15-19", "30-34", "40-44", None])],
)
def test_ages_become_intervals(width, labels):
    """An age is written as the interval that holds it, both ends included."""
    columns = by_id(Rounding(age=width).protect(four_people(), rng())).to_columns()
    assert columns["age"].tolist() == labels


@pytest.mark.parametrize(
    ("level", "labels"),
    [(1, ["North/*", "East/*", "North/*", None]), (2, ["North/Urban", "East/Urban", "North/Rural", None])],
)
def test_regions_keep_their_levels(level, labels):
    """Level 1 stars the rest, level 2 keeps the region."""
    columns = by_id(Rounding(region_level=level).protect(four_people(), rng())).to_columns()
    assert columns["region"].tolist() == labels


@pytest.mark.parametrize(
    ("grain", "floored"),
    [
        ("hour", ["2024-05-01T13", "2024-04-28T23", "2024-04-29T00", "NaT"]),
        ("day", ["2024-05-01", "2024-04-28", "2024-04-29", "NaT"]),
        ("week", ["2024-04-29", "2024-04-22", "2024-04-29", "NaT"]),
        ("month", ["2024-05-01", "2024-04-01", "2024-04-01", "NaT"]),
    ],
)
def test_times_are_floored(grain, floored):
    """A time becomes the beginning of its hour, day, week (Monday) or month."""
    release = by_id(Rounding(time=grain).protect(four_people(), rng()))
    np.testing.assert_array_equal(release.times["when"], np.array(floored, dtype="datetime64[s]"))


def test_a_rounded_table_is_written(tmp_path):
    """The release reads as people write it: intervals, starred regions, floored times."""
    Rounding().protect(four_people().take(np.array([1])), rng()).write(tmp_path / "release.csv")
    assert (tmp_path / "release.csv").read_text() == "person_id,age,region,when\n1,30-39,East/*,2024-04-28 00:00:00\n"


def test_synthetic_people_are_nobody(table, tmp_path):
    """Every synthetic id is unknown, and written as an empty field."""
    release = GaussianCopula().protect(table, rng())
    assert (release.people == -1).all()
    release.take(np.arange(3)).write(tmp_path / "release.csv")
    assert all(line.startswith(",") for line in (tmp_path / "release.csv").read_text().splitlines()[1:])


@pytest.mark.parametrize("retention", [0, 0.6, 1])
def test_the_copula_keeps_marginals(table, retention):
    """Shares of categories and missing values, and the deciles of numbers and times, come out as they were."""
    release = GaussianCopula(retention).protect(table, rng())
    for name, (codes, _) in table.categories.items():
        assert_shares_kept(codes, release.categories[name].codes)
    for before, after in [(table.numbers, release.numbers), (table.times, release.times)]:
        for name, array in before.items():
            assert after[name].dtype == array.dtype
            assert np.isin(after[name], array).sum() == (~np.isnan(after[name])).sum()
            for cut in np.sort(array)[np.arange(1, 10) * N // 10]:
                p, q = np.mean(array <= cut), np.mean(after[name] <= cut)
                assert abs(p - q) <= Z * sqrt(p * (1 - p) / N)


def pair_of_numbers(correlation):
    """Two normal columns of this correlation, the second bent so that only ranks can tell."""
    first, noise = rng(5).standard_normal((2, N))
    second = correlation * first + sqrt(1 - correlation**2) * noise
    return Frame(
        people=np.arange(N),
        numbers={"first": first, "second": np.exp(3 * second)},
        times={},
        categories={},
        order=("first", "second"),
    )


@pytest.mark.parametrize("retention", [0, 0.6, 0.95, 1])
def test_retention_scales_correlations(retention):
    """The correlation of the normal scores is `retention` times that of the table, by Fisher's z-test."""
    table = pair_of_numbers(-0.8)
    release = GaussianCopula(retention).protect(table, rng())
    before, after = (np.corrcoef(t.numbers["first"], np.log(t.numbers["second"]))[0, 1] for t in (table, release))
    assert abs(atanh(after) - atanh(retention * before)) <= Z / sqrt(N - 3) + 1e-3  # scores stand in for the values


def test_retention_shows_in_the_scenario(complete):
    """More retention, more of the dependence of income on age; none at 0."""

    def dependence(table):
        return np.corrcoef(table.numbers["age"], np.log(table.numbers["income"]))[0, 1]

    none, some, most = (dependence(GaussianCopula(r).protect(complete, rng())) for r in (0, 0.5, 1))
    margin = Z * sqrt(2 / N)
    assert abs(none) <= margin
    assert none + margin < some < most - margin


@pytest.mark.parametrize("retention", [-0.01, 1.01, float("nan"), "0.9", None, True])
def test_nonsense_retention_is_refused(retention):
    """A retention outside [0, 1] is refused with what is allowed."""
    with pytest.raises(ValueError, match=r"GaussianCopula: retention is .*; allowed is a number from 0"):
        GaussianCopula(retention)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Perturbation("extreme"), "Perturbation: level is 'extreme'; allowed are low, medium, high"),
        (lambda: Rounding(age=7), "Rounding: age is 7; allowed are 5, 10"),
        (lambda: Rounding(region_level=3), "Rounding: region_level is 3; allowed are 1, 2"),
        (lambda: Rounding(time="year"), "Rounding: time is 'year'; allowed are hour, day, week, month"),
    ],
)
def test_nonsense_settings_are_refused(make, message):
    """A setting that is not on the list is refused with the list."""
    with pytest.raises(ValueError, match=message):
        make()


def test_a_table_without_the_column_is_refused(table):
    """Age that is an interval already cannot be perturbed or rounded again."""
    rounded = Rounding().protect(table, rng())
    for mechanism in (Perturbation(), Rounding()):
        with pytest.raises(ValueError, match="column 'age': not among the number columns"):
            mechanism.protect(rounded, rng())
