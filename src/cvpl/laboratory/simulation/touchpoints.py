"""People who saw an advertisement and bought something (paper, sections 7.1 to 7.3).

The population is a finite table: every combination of age, gender, region and channel has a known probability, and
every further column has a known distribution given those. Sampling uses these tables; nothing is learned from data.

Each dependence is a tilt, the log-odds by which a group prefers a value. `_conditional` scales the tilts so that the
shares over all people are exactly as declared: 30% come from Search, whatever the young prefer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import MISSING_CODE, CategoryCodes, Frame

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ID = "person_id"
ORDER = (
    ID,
    "age",
    "gender",
    "region",
    "brand_product",
    "purchase_place",
    "purchase_time",
    "days_after_ad",
    "ad_channel",
    "income",
)

AGES = np.arange(18, 81)
AGE = NormalDist(42, 15)
BAND_STARTS = np.array([18, 30, 40, 50, 60, 70])  # age groups with different behaviour
GENDERS = {"M": 0.485, "F": 0.495, "Other": 0.02}
COMPASS = {"North": 0.28, "South": 0.30, "East": 0.22, "West": 0.20}
SETTLEMENTS = {"Urban": 0.50, "Suburban": 0.32, "Rural": 0.18}
REGIONS = {f"{c}/{s}": COMPASS[c] * SETTLEMENTS[s] for c in COMPASS for s in SETTLEMENTS}
CHANNELS = {"Search": 0.30, "Social": 0.25, "Video": 0.20, "Display": 0.15, "Email": 0.10}
RARE_CHANNELS = ("Podcast", "Billboard")
PLACES = {"Online": 0.42, "Supermarket": 0.26, "Mall": 0.16, "Specialist": 0.10, "Outlet": 0.06}
NICHE_PRODUCTS = 200  # sold only to anomalous people, so that with 10,000 records most have one buyer

START = np.datetime64("2024-01-01", "s")  # a Monday
WEEKS = 52  # the weeks in which advertisements are shown
HOLIDAYS = np.array(["2024-02-14", "2024-05-12", "2024-11-29", "2024-12-24"], dtype="datetime64[D]")

# Tilts. An age tilt is per standard deviation of age above the mean.
GENDER_BY_AGE = np.array([-0.05, 0.05, -0.40])
COMPASS_BY_AGE = np.array([0.10, 0.05, -0.05, -0.10])
SETTLEMENT_BY_AGE = np.array([-0.30, 0.10, 0.30])
SETTLEMENT_BY_GENDER = np.array([[0.0, 0.0, 0.1], [0.0, 0.1, 0.0], [0.4, 0.0, -0.3]])
CHANNEL_BY_AGE = np.array([0.0, -0.7, -0.4, 0.1, 0.6])
CHANNEL_BY_GENDER = np.array([[0.1, -0.1, 0.2, 0.0, 0.0], [0.0, 0.25, -0.1, 0.0, 0.1], [0.0, 0.3, 0.2, 0.0, -0.2]])
CHANNEL_BY_COMPASS = np.array([[0.1, 0, 0, 0, 0], [0, 0.1, 0, 0.1, 0], [0, 0, 0.15, 0, 0], [0, 0, 0, -0.1, 0.1]])
CHANNEL_BY_SETTLEMENT = np.array([[0, 0.15, 0.1, 0, -0.1], [0, 0, 0, 0, 0], [0, -0.2, 0, 0.2, 0.25]])
PLACE_BY_CHANNEL = np.array(
    [[0.5, 0, 0, 0.2, 0], [0.3, -0.2, 0.3, 0, 0], [0, 0, 0.2, 0, 0], [-0.3, 0.4, 0, 0, 0.2], [0.6, 0, 0, 0, 0.3]]
)
PLACE_BY_SETTLEMENT = np.array([[0, 0, 0.2, 0.3, -0.3], [0, 0.1, 0.3, 0, 0.2], [0.3, 0.4, -0.8, -0.4, 0.3]])

LAG_MEDIAN = np.array([0.8, 2.5, 4.0, 6.0, 2.0])  # days, by channel
LAG_BY_AGE = 0.15  # the logarithm of the lag grows by this per standard deviation of age
LAG_SPREAD = 0.9  # standard deviation of the logarithm: one lag in a hundred is eight times the median
DAY_BY_PLACE = np.array(  # percent, from Monday
    [
        [14, 14, 13, 13, 14, 15, 17],
        [12, 11, 12, 13, 18, 24, 10],
        [8, 8, 9, 10, 16, 32, 17],
        [13, 14, 15, 15, 18, 22, 3],
        [9, 9, 10, 11, 16, 28, 17],
    ]
)


@dataclass(frozen=True)
class Touchpoints:
    """The marketing scenario: one purchase per person, after one advertisement.

    records         people, one row each, ids 0 to records - 1 in random order
    anomaly_rate    share of people with one planted anomaly, spread evenly over the four kinds (paper, section 7.3)
    missing_rate    probability that a value is missing, independently in each column except the id
    products        number of ordinary products
    product_alpha   the r-th most popular product has a share proportional to r ** -alpha
    """

    records: int = 10_000
    anomaly_rate: float = 0.0
    missing_rate: float = 0.0
    products: int = 50
    product_alpha: float = 1.5

    def __post_init__(self) -> None:
        for name, (whole, low, high) in _BOUNDS.items():
            value: Any = getattr(self, name)
            number = isinstance(value, int | np.integer) or (not whole and isinstance(value, float | np.floating))
            if not number or isinstance(value, bool) or not low <= value <= high:
                words = "a whole number" if whole else "a number"
                raise ValueError(
                    f"Touchpoints: {name} is {value!r}; allowed is {words} from {low:,} to {high:,}. Set it in this "
                    "range."
                )

    def draw(self, rng: np.random.Generator) -> Frame:
        """Draw the table in the order of the paper's section 7.2: person, channel, lag, product, place, time.

        The same generator state gives the same table. Two draws are different people, though both number ids from 0.
        """
        n = self.records
        population = population_shares()
        cell = np.unravel_index(_pick(rng, population.reshape(1, -1), np.zeros(n, np.int8)), population.shape)
        age_code, gender, compass, settlement, channel = (code.astype(np.int8) for code in cell)
        del cell
        age = AGES[age_code]
        band = _bands()[age_code]

        lag = rng.normal(np.log(LAG_MEDIAN)[channel] + LAG_BY_AGE * _standard_scores()[age_code], LAG_SPREAD)
        np.round(np.exp(lag, out=lag), 2, out=lag)
        shopper = settlement * len(CHANNELS) + channel
        buyer = (band.astype(np.int16) * len(GENDERS) + gender) * (len(SETTLEMENTS) * len(CHANNELS)) + shopper
        product = _pick(rng, self.product_shares(population), buyer)
        place = _pick(rng, place_shares(population), shopper)
        time = _purchase_time(rng, lag, place, band)
        income = _income(rng, age_code, gender, settlement)

        digits = len(str(max(self.products, NICHE_PRODUCTS)))
        products = [f"Product-{rank:0{digits}}" for rank in range(1, self.products + 1)]
        niche = [f"Niche-{rank:0{digits}}" for rank in range(1, NICHE_PRODUCTS + 1)]
        codes = {
            "gender": gender.astype(np.int32),
            "region": compass.astype(np.int32) * np.int32(len(SETTLEMENTS)) + settlement,
            "brand_product": product.astype(np.int32),
            "purchase_place": place.astype(np.int32),
            "ad_channel": channel.astype(np.int32),
        }
        labels = {
            "gender": tuple(GENDERS),
            "region": tuple(REGIONS),
            "brand_product": (*products, *niche),
            "purchase_place": tuple(PLACES),
            "ad_channel": (*CHANNELS, *RARE_CHANNELS),
        }
        numbers: dict[str, NDArray[Any]] = {"age": age, "days_after_ad": lag, "income": income}
        self._plant_anomalies(rng, codes, lag, time)
        self._lose_values(rng, numbers, time, codes)
        return Frame(
            people=rng.permutation(n),
            id_name=ID,
            numbers=numbers,
            times={"purchase_time": time},
            categories={name: CategoryCodes(codes[name], labels[name]) for name in codes},
            order=ORDER,
            whole=("age",),
        )

    def product_shares(self, population: Floats) -> Floats:
        """Probabilities of each product, one row per combination of age group, gender, settlement and channel."""
        shape = (len(BAND_STARTS), len(GENDERS), len(SETTLEMENTS), len(CHANNELS))
        share = np.add.reduceat(population.sum(axis=2), BAND_STARTS - AGES[0], axis=0)
        popularity = np.arange(1, self.products + 1) ** -self.product_alpha
        # Products lie on a circle, spaced by the golden ratio so that neighbours in rank are far apart; each group
        # prefers a part of it.
        angle = 2 * np.pi * (np.arange(self.products) * 0.6180339887 % 1)
        b, g, s, c = (index[..., None] for index in np.indices(shape))
        tilt = (
            0.6 * np.cos(angle - 2 * np.pi * c / len(CHANNELS))
            + 0.25 * (b - 2.5) * np.sin(2 * angle)
            + 0.4 * np.cos(3 * angle + 2 * np.pi * g / len(GENDERS))
            + 0.3 * np.sin(angle + 2 * np.pi * s / len(SETTLEMENTS))
        )
        return _conditional(tilt.reshape(prod(shape), -1), share.ravel(), popularity / popularity.sum())

    def _plant_anomalies(
        self,
        rng: np.random.Generator,
        codes: dict[str, NDArray[np.int32]],
        lag: Floats,
        time: NDArray[np.datetime64],
    ) -> None:
        """Give round(anomaly_rate * records) people one anomaly each, in place (paper, section 7.3).

        Half of the unusual times are at night, half on holidays; half of the unusual lags are instant, half months
        long. An unusual lag leaves the purchase time unchanged: the advertisement was seen at another time instead.
        """
        chosen = rng.choice(self.records, round(self.anomaly_rate * self.records), replace=False)
        channel, product, moment, delay = np.array_split(chosen, 4)
        codes["ad_channel"][channel] = len(CHANNELS) + rng.integers(len(RARE_CHANNELS), size=len(channel))
        codes["brand_product"][product] = self.products + rng.integers(NICHE_PRODUCTS, size=len(product))
        codes["purchase_place"][product] = rng.integers(len(PLACES), size=len(product))  # rare combinations, too

        night, holiday = np.array_split(moment, 2)
        day = time[night].astype("datetime64[D]")
        time[night] = day + rng.integers(2 * 3600, 5 * 3600, len(night)).astype("timedelta64[s]")
        clock = time[holiday] - time[holiday].astype("datetime64[D]")
        time[holiday] = rng.choice(HOLIDAYS, len(holiday)) + clock

        instant, late = np.array_split(delay, 2)
        lag[instant] = np.round(rng.uniform(0, 0.01, len(instant)), 2)
        lag[late] = np.round(rng.uniform(180, 720, len(late)), 2)

    def _lose_values(
        self,
        rng: np.random.Generator,
        numbers: dict[str, NDArray[Any]],
        time: NDArray[np.datetime64],
        codes: dict[str, NDArray[np.int32]],
    ) -> None:
        """Make each value missing with probability `missing_rate`, in place; numbers become floats, to hold NaN."""
        if not self.missing_rate:
            return
        for name, array in numbers.items():
            numbers[name] = np.where(rng.random(self.records) < self.missing_rate, np.nan, array)
        time[rng.random(self.records) < self.missing_rate] = np.datetime64("NaT")
        for array in codes.values():
            array[rng.random(self.records) < self.missing_rate] = MISSING_CODE


_BOUNDS = {  # whether whole, lowest, highest
    "records": (True, 1, 100_000_000),
    "anomaly_rate": (False, 0, 1),
    "missing_rate": (False, 0, 1),
    "products": (True, 1, 10_000),
    "product_alpha": (False, 0, 10),
}


def _pick(rng: np.random.Generator, chances: Floats, given: NDArray[np.integer[Any]]) -> Ints:
    """One value per person: value k with probability chances[g, k], where g is the person's group in `given`.

    The rows' cumulative probabilities are joined, group g over [g, g + 1), so that one search handles all people.
    """
    groups, values = chances.shape
    cumulative = chances.cumsum(axis=1)
    cumulative[:, -1] = 1.0
    edges = (cumulative + np.arange(groups)[:, None]).ravel()
    picked: Ints = (
        np.searchsorted(edges, given + rng.random(len(given)), side="right") - given.astype(np.int64) * values
    )
    np.minimum(picked, values - 1, out=picked)  # group + 0.999... may round up to the next group
    return picked


def _conditional(tilt: Floats, share: Floats, marginal: Floats) -> Floats:
    """Probabilities P(value | group), tilted by `tilt`, that average to `marginal` over groups with these shares.

    P(k | g) = a_k exp(tilt[g, k]) / sum over j of a_j exp(tilt[g, j]), with a found by proportional fitting.
    """
    chances: Floats = np.exp(tilt - tilt.max(axis=1, keepdims=True)) * marginal
    for _ in range(1000):
        chances /= chances.sum(axis=1, keepdims=True)
        now = share @ chances
        if np.abs(now / marginal - 1).max() < 1e-10:
            break
        chances *= marginal / now
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


def _shares(declared: Mapping[str, float]) -> Floats:
    return np.array(list(declared.values()))


def _standard_scores() -> Floats:
    return np.asarray((AGES - AGE.mean) / AGE.stdev, dtype=np.float64)


def _bands() -> NDArray[np.int8]:
    return (np.searchsorted(BAND_STARTS, AGES, side="right") - 1).astype(np.int8)


def population_shares() -> Floats:
    """P(age, gender, compass, settlement, channel) as an array with these five axes, summing to 1.

    Whole ages follow the normal distribution truncated at 17.5 and 80.5, then rounded.
    """
    x = _standard_scores()
    age = np.array([AGE.cdf(a + 0.5) - AGE.cdf(a - 0.5) for a in AGES.tolist()])
    joint = age / age.sum()

    tilt = x[:, None] * GENDER_BY_AGE
    joint = joint[:, None] * _conditional(tilt, joint, _shares(GENDERS))

    tilt = x[:, None, None, None] * (COMPASS_BY_AGE[:, None] + SETTLEMENT_BY_AGE)
    tilt = tilt + SETTLEMENT_BY_GENDER[None, :, None, :]
    region = _conditional(tilt.reshape(joint.size, -1), joint.ravel(), _shares(REGIONS))
    joint = joint[..., None, None] * region.reshape(tilt.shape)

    tilt = (
        x[:, None, None, None, None] * CHANNEL_BY_AGE
        + CHANNEL_BY_GENDER[None, :, None, None]
        + CHANNEL_BY_COMPASS[None, None, :, None]
        + CHANNEL_BY_SETTLEMENT
    )
    channel = _conditional(tilt.reshape(joint.size, -1), joint.ravel(), _shares(CHANNELS))
    return np.asarray(joint[..., None] * channel.reshape(tilt.shape), dtype=np.float64)


def place_shares(population: Floats) -> Floats:
    """Probabilities of each place, one row per combination of settlement and channel."""
    tilt = PLACE_BY_SETTLEMENT[:, None] + PLACE_BY_CHANNEL
    return _conditional(tilt.reshape(-1, len(PLACES)), population.sum(axis=(0, 1, 2)).ravel(), _shares(PLACES))


def hour_shares() -> Floats:
    """Probabilities of each hour given age group, weekend and online, as rows in this order of groups.

    There is a late-morning peak, which grows with age, and an evening peak, which comes earlier with age; shops are
    almost closed from 22 to 7, online shops are not.
    """
    shape = (len(BAND_STARTS), 2, 2)
    band, weekend, online = (index[..., None] for index in np.indices(shape))
    hour = np.arange(24)

    def hill(centre: NDArray[Any], width: float) -> Floats:
        away = (hour - centre + 12) % 24 - 12  # the shorter distance around the clock
        return np.asarray(np.exp(-0.5 * (away / width) ** 2), dtype=np.float64)

    morning = (0.5 + 0.2 * band + 0.4 * weekend) * hill(10.5 + weekend, 2.2)
    evening = (1.4 - 0.15 * band) * hill(19.5 - 0.5 * band + 2 * online, 2.0)
    chances = 0.02 + morning + evening
    chances = np.where((online == 0) & ((hour < 7) | (hour >= 22)), 0.002, chances).reshape(prod(shape), 24)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), dtype=np.float64)


def _purchase_time(
    rng: np.random.Generator, lag: Floats, place: Ints, band: NDArray[np.int8]
) -> NDArray[np.datetime64]:
    """The purchase time: exposure plus lag gives the week; day and hour depend on the place and the age group."""
    reached = rng.random(len(lag)) * (WEEKS * 7) + lag
    seconds = (reached // 7).astype(np.int64) * (7 * 86400)
    day = _pick(rng, DAY_BY_PLACE / DAY_BY_PLACE.sum(axis=1, keepdims=True), place)
    seconds += day * 86400
    group = (band.astype(np.int16) * 2 + (day >= 5)) * 2 + (place == list(PLACES).index("Online"))
    seconds += _pick(rng, hour_shares(), group) * 3600
    seconds += rng.integers(3600, size=len(lag))
    return START + seconds.astype("timedelta64[s]")


def _income(rng: np.random.Generator, age: NDArray[Any], gender: NDArray[Any], settlement: NDArray[Any]) -> Floats:
    """A log-normal income that peaks at age 50 and is higher in towns; sensitive, and not known to any attacker."""
    middle = 10.6 - ((AGES - 50) / 40) ** 2
    logarithm = middle[age] + np.array([0.06, -0.06, -0.03])[gender] + np.array([0.12, 0.04, -0.12])[settlement]
    income: Floats = np.round(np.exp(rng.normal(logarithm, 0.45)), 2)
    return income
