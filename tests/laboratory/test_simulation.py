import subprocess
import sys
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.laboratory.simulation import Touchpoints
from cvpl.laboratory.simulation.touchpoints import (
    AGE,
    CHANNELS,
    GENDERS,
    HOLIDAYS,
    PLACES,
    RARE_CHANNELS,
    REGIONS,
    START,
)

FALSE_ALARM = 1e-6  # probability that one z-test below fails although the simulator is right; 1e-4 for all hundred
Z = NormalDist().inv_cdf(1 - FALSE_ALARM / 2)
N = 200_000


def draw(seed=1, **settings):
    """One table of the scenario with these settings."""
    return Touchpoints(**settings).draw(np.random.default_rng(seed))


@pytest.fixture(scope="module")
def table():
    """Plain people, enough of them for narrow tests."""
    return draw(records=N)


def assert_share(hits, expected):
    """z-test of a share: |p - p0| <= z * sqrt(p0 (1 - p0) / n)."""
    assert abs(np.mean(hits) - expected) <= Z * sqrt(expected * (1 - expected) / len(hits))


def assert_means_differ(low, high):
    """Two-sample z-test that the mean of `high` is above that of `low`."""
    error = sqrt(np.var(low) / len(low) + np.var(high) / len(high))
    assert np.mean(high) - np.mean(low) > Z * error


def is_label(table, column, label):
    """Per row, whether the category has this label."""
    codes, labels = table.categories[column]
    return codes == labels.index(label)


def hour(table):
    """The hour of each purchase, 0 to 23."""
    time = table.times["purchase_time"]
    return (time - time.astype("datetime64[D]")).astype(int) // 3600


def test_the_schema(table):
    """The columns stand in the paper's order, the income last, and the ids are 0 to n - 1 in some other order."""
    assert table.order == (
        "person_id", "age", "gender", "region", "brand_product", "purchase_place", "purchase_time", "days_after_ad",
        "ad_channel", "income",
    )  # fmt: skip
    assert len(table) == N
    assert table.numbers["age"].dtype == np.int64
    assert table.times["purchase_time"].dtype == np.dtype("datetime64[s]")
    assert all(codes.dtype == np.int32 for codes, _ in table.categories.values())
    assert np.array_equal(np.sort(table.people), np.arange(N))
    assert not np.array_equal(table.people, np.arange(N))


def test_the_papers_settings():
    """Ages, channels and products are those of the paper's appendix C."""
    assert (AGE.mean, AGE.stdev) == (42, 15)
    assert CHANNELS == {"Search": 0.3, "Social": 0.25, "Video": 0.2, "Display": 0.15, "Email": 0.1}
    assert list(REGIONS)[:4] == ["North/Urban", "North/Suburban", "North/Rural", "South/Urban"]
    assert len(REGIONS) == 12
    assert Touchpoints() == Touchpoints(10_000, 0.0, 0.0, products=50, product_alpha=1.5)


def test_a_seed_gives_one_table():
    """The same seed draws the same table to the last value; another seed draws other people."""
    settings = {"records": 500, "anomaly_rate": 0.05, "missing_rate": 0.1}
    one, same, other = (draw(seed, **settings).to_columns() for seed in (7, 7, 8))
    for name in one:
        np.testing.assert_array_equal(one[name], same[name])
        assert not np.array_equal(one[name], other[name])


@pytest.mark.parametrize(
    ("column", "declared"),
    [("gender", GENDERS), ("region", REGIONS), ("ad_channel", CHANNELS), ("purchase_place", PLACES)],
)
def test_shares_are_as_declared(table, column, declared):
    """Whatever groups lean to, the shares over all people are the declared ones."""
    for label, share in declared.items():
        assert_share(is_label(table, column, label), share)


def test_products_follow_zipf(table):
    """The r-th product's share is proportional to r ** -1.5."""
    weights = np.arange(1, 51) ** -1.5
    for rank, share in enumerate(weights / weights.sum()):
        assert_share(table.categories["brand_product"].codes == rank, share)


@pytest.mark.parametrize("at_most", [18, 25, 33, 42, 50, 60, 70, 79])
def test_ages_are_a_truncated_normal(table, at_most):
    """The share of people up to an age is the normal one, cut off at both ends and rounded."""
    age = table.numbers["age"]
    assert (age.min(), age.max()) == (18, 80)
    inside = AGE.cdf(80.5) - AGE.cdf(17.5)
    assert_share(age <= at_most, (AGE.cdf(at_most + 0.5) - AGE.cdf(17.5)) / inside)


def test_habits_follow_demographics(table):
    """Channel, region, lag, product, place and hour each depend on who the person is."""
    age, lag = table.numbers["age"], table.numbers["days_after_ad"]
    young = age < 30
    old = age >= 60
    assert_means_differ(is_label(table, "ad_channel", "Social")[old], is_label(table, "ad_channel", "Social")[young])
    assert_means_differ(is_label(table, "region", "South/Urban")[old], is_label(table, "region", "South/Urban")[young])
    female = is_label(table, "gender", "F")
    assert_means_differ(
        is_label(table, "ad_channel", "Social")[~female], is_label(table, "ad_channel", "Social")[female]
    )
    search, display = is_label(table, "ad_channel", "Search"), is_label(table, "ad_channel", "Display")
    assert_means_differ(np.log(lag[search & (lag > 0)]), np.log(lag[display]))
    assert_means_differ(np.log(lag[display & young]), np.log(lag[display & old]))
    first = is_label(table, "brand_product", "Product-001")
    assert_means_differ(first[display], first[search])
    assert_means_differ(
        is_label(table, "purchase_place", "Online")[display], is_label(table, "purchase_place", "Online")[search]
    )
    assert_means_differ(hour(table)[old] >= 20, hour(table)[young] >= 20)
    assert_means_differ(table.numbers["income"][young], table.numbers["income"][(age > 45) & (age < 55)])


def test_weeks_and_days_have_a_rhythm(table):
    """Saturdays sell more than Tuesdays, evenings far more than nights, and nothing is bought before the first day."""
    time = table.times["purchase_time"]
    weekday = ((time - START) // np.timedelta64(1, "D")) % 7
    assert_means_differ(weekday == 1, weekday == 5)
    assert np.mean(hour(table) == 19) > 10 * np.mean(hour(table) == 3)
    assert time.min() >= START


def test_lags_have_a_heavy_tail(table):
    """Lags are at least 0, and one in a thousand is more than ten times the mean."""
    lag = table.numbers["days_after_ad"]
    assert lag.min() >= 0
    assert np.quantile(lag, 0.999) > 10 * lag.mean()


def test_anomalies_are_counted_and_spread_evenly():
    """At a rate of 0.05, 1.25% of the people have each kind, exactly; half of them each kind's first half."""
    plain, table = draw(records=20_000), draw(records=20_000, anomaly_rate=0.05)
    rare = sum(is_label(table, "ad_channel", label) for label in RARE_CHANNELS)
    codes, labels = table.categories["brand_product"]
    niche = np.char.startswith(np.array(labels), "Niche")[codes]
    assert (rare.sum(), niche.sum()) == (250, 250)

    def odd_ones(table):
        lag = table.numbers["days_after_ad"]
        holiday = np.isin(table.times["purchase_time"].astype("datetime64[D]"), HOLIDAYS)
        return np.array([np.sum(kind) for kind in (lag <= 0.01, lag >= 180, np.isin(hour(table), [2, 3, 4]), holiday)])

    usual = odd_ones(plain)
    # The counts of ordinary people who look odd are Poisson: the difference of two has twice their variance.
    assert (np.abs(odd_ones(table) - usual - 125) <= Z * np.sqrt(2 * np.maximum(usual, 1))).all()


def test_without_anomalies_there_are_none(table):
    """At a rate of 0 no rare channel and no niche product occurs, though their labels are known."""
    assert table.categories["ad_channel"].codes.max() < len(CHANNELS)
    assert table.categories["brand_product"].codes.max() < 50


def test_missing_values_have_their_own_marks():
    """Every column but the id loses its share of values, as NaN, NaT or code -1."""
    table = draw(records=20_000, missing_rate=0.1)
    for number in table.numbers.values():
        assert_share(np.isnan(number), 0.1)
    assert_share(np.isnat(table.times["purchase_time"]), 0.1)
    for codes, _ in table.categories.values():
        assert_share(codes == -1, 0.1)
    assert (table.people >= 0).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("records", 0),
        ("records", 2.5),
        ("records", True),
        ("records", "many"),
        ("anomaly_rate", -0.1),
        ("anomaly_rate", 1.1),
        ("missing_rate", float("nan")),
        ("products", 0),
        ("product_alpha", -1),
    ],
)
def test_nonsense_settings_are_refused(name, value):
    """A setting out of bounds is refused with its name and what is allowed."""
    with pytest.raises(ValueError, match=rf"Touchpoints: {name} is .*; allowed is a (whole )?number from"):
        Touchpoints(**{name: value})


@settings(max_examples=25, deadline=None)
@given(
    st.builds(
        Touchpoints,
        records=st.integers(1, 40),
        anomaly_rate=st.floats(0, 1),
        missing_rate=st.floats(0, 1),
        products=st.integers(1, 60),
        product_alpha=st.floats(0, 10),
    ),
    st.integers(0, 2**32),
)
def test_any_allowed_settings_draw_a_table(scenario, seed):
    """Within the bounds every setting gives a table of the right length with valid codes."""
    table = scenario.draw(np.random.default_rng(seed))
    assert len(table) == scenario.records
    assert all(len(column) == scenario.records for column in table.to_columns().values())


def test_the_import_is_light():
    """Importing the simulator loads numpy and nothing heavier."""
    source = Path(__file__).parents[2] / "src"
    code = f"import sys; sys.path.insert(0, {str(source)!r}); import cvpl.laboratory.simulation; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()  # noqa: S603
    assert not {"duckdb", "pandas", "pyarrow", "scipy", "sklearn", "polars"} & set(loaded)
