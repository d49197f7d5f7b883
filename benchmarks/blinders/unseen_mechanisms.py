"""Mechanisms written by somebody who has not seen the attackers.

Sixteen are those of the list; the last three are added because they ought to be the hardest to see through. Columns
that a careful person would leave as they are (sex, job) stay so in some: what still matches then says little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree
from scipy.special import ndtr, ndtri
from sklearn.cluster import KMeans

from blinders.mechanism import Keys, Mechanism, no_keys

Change = Callable[[pd.DataFrame, Keys], pd.DataFrame]
"""A change that draws nothing for each record."""

_EPOCH = pd.Timestamp("1970-01-01")
_SERIAL = pd.Timestamp("1899-12-30")
_FINE = ("region", "diagnosis")
_CHUNK = 500


# What the mechanisms share: types of columns, days, grids of decimals


def _numeric(table: pd.DataFrame) -> list[str]:
    return [name for name in table if pd.api.types.is_numeric_dtype(table[name])]


def _times(table: pd.DataFrame) -> list[str]:
    return [name for name in table if pd.api.types.is_datetime64_any_dtype(table[name])]


def _texts(table: pd.DataFrame) -> list[str]:
    return [name for name in table if name not in _numeric(table) and name not in _times(table)]


def _days(column: pd.Series, since: pd.Timestamp = _EPOCH) -> np.ndarray:
    """Days since a day, with fractions."""
    return ((column - since) / pd.Timedelta(days=1)).to_numpy(dtype=float)


def _as_times(days: np.ndarray, since: pd.Timestamp = _EPOCH) -> np.ndarray:
    """Times from days, to the second."""
    seconds = np.round(np.asarray(days, dtype=float) * 86_400).astype(np.int64)
    return np.datetime64(since, "s") + seconds.astype("timedelta64[s]")


def _amounts(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers and times (as days) as one table of numbers."""
    done = {name: table[name].to_numpy(dtype=float) for name in _numeric(table)}
    return pd.DataFrame(done | {name: _days(table[name]) for name in _times(table)})


def _vectors(table: pd.DataFrame, scale: pd.DataFrame) -> np.ndarray:
    """Numbers and times divided by their spread in another table."""
    spread = _amounts(scale).std().replace(0, 1).fillna(1)
    return (_amounts(table)[list(spread.index)] / spread).to_numpy()


def _decimals(values: np.ndarray) -> int:
    """How many decimals (at most four) numbers are written with."""
    for places in range(4):
        if np.allclose(values * 10**places, np.round(values * 10**places), atol=1e-6, rtol=0):
            return places
    return 4


def _nice(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-9)))
    return float(min((1 * power, 2 * power, 5 * power, 10 * power), key=lambda step: abs(np.log(step / value))))


def _formatted(values: np.ndarray, places: int, like: pd.Series) -> np.ndarray:
    """Numbers rounded to so many decimals, whole where the original column is whole."""
    values = np.round(values, places)
    return values.astype(int) if pd.api.types.is_integer_dtype(like) else values


def _moved(size: int, rng: np.random.Generator) -> np.ndarray:
    """A random order of so many places that leaves none where it was."""
    order = rng.permutation(size)
    while size > 1 and (order == np.arange(size)).any():
        order = rng.permutation(size)
    return order


def _words(table: pd.DataFrame, column: str) -> bool:
    """Whether a column holds sentences."""
    return bool(table[column].str.contains(" ", regex=False).mean() > 0.5)


# What the oracles share


def _ids(columns: list[str], *tables: pd.DataFrame) -> list[np.ndarray]:
    """A number for each row of each table, equal where rows are equal in these columns."""
    total = np.zeros(sum(len(table) for table in tables), dtype=np.int64)
    for name in columns:
        parts = [table[name] for table in tables]
        if all(pd.api.types.is_datetime64_any_dtype(part) for part in parts):
            values = np.concatenate([np.round(_days(part) * 86_400) for part in parts])
        elif all(pd.api.types.is_numeric_dtype(part) for part in parts):
            values = np.concatenate([np.round(part.to_numpy(dtype=float), 7) for part in parts])
        else:
            values = np.concatenate([part.astype(str).to_numpy(dtype=object) for part in parts])
        codes, found = pd.factorize(values)
        total = pd.factorize(total * (len(found) + 1) + codes)[0].astype(np.int64)
    return np.split(total, np.cumsum([len(table) for table in tables])[:-1])


def _shares(mine: pd.DataFrame, released: pd.DataFrame, known: pd.DataFrame) -> np.ndarray:
    """How many released rows are equal to the person's, over how many known people are."""
    columns = [name for name in mine if name in released]
    here, there, all_ = _ids(columns, mine, released, known)
    size = int(max(part.max(initial=0) for part in (here, there, all_))) + 1
    return np.bincount(there, minlength=size)[here] / np.maximum(np.bincount(all_, minlength=size)[here], 1)


def _by_equal(change: Change):  # type: ignore[no-untyped-def]
    """The oracle that brings people through the same change and counts equal rows."""

    def oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
        return _shares(change(people, keys), released, change(known, keys))

    return oracle


def _without_draws(change: Change):  # type: ignore[no-untyped-def]
    return lambda table, keys, rng: change(table, keys)


def _pool(people: pd.DataFrame, known: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """All different people that the attacker knows of, and the place of each row of `people` among them."""
    both = pd.concat([known, people], ignore_index=True)
    rows, first = np.unique(_ids(list(both), both)[0], return_index=True)
    place = np.empty(int(rows.max()) + 1, dtype=int)
    place[rows] = np.arange(len(rows))
    return both.iloc[first].reset_index(drop=True), place[_ids(list(both), both)[0][len(known) :]]


def _coded(*tables: pd.DataFrame) -> list[np.ndarray]:
    """Values of all columns as whole numbers, equal where they are equal."""
    columns = list(tables[0])
    done = [np.empty((len(table), len(columns)), dtype=np.int32) for table in tables]
    for place, name in enumerate(columns):
        for part, codes in zip(done, _ids([name], *tables), strict=True):
            part[:, place] = codes
    return done


def _apart(one: pd.DataFrame, other: pd.DataFrame, scale: pd.DataFrame) -> np.ndarray:
    """Squared distances: scaled numbers and times, 1 for each label that differs."""
    left, right = (_vectors(table, scale).astype(np.float32) for table in (one, other))
    total = np.zeros((len(one), len(other)), dtype=np.float32)
    for place in range(left.shape[1]):
        total += (left[:, place, None] - right[None, :, place]) ** 2
    labels = _texts(scale)
    if labels:
        mine, theirs = _coded(one[labels], other[labels])
        for place in range(len(labels)):
            total += mine[:, place, None] != theirs[None, :, place]
    return total


# Synthetic rows, for what is not about the people at all


def _scores(table: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Normal scores of all columns; equal values in random order."""
    count = len(table)
    columns = []
    for name in table:
        codes = table[name].rank(method="dense").to_numpy()
        order = np.lexsort((rng.random(count), codes))
        ranks = np.empty(count)
        ranks[order] = np.arange(count)
        columns.append(ndtri((ranks + 0.5) / count))
    return np.column_stack(columns)


def _synthetic(table: pd.DataFrame, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows from a Gaussian copula with smoothed margins: like the table, but nobody's."""
    shares = ndtr(rng.multivariate_normal(np.zeros(table.shape[1]), _related(table, rng), size=count))
    done: dict[str, object] = {}
    for place, name in enumerate(table):
        share = shares[:, place]
        if name in _numeric(table):
            values = table[name].to_numpy(dtype=float)
            drawn = np.quantile(values, share) + rng.normal(0, 0.03 * values.std(), count)
            drawn = np.clip(drawn, values.min(), values.max())
            done[name] = _formatted(drawn, _decimals(values), table[name])
        elif name in _times(table):
            days = _days(table[name])
            done[name] = _as_times(np.round(np.quantile(days, share) + rng.normal(0, 0.02 * days.std() + 1, count)))
        elif _words(table, name):
            notes = table[name].str.split()
            words = np.array([word for note in notes for word in note])
            done[name] = [" ".join(rng.choice(words, len(note))) for note in notes.sample(count, replace=True).tolist()]
        else:
            labels = np.sort(table[name].to_numpy(dtype=object))
            done[name] = labels[np.minimum((share * len(labels)).astype(int), len(labels) - 1)]
    return pd.DataFrame(done).astype(dict.fromkeys(_texts(table), "str"))


def _related(table: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Correlations of the normal scores."""
    return np.atleast_2d(np.corrcoef(_scores(table, rng).T))


# 1. Columns under other names

_OTHER_NAMES = {
    "income": "einkommen",
    "rent": "miete",
    "height": "groesse",
    "pulse": "puls",
    "glucose": "zucker",
    "distance": "weg",
    "age": "alter",
    "weight": "gewicht",
    "sex": "geschlecht",
    "job": "beruf",
    "region": "kreis",
    "diagnosis": "befund",
    "born": "geburt",
    "admitted": "aufnahme",
    "discharged": "entlassung",
    "note": "eintrag",
}


def _naming(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """Two thirds of the columns get other names: those with the most values."""
    rich = sorted(table, key=lambda name: (-table[name].nunique(), name))[
        : len(table.columns) - len(table.columns) // 3
    ]
    numbers = rng.permutation(len(rich)) + 1
    names = {name: _OTHER_NAMES.get(name, f"item_{number:02d}") for name, number in zip(rich, numbers, strict=True)}
    return {"names": names, "order": [names.get(name, name) for name in rng.permutation(list(table))]}


def _other_names(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """The file of another system: other names, other order, same values."""
    return table.rename(columns=keys["names"])[keys["order"]]


# 2. Columns swapped


def _swaps(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """Columns of one type are swapped in pairs, the richest first; three that are left go round."""
    source = {}
    for group in (_numeric(table), _times(table), _texts(table)):
        rich = sorted(group, key=lambda name: (-table[name].nunique(), name))
        while len(rich) > 1:
            size = 3 if len(rich) == 3 else 2
            part, rich = rich[:size], rich[size:]
            source |= dict(zip(part, part[1:] + part[:1], strict=True))
    return {"source": source}


def _swapped(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Values of one column under the name of another."""
    return pd.DataFrame({name: table[keys["source"].get(name, name)].to_numpy() for name in table})


# 3. Tokens


def _vault(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """A vault of tokens that keep the format: numbers to numbers of as many digits, days to days, words to words."""
    numbers = {}
    for name in _numeric(table):
        places = _decimals(table[name].to_numpy(dtype=float))
        digits = len(str(int(np.round(table[name].max() * 10**places))))
        numbers[name] = (places, rng.permutation(10**digits))
    days = {name: rng.permutation(60_000) for name in _times(table)}
    words = {}
    for name in _texts(table):
        found = sorted({word for value in table[name].unique() for word in value.split()})
        codes = rng.choice(16**5, len(found), replace=False)
        words[name] = {word: f"t{code:05x}" for word, code in zip(found, codes, strict=True)}
    return {"numbers": numbers, "days": days, "words": words}


def _tokens(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Every value under its token, the same everywhere in the column."""
    done = table.copy()
    for name, (places, order) in keys["numbers"].items():
        whole = np.round(table[name].to_numpy(dtype=float) * 10**places).astype(int)
        done[name] = _formatted(order[whole % len(order)] / 10**places, places, table[name])
    for name, order in keys["days"].items():
        done[name] = _as_times(order[_days(table[name], _SERIAL).astype(int) % len(order)], _SERIAL)
    for name, tokens in keys["words"].items():
        done[name] = [" ".join(tokens.get(word, "t00000") for word in value.split()) for value in table[name]]
    return done


# 4. Categories merged


def _groups(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """Labels fall at random into half as many groups; numbers get eight classes."""
    names = {}
    for name in _texts(table):
        labels = sorted(table[name].unique())
        count = max(2, len(labels) // 2)
        group = rng.permutation(np.arange(len(labels)) % count)
        names[name] = {label: f"group {place + 1}" for label, place in zip(labels, group, strict=True)}
    cuts = {name: np.unique(np.quantile(table[name], np.arange(1, 8) / 8)) for name in _numeric(table)}
    return {"names": names, "cuts": cuts}


def _merged(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Groups and classes under names of their own, times as quarters or decades."""
    done = {}
    for name in table:
        if name in keys["names"]:
            done[name] = table[name].map(keys["names"][name]).fillna("group other").to_numpy()
        elif name in keys["cuts"]:
            place = np.searchsorted(keys["cuts"][name], table[name].to_numpy(), side="right")
            done[name] = np.char.add("class ", (place + 1).astype(str))
        elif name == "born":
            done[name] = [f"{year // 10 * 10}s" for year in table[name].dt.year]
        else:
            done[name] = [
                f"Q{quarter}/{year}" for quarter, year in zip(table[name].dt.quarter, table[name].dt.year, strict=False)
            ]
    return pd.DataFrame(done).astype("str")


# 5. Digits in another order


def _digit_orders(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """An order of the digits for every column that has digits, in which no digit stays where it was."""
    numbers, codes = {}, {}
    for name in _numeric(table):
        places = _decimals(table[name].to_numpy(dtype=float))
        numbers[name] = (places, _moved(len(str(int(np.round(table[name].max() * 10**places)))), rng))
    for name in _texts(table):
        width = table[name].str.count(r"\d").max()
        if width > 1:
            codes[name] = _moved(int(width), rng)
    return {"numbers": numbers, "codes": codes, "days": {name: _moved(5, rng) for name in _times(table)}}


def _digits(whole: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Whole numbers with their last digits in another order; digits before those stay."""
    high, low = np.divmod(whole, 10 ** len(order))
    digits = [low // 10 ** int(place) % 10 for place in order]
    return high * 10 ** len(order) + sum(digit * 10**place for place, digit in enumerate(digits))


def _code_digits(value: str, order: np.ndarray) -> str:
    """A code with its digits in another order, letters where they were."""
    found = [place for place, letter in enumerate(value) if letter.isdigit()]
    if len(found) != len(order):
        return value
    letters = list(value)
    for place, source in zip(found, order, strict=True):
        letters[place] = value[found[source]]
    return "".join(letters)


def _reordered(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Numbers, codes and serial numbers of days, each with its digits in another order."""
    done = table.copy()
    for name, (places, order) in keys["numbers"].items():
        whole = np.round(table[name].to_numpy(dtype=float) * 10**places).astype(int)
        done[name] = _formatted(_digits(whole, order) / 10**places, places, table[name])
    for name, order in keys["codes"].items():
        names = {value: _code_digits(value, order) for value in table[name].unique()}
        done[name] = table[name].map(names)
    for name, order in keys["days"].items():
        done[name] = _as_times(_digits(_days(table[name], _SERIAL).astype(int), order), _SERIAL)
    return done


# 6. Another currency and other units, rounded


def _rate(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """The rate of the currency."""
    return {"rate": float(np.round(rng.uniform(4, 11), 3))}


def _converted(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Money, inches, pounds, mmol/l, miles, milliseconds between beats, rounded; days to months; fine codes dropped."""
    rate = keys["rate"]
    units: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "income": lambda x: np.round(x * rate / 12 / 100) * 100,
        "rent": lambda x: np.round(x * rate / 50) * 50,
        "height": lambda x: np.round(x / 2.54 * 2) / 2,
        "pulse": lambda x: np.round(60_000 / np.clip(x, 20, None) / 10) * 10,
        "glucose": lambda x: np.round(x / 18.016, 1),
        "distance": lambda x: np.round(x / 1.609344),
        "weight": lambda x: np.round(x * 2.2046226),
        "age": lambda x: np.round(x / 2) * 24,
    }
    done = table.drop(columns=[name for name in _FINE if name in table])
    for name in _numeric(table):
        done[name] = units[name](table[name].to_numpy(dtype=float))
    for name in _times(table):
        done[name] = table[name].to_numpy().astype("datetime64[M]").astype("datetime64[s]")
    return done


# 7 and 8. Clocks of another zone, day and month swapped; all other columns are synthetic

_ZONES = ("America/Los_Angeles", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "Asia/Kolkata")


def _zone(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """The zone of the server, and whether its calendar counts from 1904."""
    return {"zone": str(rng.choice(_ZONES)), "days": int(rng.choice([0, 1462]))}


def _zoned(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Times on the clock of the zone, with its summer time, and counted from 1904 if so."""
    done = table[_times(table)].copy()
    for name in done:
        local = table[name].dt.tz_localize("UTC").dt.tz_convert(keys["zone"]).dt.tz_localize(None)
        done[name] = (local + pd.Timedelta(days=keys["days"])).to_numpy().astype("datetime64[s]")
    return done


def _day_month(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Day and month swapped wherever that is a date, as a reader with the wrong order does."""
    done = table[_times(table)].copy()
    for name in done:
        year, month, day = (getattr(table[name].dt, part).to_numpy() for part in ("year", "month", "day"))
        swap = day <= 12
        parts = {"year": year, "month": np.where(swap, day, month), "day": np.where(swap, month, day)}
        done[name] = pd.to_datetime(parts).to_numpy().astype("datetime64[s]")
    return done


def _only_times(table: pd.DataFrame, keys: Keys, rng: np.random.Generator, change: Change) -> pd.DataFrame:
    """True times, changed; everything else synthetic."""
    others = _synthetic(table.drop(columns=_times(table)), len(table), rng)
    done = change(table, keys).reset_index(drop=True)
    return pd.concat([others, done], axis=1)[list(table)]


# 9. Rounding and a shift


def _offsets(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """A step and a shift for every column of numbers or times."""
    steps = {name: _nice(float(table[name].std()) / 4) for name in _numeric(table)}
    shifts = {
        name: float(np.round(rng.uniform(3.3, 14.7) * rng.choice([-1, 1]) * step, 3)) for name, step in steps.items()
    }
    return {"steps": steps, "shifts": shifts, "days": {name: int(rng.integers(100, 3_000)) for name in _times(table)}}


def _offset(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Numbers rounded and shifted, times to thirty days and shifted, fine codes dropped."""
    done = table.drop(columns=[name for name in _FINE if name in table])
    for name, step in keys["steps"].items():
        done[name] = np.round(np.round(table[name].to_numpy(dtype=float) / step) * step + keys["shifts"][name], 6)
    for name, days in keys["days"].items():
        done[name] = _as_times(np.floor(_days(table[name]) / 30) * 30 + days)
    return done


# 10. Two releases, one under the other


def _two_codings(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """Two orders of labels and words, two shifts of times, and what the numbers are scaled by."""
    names = []
    for _ in range(2):
        orders = {}
        for name in _texts(table):
            found = sorted({word for value in table[name].unique() for word in value.split()})
            orders[name] = dict(zip(found, (found[place] for place in _moved(len(found), rng)), strict=True))
        names.append(orders)
    scales = {}
    for name in _numeric(table):
        logs = np.log(table[name].clip(lower=1e-3))
        scales[name] = (float(table[name].mean()), float(table[name].std()), float(logs.mean()), float(logs.std()))
    days = [{name: int(sign * rng.integers(40, 700)) for name in _times(table)} for sign in (1, -1)]
    return {"names": names, "scales": scales, "days": days}


def _site(table: pd.DataFrame, keys: Keys, site: int) -> pd.DataFrame:
    """The first site standardizes its numbers, the second reverses and standardizes their logs."""
    done = table.copy()
    for name, (mean, spread, log_mean, log_spread) in keys["scales"].items():
        values = table[name].to_numpy(dtype=float)
        scored = (log_mean - np.log(np.clip(values, 1e-3, None))) / log_spread if site else (values - mean) / spread
        done[name] = np.round(scored, 4)
    for name, days in keys["days"][site].items():
        done[name] = table[name] + np.timedelta64(days, "D")
    for name, order in keys["names"][site].items():
        done[name] = [" ".join(order.get(word, word) for word in value.split()) for value in table[name]]
    return done


def _concatenated(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Half of the people from each site."""
    first = rng.random(len(table)) < 0.5
    return pd.concat([_site(table[first], keys, 0), _site(table[~first], keys, 1)], ignore_index=True)


def _site_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """Equal rows under either coding."""
    return sum(_shares(_site(people, keys, site), released, _site(known, keys, site)) for site in (0, 1))


# 11 and 12. A third of the columns, the same for all or different for each person


def _third(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """A third of the columns."""
    kept = set(rng.choice(list(table), -(-len(table.columns) // 3), replace=False))
    return {"kept": [name for name in table if name in kept]}


def _kept(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    return table[keys["kept"]].copy()


def _own_columns(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Each person keeps a third of the columns of their own; the other values are those of random people."""
    count, width = table.shape
    keep = rng.random((count, width)).argsort(axis=1) < -(-width // 3)
    return pd.DataFrame(
        {
            name: np.where(
                keep[:, place], table[name].to_numpy(), table[name].to_numpy()[rng.integers(0, count, count)]
            )
            for place, name in enumerate(table)
        }
    ).astype(table.dtypes.to_dict())


def _own_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """The likelihood ratio over all sets of kept columns, summed over the released rows."""
    mine, there, others = _coded(people, released, known)
    width = mine.shape[1]
    kept = -(-width // 3)
    sums = np.zeros(len(mine))
    ratios = []
    for place in range(width):
        counts = np.bincount(
            others[:, place], minlength=max(part[:, place].max() for part in (mine, there, others)) + 1
        )
        ratios.append((len(others) / np.maximum(counts, 1)[mine[:, place]]).astype(np.float32))
    for start in range(0, len(mine), _CHUNK):
        part = slice(start, start + _CHUNK)
        sets = [np.zeros((len(mine[part]), len(there)), dtype=np.float32) for _ in range(kept)]
        for place in range(width):
            equal = mine[part, place, None] == there[None, :, place]
            row, column = np.nonzero(equal)
            ratio = ratios[place][part][row]
            for size in range(kept - 1, 0, -1):
                sets[size][row, column] += ratio * sets[size - 1][row, column]
            sets[0][row, column] += ratio
        sums[part] = sets[-1].sum(axis=1, dtype=np.float64)
    return np.log(sums + 1e-9)


# 13. Centroids

_CENTS = 2
_CLUSTER = 3


def _centroids(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Everybody gets the centroid of their cluster, of three people on average; labels the commonest of the cluster."""
    vectors = _vectors(table, table)
    count = max(1, len(table) // _CLUSTER)
    means = KMeans(count, init="random", n_init=1, max_iter=30, random_state=int(rng.integers(1 << 31)))
    cluster = pd.Series(means.fit_predict(vectors - vectors.mean(axis=0)))
    done = {}
    for name in table:
        values = table[name].reset_index(drop=True)
        if name in _numeric(table):
            done[name] = values.astype(float).groupby(cluster).transform("mean").round(_CENTS).to_numpy()
        elif name in _times(table):
            days = pd.Series(_days(values)).groupby(cluster).transform("mean").round()
            done[name] = _as_times(days.to_numpy())
        else:
            common = values.groupby(cluster).agg(lambda part: part.mode().iloc[0])
            done[name] = cluster.map(common).to_numpy()
    return pd.DataFrame(done)[list(table)].astype(dict.fromkeys(_texts(table), "str"))


_NEAR = {1: 60, 2: 60, 3: 40, 4: 30, 5: 22, 6: 17}
_SETS = {size: np.array(list(combinations(range(near), size))) for size, near in _NEAR.items()}


def _centroid_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """Which known people have exactly a released centroid as their average; else how near a centroid is."""
    pool, place = _pool(people, known)
    values = _amounts(pool).to_numpy()
    names = list(_amounts(pool))
    slack = np.array([0.51 if name in _times(pool) else 0.51 * 10.0**-_CENTS for name in names])
    vectors = _vectors(pool, known)
    amounts = _amounts(released)[names].round(6)
    sizes = amounts.groupby(names).size().reset_index(name="size")
    centres = sizes[names].to_numpy()
    spread = _amounts(known).std().replace(0, 1).to_numpy()
    tree = cKDTree(vectors)
    near = tree.query(centres / spread, k=min(60, len(pool)))[1]
    score = -cKDTree(centres / spread).query(vectors)[0]
    for row, size in enumerate(sizes["size"]):
        if size not in _SETS or _NEAR[size] > len(pool):
            continue
        found = near[row, : _NEAR[size]]
        sets = _SETS[size]
        apart = values[found] - centres[row]
        for column in range(len(names)):
            total = apart[sets, column].sum(axis=1)
            sets = sets[np.abs(total) <= slack[column] * size]
            if not len(sets):
                break
        if len(sets):
            members, times = np.unique(sets, return_counts=True)
            who = found[members]
            score[who] = np.maximum(score[who], 10 * times / len(sets))
    return score[place]


# 14. Points between two random people


def _between(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Each row lies between a person and a random other one; a label is that of either."""
    table = table.reset_index(drop=True)
    count = len(table)
    other, share = (np.arange(count) + rng.integers(1, count, count)) % count, rng.random(count)
    done = {}
    for name in table:
        if name in _numeric(table) or name in _times(table):
            values = table[name].to_numpy(dtype=float) if name in _numeric(table) else _days(table[name])
            drawn = values + share * (values[other] - values)
            done[name] = np.round(drawn, 6) if name in _numeric(table) else _as_times(drawn)
        else:
            done[name] = np.where(rng.random(count) < share, table[name].to_numpy()[other], table[name].to_numpy())
    return pd.DataFrame(done).astype(dict.fromkeys(_texts(table), "str"))


def _between_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """Pairs of known people with a released row exactly on the line between them; else how near a row is."""
    pool, place = _pool(people, known)
    mine, there = _vectors(pool, known), _vectors(released, known)
    centre = mine.mean(axis=0)
    mine, there = mine - centre, there - centre
    one, other = np.random.default_rng(0).normal(size=(2, mine.shape[1]))
    score = -cKDTree(there).query(mine)[0]
    for start in range(0, len(there), 100):
        rows = there[start : start + 100]
        angle = np.arctan(
            ((mine @ one)[None, :] - (rows @ one)[:, None])
            / ((mine @ other)[None, :] - (rows @ other)[:, None] + 1e-300)
        )
        order = np.argsort(angle, axis=1)
        ranked = np.take_along_axis(angle, order, axis=1)
        for lag in (1, 2):
            row, at = np.nonzero(ranked[:, lag:] - ranked[:, :-lag] < 3e-6)
            left, right = order[row, at], order[row, at + lag]
            to_left, to_right = mine[left] - rows[row], mine[right] - rows[row]
            lengths = np.linalg.norm(to_left, axis=1) * np.linalg.norm(to_right, axis=1)
            open_ = 1 + np.einsum("ij,ij->i", to_left, to_right) / np.maximum(lengths, 1e-300)
            sure = -np.log(np.clip(open_, 1e-14, None))
            good = (sure > 15) & (lengths > 0)
            np.maximum.at(score, left[good], sure[good])
            np.maximum.at(score, right[good], sure[good])
    return score[place]


# 15. Hot deck

_DONORS = 5
_ROWS = 60


def _hot_deck(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Every value is that of a random one of the five nearest other people."""
    table = table.reset_index(drop=True)
    apart = _apart(table, table, table)
    np.fill_diagonal(apart, np.inf)
    apart += rng.random(apart.shape, dtype=np.float32) * 1e-3
    near = np.argpartition(apart, _DONORS, axis=1)[:, :_DONORS]
    rows = np.arange(len(table))
    return pd.DataFrame(
        {name: table[name].to_numpy()[near[rows, rng.integers(0, _DONORS, len(table))]] for name in table}
    ).astype(table.dtypes.to_dict())


def _hot_deck_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """The likelihood ratio of how often the person's values occur in the released rows that are nearest to them."""
    mine, there, others = _coded(people, released, known)
    rows = min(_ROWS, len(there))
    score = np.zeros(len(mine))
    for start in range(0, len(mine), _CHUNK):
        part = slice(start, start + _CHUNK)
        apart = _apart(people.iloc[part], released, known)
        near = np.argpartition(apart, rows - 1, axis=1)[:, :rows]
        for place in range(mine.shape[1]):
            values = mine[part, place]
            counts = np.bincount(others[:, place], minlength=max(values.max(), others[:, place].max()) + 1)
            expected = rows * (3 * np.maximum(counts[values] - 1, 0) + 0.1) / len(others)
            found = (there[near, place] == values[:, None]).sum(axis=1)
            score[part] += found * np.log1p(1 / expected) - 1
    return score


# 16. Copies of rare people alone

_RARE = 0.1


def _rarity(people: pd.DataFrame, among: pd.DataFrame) -> np.ndarray:
    """How rare people are: rare labels and words, numbers and times far from the mean."""
    total = np.zeros(len(people))
    for name in people:
        if name in _texts(among):
            words = among[name].str.split().explode().value_counts(normalize=True)
            total += [
                -np.mean([np.log(words.get(word, 0.5 / len(among))) for word in value.split()])
                for value in people[name]
            ]
        else:
            mine, others = (_amounts(table[[name]]).to_numpy()[:, 0] for table in (people, among))
            total += ((mine - others.mean()) / (others.std() or 1)) ** 2 / 2
    return total


def _rare_alone(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """The rarest tenth as they are, and synthetic people for the rest."""
    rare = np.argsort(-_rarity(table, table))[: int(np.ceil(_RARE * len(table)))]
    rest = _synthetic(table, len(table) - len(rare), rng)
    return pd.concat([table.iloc[rare], rest.astype(table.dtypes.to_dict())], ignore_index=True)


def _rare_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """Rare people with an equal row first, rare people without one last."""
    order = np.sort(_rarity(known, known))
    rank = np.searchsorted(order, _rarity(people, known)) / len(order)
    found = _shares(people, released, known) > 0
    margin = 1 - 1.7 * _RARE
    return np.where(found, np.where(rank > margin, 1 + rank, 0.0), -np.maximum(0.0, rank - margin))


# Three more: numbers turned together, everybody on a scale of their own, columns told apart


def _rotation(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """A random turn of all numbers and times together, and what brings each back to its mean and spread."""
    amounts = _amounts(table)
    mean, spread = amounts.mean().to_numpy(), amounts.std().replace(0, 1).to_numpy()
    turn = np.linalg.qr(rng.normal(size=(len(mean), len(mean))))[0]
    turn = turn / (((amounts - mean) / spread).to_numpy() @ turn).std(axis=0)
    places = {name: _decimals(table[name].to_numpy(dtype=float)) for name in _numeric(table)}
    return {"mean": mean, "spread": spread, "turn": turn, "places": places}


def _rotated(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Each column a mixture of all, with the old mean, spread and decimals; fine codes dropped."""
    done = table.drop(columns=[name for name in _FINE if name in table])
    amounts = _amounts(table)
    scaled = (amounts.to_numpy() - keys["mean"]) / keys["spread"]
    turned = np.stack([(scaled * column).sum(axis=1) for column in keys["turn"].T], axis=1)
    turned = pd.DataFrame(turned * keys["spread"] + keys["mean"], columns=amounts.columns)
    for name, places in keys["places"].items():
        done[name] = _formatted(turned[name].to_numpy(), places, table[name])
    for name in _times(table):
        done[name] = _as_times(np.round(turned[name].to_numpy()))
    return done


def _own_scale(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """A person's numbers times a factor of their own, their times plus days of their own; fine codes dropped."""
    done = table.drop(columns=[name for name in _FINE if name in table])
    factor = np.exp(rng.normal(0, 0.7, len(table)))
    days = rng.integers(-1_500, 1_500, len(table)).astype("timedelta64[D]")
    for name in _numeric(table):
        done[name] = np.round(table[name].to_numpy(dtype=float) * factor, 4)
    for name in _times(table):
        done[name] = table[name].to_numpy() + days
    return done


def _ratios(table: pd.DataFrame) -> np.ndarray:
    """Log ratios of numbers and differences of times: what the own scale leaves as it was."""
    logs = np.column_stack([np.log(np.clip(table[name].to_numpy(dtype=float), 1e-4, None)) for name in _numeric(table)])
    parts = [logs[:, 1:] - logs[:, :1]]
    if _times(table):
        days = np.column_stack([_days(table[name]) for name in _times(table)])
        parts.append((days[:, 1:] - days[:, :1]) / 30)
    if "sex" in table:
        parts.append((table["sex"] == "female").to_numpy()[:, None] * 10.0)
        parts.append(pd.util.hash_array(table["job"].to_numpy(dtype=object), categorize=True)[:, None] % 997 * 10.0)
    return np.column_stack(parts)


def _ratio_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """How near the nearest row is in ratios and differences."""
    return -np.log(cKDTree(_ratios(released)).query(_ratios(people))[0] + 1e-9)


def _blocks(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """Two or three columns to a block, at random."""
    order = list(rng.permutation(list(table)))
    count = max(2, len(order) // 3)
    return {"blocks": [order[place::count] for place in range(count)]}


def _unlinked(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Rows true within each block of columns; the blocks shuffled against each other."""
    done = table.copy()
    for block in keys["blocks"]:
        order = rng.permutation(len(table))
        for name in block:
            done[name] = table[name].to_numpy()[order]
    return done


def _block_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """Equal rows in every block, weighted by how few people have them."""
    score = np.zeros(len(people))
    for block in keys["blocks"]:
        share = _shares(people[block], released[block], known[block])
        score += np.where(share > 0, np.log(np.maximum(share, 1e-9)), -100.0)
    return score


MECHANISMS = (
    Mechanism(
        "column_renamed",
        ("continuous", "categorical", "mixed", "text"),
        _naming,
        _without_draws(_other_names),
        _by_equal(_other_names),
    ),
    Mechanism(
        "columns_swapped",
        ("continuous", "categorical", "mixed", "text"),
        _swaps,
        _without_draws(_swapped),
        _by_equal(_swapped),
    ),
    Mechanism(
        "tokens",
        ("continuous", "categorical", "mixed", "text"),
        _vault,
        _without_draws(_tokens),
        _by_equal(_tokens),
    ),
    Mechanism("categories_merged", ("categorical", "mixed"), _groups, _without_draws(_merged), _by_equal(_merged)),
    Mechanism(
        "digits_reordered",
        ("continuous", "categorical", "mixed"),
        _digit_orders,
        _without_draws(_reordered),
        _by_equal(_reordered),
    ),
    Mechanism("units_rounded", ("continuous", "mixed"), _rate, _without_draws(_converted), _by_equal(_converted)),
    Mechanism("time_zones", ("mixed",), _zone, partial(_only_times, change=_zoned), _by_equal(_zoned)),
    Mechanism("day_month", ("mixed",), no_keys, partial(_only_times, change=_day_month), _by_equal(_day_month)),
    Mechanism("rounded_shifted", ("continuous", "mixed"), _offsets, _without_draws(_offset), _by_equal(_offset)),
    Mechanism(
        "concatenated",
        ("continuous", "categorical", "mixed", "text"),
        _two_codings,
        _concatenated,
        _site_oracle,
    ),
    Mechanism(
        "third_of_columns",
        ("continuous", "categorical", "mixed", "text"),
        _third,
        _without_draws(_kept),
        _by_equal(_kept),
    ),
    Mechanism("own_columns", ("continuous", "categorical", "mixed", "text"), no_keys, _own_columns, _own_oracle),
    Mechanism("centroids", ("continuous", "mixed"), no_keys, _centroids, _centroid_oracle),
    Mechanism("between_random", ("continuous", "mixed"), no_keys, _between, _between_oracle),
    Mechanism("hot_deck", ("continuous", "categorical", "mixed"), no_keys, _hot_deck, _hot_deck_oracle),
    Mechanism("rare_alone", ("continuous", "categorical", "mixed", "text"), no_keys, _rare_alone, _rare_oracle),
    Mechanism("rotated", ("continuous", "mixed"), _rotation, _without_draws(_rotated), _by_equal(_rotated)),
    Mechanism("own_scale", ("continuous", "mixed"), no_keys, _own_scale, _ratio_oracle),
    Mechanism("unlinked", ("continuous", "categorical", "mixed", "text"), _blocks, _unlinked, _block_oracle),
)
