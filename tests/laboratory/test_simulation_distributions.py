"""The simulated people against the distributions that are declared for them.

The tables that a draw reads are held exactly to the declared shares and tilts. A draw of a million people is held to
the tables by chi-square and z-tests, and each chi-square test is shown to fail where the dependence is ignored.
"""

from __future__ import annotations

import time
from math import inf, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import chdtrc, ndtr

from cvpl.laboratory.simulation import Touchpoints
from cvpl.laboratory.simulation import touchpoints as world
from tail_index import TailIndex, tail_index

FALSE_ALARM = 1e-4
"""Probability that any test of a draw in this file fails although the simulator is right."""
TESTS = 50
"""At most so many p-values are asked for below; each has an equal part of the false alarms (Bonferroni)."""
LEVEL = FALSE_ALARM / TESTS
Z = NormalDist().inv_cdf(1 - LEVEL / 2)
BLIND = 1e-12
"""A test that ignores a dependence must fail as clearly as this, or it could not see the dependence."""

N = 1_000_000
GENDERS, COMPASS, SETTLEMENTS = len(world.GENDERS), len(world.COMPASS), len(world.SETTLEMENTS)
CHANNELS, PLACES, BANDS = len(world.CHANNELS), len(world.PLACES), len(world.BAND_STARTS)


class People:
    """A draw, taken apart into codes."""

    def __init__(self, table):
        self.table = table
        codes = {name: column.codes for name, column in table.categories.items()}
        self.age = table.numbers["age"] - world.AGES[0]
        self.lag = table.numbers["days_after_ad"]
        self.band = np.searchsorted(world.BAND_STARTS, table.numbers["age"], side="right") - 1
        self.gender, self.region = codes["gender"], codes["region"]
        self.compass, self.settlement = self.region // SETTLEMENTS, self.region % SETTLEMENTS
        self.channel, self.product, self.place = codes["ad_channel"], codes["brand_product"], codes["purchase_place"]
        seconds = (table.times["purchase_time"] - world.START).astype(np.int64)
        self.weekday, self.hour = seconds // 86_400 % 7, seconds // 3_600 % 24
        self.demographics = (self.age, self.gender, self.compass, self.settlement)


@pytest.fixture(scope="module")
def drawn():
    """A million people, and the processor seconds that they took."""
    start = time.process_time()
    table = Touchpoints(records=N).draw(np.random.default_rng(20240101))
    return People(table), time.process_time() - start


@pytest.fixture(scope="module")
def people(drawn):
    return drawn[0]


def counted(group, groups, value, values):
    """How often each value occurs in each group."""
    table = np.bincount(np.asarray(group, dtype=np.int64) * values + value, minlength=groups * values)
    return table.reshape(groups, values).astype(float)


def expected_from(chances, cell, group, groups):
    """The expected counts of each value in each group, where person i has the chances in row cell[i]."""
    return counted(group, groups, cell, len(chances)) @ chances


def p_value(counts, expected):
    """Chi-square of the counts in each group, given the group's size; values expected less than 5 times are pooled.

    Groups whose members differ in their chances vary less than the test allows, so that the test errs on the safe side.
    """
    statistic, freedom = 0.0, 0
    for row, wanted in zip(counts, expected, strict=True):
        order = np.argsort(-wanted)
        kept = max(1, int((wanted >= 5).sum()))
        if wanted[order[kept:]].sum() < 5:
            kept -= 1  # what is left over joins the rarest of the others
        found, hoped = (np.append(side[order[:kept]], side[order[kept:]].sum()) for side in (row, wanted))
        if kept and hoped[-1] > 0:
            statistic += float(((found - hoped) ** 2 / hoped).sum())
            freedom += kept
    assert freedom > 0
    return float(chdtrc(freedom, statistic))


def assert_follows(group, groups, value, chances, cell, ignoring):
    """The values in each group follow the chances of its people, and do not follow them where `ignoring` is forgotten.

    `ignoring` are the chances of everybody alike, or None where there is nothing to forget.
    """
    values = chances.shape[1]
    counts = counted(group, groups, value, values)
    assert p_value(counts, expected_from(chances, cell, group, groups)) >= LEVEL
    if ignoring is not None:
        assert p_value(counts, counts.sum(axis=1, keepdims=True) * ignoring) < BLIND


# The tables that a draw reads


def test_the_population_has_the_declared_shares():
    """Summed over everything else, ages are the truncated normal, and genders, regions and channels as declared."""
    population = world.population_shares()
    ages = np.diff([world.AGE.cdf(age - 0.5) for age in range(18, 82)])
    assert population.sum(axis=(1, 2, 3, 4)) == pytest.approx(ages / ages.sum(), abs=1e-9)
    assert population.sum(axis=(0, 2, 3, 4)) == pytest.approx(list(world.GENDERS.values()), abs=1e-9)
    regions = [c * s for c in world.COMPASS.values() for s in world.SETTLEMENTS.values()]
    assert population.sum(axis=(0, 1, 4)).ravel() == pytest.approx(regions, abs=1e-9)
    assert population.sum(axis=(0, 1, 2, 3)) == pytest.approx(list(world.CHANNELS.values()), abs=1e-9)


def assert_leans(joint, tilt):
    """P(value | group) leans as the tilt says: log P - tilt differs between groups by a constant only."""
    chances = joint / joint.sum(axis=-1, keepdims=True)
    rest = (np.log(chances) - tilt).reshape(-1, chances.shape[-1])
    rest = rest - rest.mean(axis=1, keepdims=True)
    assert np.abs(rest - rest[0]).max() < 1e-9


def test_the_population_leans_as_declared():
    """The log-odds of gender, region, channel and place given the rest are the declared tilts, exactly."""
    population = world.population_shares()
    x = (world.AGES - 42) / 15
    assert_leans(population.sum(axis=(2, 3, 4)), x[:, None] * world.GENDER_BY_AGE)
    by_age = (world.COMPASS_BY_AGE[:, None] + world.SETTLEMENT_BY_AGE).ravel()
    by_gender = np.tile(world.SETTLEMENT_BY_GENDER, COMPASS)
    assert_leans(population.sum(axis=4).reshape(63, GENDERS, -1), x[:, None, None] * by_age + by_gender)
    channel = (
        x[:, None, None, None, None] * world.CHANNEL_BY_AGE
        + world.CHANNEL_BY_GENDER[:, None, None]
        + world.CHANNEL_BY_COMPASS[:, None]
        + world.CHANNEL_BY_SETTLEMENT
    )
    assert_leans(population, channel)
    places = world.place_shares(population).reshape(SETTLEMENTS, CHANNELS, PLACES)
    assert_leans(places, world.PLACE_BY_SETTLEMENT[:, None] + world.PLACE_BY_CHANNEL)


@pytest.mark.parametrize("alpha", [0.0, 0.8, 1.5, 2.5])
def test_products_average_to_a_zipf_law(alpha):
    """Over all groups of buyers the shares are r ** -alpha, exactly, though each group has its own."""
    population = world.population_shares()
    chances = Touchpoints(product_alpha=alpha).product_shares(population)
    share = np.add.reduceat(population.sum(axis=2), world.BAND_STARTS - 18, axis=0).ravel()
    popularity = np.arange(1, 51) ** -alpha
    assert share @ chances == pytest.approx(popularity / popularity.sum(), rel=1e-9)
    assert np.abs(chances / chances.mean(axis=0) - 1).max() > 0.5


def test_shops_are_shut_at_night_and_old_people_shop_earlier():
    """Between 22 and 7 shops sell 2% at most; the web's evening is later, and every group's day moves with its age."""
    hours = world.hour_shares().reshape(BANDS, 2, 2, 24)
    night = (np.arange(24) < 7) | (np.arange(24) >= 22)
    assert hours.sum(axis=-1) == pytest.approx(1.0)
    assert hours[:, :, 0, night].sum(axis=-1).max() < 0.02 < hours[:, :, 1, night].sum(axis=-1).min()
    assert (hours[0].argmax(axis=-1) > hours[-1].argmax(axis=-1)).all()


# A draw against the tables


def test_ages_are_a_truncated_normal(people):
    """All 63 ages by chi-square; an uncut uniform fails."""
    ages = np.diff([world.AGE.cdf(age - 0.5) for age in range(18, 82)])
    nobody = np.zeros(N, dtype=np.int64)
    assert_follows(nobody, 1, people.age, (ages / ages.sum())[None], nobody, np.full(63, 1 / 63))


def test_gender_and_region_follow_age(people):
    """Two-level regions given age group and gender, genders given age; not the same for everybody."""
    population = world.population_shares()
    joint = population.sum(axis=(2, 3, 4))
    chances = joint / joint.sum(axis=1, keepdims=True)
    assert_follows(people.band, BANDS, people.gender, chances, people.age, joint.sum(axis=0))
    joint = population.sum(axis=4).reshape(63 * GENDERS, -1)
    chances = joint / joint.sum(axis=1, keepdims=True)
    group, cell = people.band * GENDERS + people.gender, people.age * GENDERS + people.gender
    assert_follows(group, BANDS * GENDERS, people.region, chances, cell, joint.sum(axis=0))


def test_channels_follow_demographics(people):
    """Five channels given age group, gender and region, and given each of these alone."""
    population = world.population_shares()
    joint = population.reshape(-1, CHANNELS)
    chances = joint / joint.sum(axis=1, keepdims=True)
    cell = np.ravel_multi_index(people.demographics, population.shape[:-1])
    everybody = joint.sum(axis=0)
    together = (people.band * GENDERS + people.gender) * (COMPASS * SETTLEMENTS) + people.region
    for group, groups in (
        (together, BANDS * GENDERS * COMPASS * SETTLEMENTS),
        (people.band, BANDS),
        (people.gender, GENDERS),
        (people.compass, COMPASS),
        (people.settlement, SETTLEMENTS),
    ):
        assert_follows(group, groups, people.channel, chances, cell, everybody)


def test_products_follow_channel_and_demographics(people):
    """Fifty products given channel, age group, gender and settlement, each and all of them."""
    chances = Touchpoints().product_shares(world.population_shares())
    shopper = people.settlement * CHANNELS + people.channel
    buyer = (people.band * GENDERS + people.gender) * (SETTLEMENTS * CHANNELS) + shopper
    popularity = np.arange(1, 51) ** -1.5
    for group, groups in (
        (buyer, len(chances)),
        (people.channel, CHANNELS),
        (people.band, BANDS),
        (people.gender, GENDERS),
        (people.settlement, SETTLEMENTS),
    ):
        assert_follows(group, groups, people.product, chances, buyer, popularity / popularity.sum())


def test_places_follow_channel_and_settlement(people):
    """Five places given channel and settlement."""
    chances = world.place_shares(world.population_shares())
    shopper = people.settlement * CHANNELS + people.channel
    everybody = np.array(list(world.PLACES.values()))
    assert_follows(shopper, len(chances), people.place, chances, shopper, everybody)


def test_weekdays_follow_the_place(people):
    """Each kind of place has the week that is declared for it, in percent from Monday."""
    chances = world.DAY_BY_PLACE / 100
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert_follows(people.place, PLACES, people.weekday, chances, people.place, np.full(7, 1 / 7))


def test_hours_follow_age_weekend_and_place(people):
    """The hour of the day given age group, weekend and whether the place is online."""
    online = people.place == list(world.PLACES).index("Online")
    group = (people.band * 2 + (people.weekday >= 5)) * 2 + online
    chances = world.hour_shares()
    assert_follows(group, len(chances), people.hour, chances, group, chances.mean(axis=0))


LAG_CUTS = np.array([0.055, 0.105, 0.205, 0.505, 1.005, 2.005, 4.005, 8.005, 16.005, 32.005, 64.005])
"""Between two hundredths, so that rounding moves no lag across."""


def lag_chances():
    """P(lag between two cuts) for every age and channel: log-normal, by the median and tilt that are declared."""
    middle = np.log(world.LAG_MEDIAN) + world.LAG_BY_AGE * ((world.AGES - 42) / 15)[:, None]
    below = ndtr((np.log(LAG_CUTS) - middle[..., None]) / world.LAG_SPREAD)
    edges = np.concatenate([np.zeros((*middle.shape, 1)), below, np.ones((*middle.shape, 1))], axis=-1)
    return np.diff(edges, axis=-1).reshape(-1, len(LAG_CUTS) + 1)


def test_lags_follow_channel_and_age(people):
    """Log-normal with the declared medians and spread, given channel and age group."""
    group, cell = people.channel * BANDS + people.band, people.age * CHANNELS + people.channel
    chances = lag_chances()
    assert_follows(group, CHANNELS * BANDS, np.digitize(people.lag, LAG_CUTS), chances, cell, chances.mean(axis=0))


def test_a_product_says_nothing_of_the_lag_but_through_the_channel(people):
    """Within a channel and age group, the lag of those who buy the first product is that of the others."""
    first = people.product == 0
    group, cell = people.channel * BANDS + people.band, people.age * CHANNELS + people.channel
    chances = lag_chances()
    assert_follows(group[first], CHANNELS * BANDS, np.digitize(people.lag[first], LAG_CUTS), chances, cell[first], None)


# Tails


def test_hills_estimate_by_hand():
    """Of 8, 4, 2, 1 the two largest over the third: (log 4 + log 2) / 2 = 1.5 log 2; NaN is nobody's value."""
    found = tail_index(np.array([2.0, np.nan, 8.0, 1.0, 4.0]), 2)
    assert found == TailIndex(pytest.approx(1 / (1.5 * log(2))), pytest.approx(1 / (1.5 * log(2)) / sqrt(2)), 2)
    assert tail_index(np.array([3, 3, 3]), 2).index == inf


@pytest.mark.parametrize(("values", "largest"), [([1.0, 2.0], 0), ([1.0, 2.0], 2), ([0.0, 2.0], 1), ([], 1)])
def test_a_tail_without_enough_values_is_refused(values, largest):
    """Nothing above, nothing below, or nothing above 0 to compare with."""
    with pytest.raises(ValueError, match="tail_index: largest is"):
        tail_index(np.array(values), largest)


def test_hills_estimate_finds_the_exponent_of_a_power_law():
    """Pareto draws with exponents 0.7, 1.5 and 3, each within its error."""
    rng = np.random.default_rng(5)
    for exponent in (0.7, 1.5, 3.0):
        found = tail_index((1 - rng.random(200_000)) ** (-1 / exponent), 20_000)
        assert abs(found.index - exponent) <= Z * found.error


@pytest.mark.parametrize("alpha", [0.8, 1.5, 2.5])
def test_the_popularity_of_products_has_the_declared_exponent(alpha):
    """By maximum likelihood over the ranks of all purchases, and by Hill's estimate over the most popular products.

    Shares c r ** -alpha give, for the k most popular, 1 / index = alpha * (log(k + 1) - log(k!) / k), which tends to
    alpha. The index is no statement about draws here: its error is that of counting the purchases.
    """
    table = Touchpoints(records=N, product_alpha=alpha).draw(np.random.default_rng(8))
    ranks = table.categories["brand_product"].codes + 1
    logs = np.log(np.arange(1, 51))
    low, high = 0.0, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        weights = np.exp(-middle * logs)
        low, high = (middle, high) if weights @ logs / weights.sum() > np.log(ranks).mean() else (low, middle)
    weights /= weights.sum()
    error = 1 / sqrt(N * (weights @ logs**2 - (weights @ logs) ** 2))
    assert abs(low - alpha) <= Z * error
    k = 12
    counts = np.bincount(ranks, minlength=51)[1:]
    factor = log(k + 1) - lgamma(k + 1) / k
    error = sqrt((1 / counts[:k]).sum() / k**2 + 1 / counts[k]) / factor
    assert abs(1 / tail_index(counts, k).index / factor - alpha) <= Z * error
    assert error < 0.05 * alpha


def mean_log_excess(threshold):
    """E[log(lag / threshold) | lag > threshold] over the whole population: the integral of P(lag > x) / x, divided."""
    share = world.population_shares().sum(axis=(1, 2, 3)).ravel()
    middle = (np.log(world.LAG_MEDIAN) + world.LAG_BY_AGE * ((world.AGES - 42) / 15)[:, None]).ravel()
    x = np.linspace(log(threshold), log(threshold) + 8, 4_001)
    above = np.array([share @ ndtr((middle - at) / world.LAG_SPREAD) for at in x])
    return float(np.trapezoid(above, x) / above[0])


@pytest.mark.parametrize("share", [0.05, 0.01, 0.001])
def test_the_lags_have_the_tail_of_their_log_normals(people, share):
    """At each depth Hill's estimate is that of the declared mixture, heavier than an exponential's.

    An exponential with the same threshold t = log(1 / share) means up has the mean log excess e^t E1(t) < 1 / t.
    """
    k = int(share * N)
    found = tail_index(people.lag, k)
    largest = np.sort(people.lag)[::-1]
    expected = mean_log_excess(largest[k])
    error = np.log(largest[:k] / largest[k]).std() / sqrt(k)
    assert abs(1 / found.index - expected) <= Z * error
    assert found.index < log(1 / share)


def test_the_lags_are_no_power_law(people):
    """The estimate does not settle: the deeper in the tail, the larger, as for every log-normal."""
    shallow, middle, deep = (tail_index(people.lag, int(share * N)) for share in (0.05, 0.01, 0.001))
    assert middle.index - shallow.index > Z * (middle.error + shallow.error)
    assert deep.index - middle.index > Z * (deep.error + middle.error)


def test_anomalous_lags_make_the_tail_heavier_and_bound_it():
    """At 5% anomalies 0.6% of the lags are 180 to 720 days: an index below 1 at that depth, and no tail beyond."""
    lag = Touchpoints(records=200_000, anomaly_rate=0.05).draw(np.random.default_rng(3)).numbers["days_after_ad"]
    assert tail_index(lag, 2_000).index < 1 < tail_index(lag, 20_000).index
    assert tail_index(lag, 200).index > 10
    assert lag.max() <= 720


# Anomalies and missing values


@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_anomalies_are_planted_in_the_chosen_share_of_people_one_kind_each(rate):
    """Against the same people without: a quarter each has another channel, product, time or lag, and nobody two."""
    plain, odd = (Touchpoints(records=40_000, anomaly_rate=at).draw(np.random.default_rng(4)) for at in (0.0, rate))
    changed = {
        name: plain.categories[name].codes != odd.categories[name].codes
        for name in ("ad_channel", "brand_product", "purchase_place", "gender", "region")
    }
    kinds = [
        changed["ad_channel"],
        changed["brand_product"],
        plain.times["purchase_time"] != odd.times["purchase_time"],
        plain.numbers["days_after_ad"] != odd.numbers["days_after_ad"],
    ]
    quarter = rate * 40_000 / 4
    assert [int(kind.sum()) for kind in kinds[:2]] == [quarter, quarter]
    # A time or lag can be drawn again as it was.
    assert all(0.97 * quarter <= kind.sum() <= quarter for kind in kinds[2:])
    assert np.sum(kinds, axis=0).max() == 1
    assert not (changed["purchase_place"] & ~changed["brand_product"]).any()
    assert not changed["gender"].any() and not changed["region"].any()
    assert np.array_equal(plain.numbers["age"], odd.numbers["age"])


def test_what_is_planted_is_spread_evenly():
    """Rare channels, niche products, their places, nights, holidays and long delays, each by chi-square."""
    plain, odd = (
        People(Touchpoints(records=200_000, anomaly_rate=rate).draw(np.random.default_rng(6))) for rate in (0.0, 1.0)
    )
    rare, niche, delayed = odd.channel >= CHANNELS, odd.product >= 50, odd.lag != plain.lag
    assert (rare.sum(), niche.sum()) == (50_000, 50_000)
    late = delayed & (odd.lag >= 180)
    assert late.sum() == 25_000
    assert odd.lag[delayed & ~late].max() <= 0.01
    days, before = (side.table.times["purchase_time"].astype("datetime64[D]") for side in (odd, plain))
    moved = ~(rare | niche | delayed)
    night = moved & (days == before) & (odd.hour != plain.hour)
    holiday = moved & (days != before)
    assert np.isin(days[holiday], world.HOLIDAYS).all()
    assert min(night.sum(), holiday.sum()) > 24_000
    for values, count in (
        (odd.channel[rare] - CHANNELS, 2),
        (odd.product[niche] - 50, world.NICHE_PRODUCTS),
        (odd.place[niche], PLACES),
        (odd.hour[night] - 2, 3),
        (np.searchsorted(world.HOLIDAYS, days[holiday]), len(world.HOLIDAYS)),
        (((odd.lag[late] - 180) // 54).clip(max=9).astype(int), 10),
    ):
        counts = np.bincount(values, minlength=count)[None].astype(float)
        assert counts.shape == (1, count)
        assert p_value(counts, np.full((1, count), counts.sum() / count)) >= LEVEL


def test_values_are_missing_at_random():
    """How many of a person's nine values are missing is binomial, whoever it is: each column on its own."""
    table = Touchpoints(records=200_000, missing_rate=0.1).draw(np.random.default_rng(7))
    lost = [np.isnan(array) for array in table.numbers.values()] + [np.isnat(table.times["purchase_time"])]
    lost += [column.codes < 0 for column in table.categories.values()]
    assert len(lost) == 9
    binomial = np.array([1.0])
    for _ in range(9):
        binomial = np.convolve(binomial, [0.9, 0.1])
    counts = np.bincount(np.sum(lost, axis=0), minlength=10)[None].astype(float)
    assert p_value(counts, binomial[None] * len(table)) >= LEVEL
    known = table.categories["gender"].codes >= 0
    gender = table.categories["gender"].codes[known]
    counts = counted(gender, GENDERS, lost[0][known].astype(int), 2)
    assert p_value(counts, counts.sum(axis=1, keepdims=True) * np.array([0.9, 0.1])) >= LEVEL


def test_a_million_people_are_drawn_in_seconds(drawn):
    """About one second of processor time where this was written; ten are allowed for slower machines."""
    assert drawn[1] < 10
