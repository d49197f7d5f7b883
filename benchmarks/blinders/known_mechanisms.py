"""Mechanisms whose weakness was known when the attackers were made."""

from __future__ import annotations

import hashlib
from statistics import NormalDist

import numpy as np
import pandas as pd

from blinders.mechanism import Keys, Mechanism, exact_rows, nearest, no_keys


def _numeric(table: pd.DataFrame) -> list[str]:
    return [name for name in table if pd.api.types.is_numeric_dtype(table[name])]


def _times(table: pd.DataFrame) -> list[str]:
    return [name for name in table if pd.api.types.is_datetime64_any_dtype(table[name])]


def _texts(table: pd.DataFrame) -> list[str]:
    return [name for name in table if name not in _numeric(table) and name not in _times(table)]


def _new_names(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    """New names for all labels, and factors and offsets for all numbers and times."""
    names = {}
    for column in _texts(table):
        labels = sorted(table[column].unique())
        names[column] = dict(zip(labels, (f"x{place:03d}" for place in rng.permutation(len(labels))), strict=True))
    numbers = {c: (float(rng.uniform(1.5, 40)), float(rng.uniform(-500, 500))) for c in _numeric(table)}
    days = {c: int(rng.integers(2_000, 9_000)) for c in _times(table)}
    turned = {c: bool(rng.random() < 0.5) for c in _numeric(table)}
    return {"names": names, "numbers": numbers, "days": days, "turned": turned}


def _renamed(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    done = table.copy()
    for column, names in keys["names"].items():
        done[column] = table[column].map(names).fillna("x999")
    for column, days in keys["days"].items():
        done[column] = table[column] + np.timedelta64(days, "D")
    return done


def _units(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    done = _renamed(table, keys)
    for column, (factor, offset) in keys["numbers"].items():
        done[column] = np.round(table[column] * factor + offset, 4)
    return done


def _logged(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    done = _renamed(table, keys)
    for column in keys["numbers"]:
        done[column] = np.round(np.log(table[column].clip(lower=1e-3)), 6)
    return done


def _mirrored(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    done = _renamed(table, keys)
    for column, turned in keys["turned"].items():
        done[column] = np.round(table[column] * (-1 if turned else 1), 4)
    return done


def _ranked(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    done = _renamed(table, keys)
    for column in keys["numbers"]:
        done[column] = table[column].rank(method="average")
    return done


def _rank_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    mine, theirs = _renamed(people, keys), released.copy()
    for column in keys["numbers"]:
        order = np.sort(known[column].to_numpy())
        below, reached = (np.searchsorted(order, people[column], side) for side in ("left", "right"))
        mine[column] = (below + reached) / (2 * len(order))
        theirs[column] = released[column].rank(pct=True) - 0.5 / len(released)
    return nearest(mine, theirs)


def _by_equal(change):  # type: ignore[no-untyped-def]
    def oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
        return exact_rows(change(people, keys), released)

    return oracle


def _without_draws(change):  # type: ignore[no-untyped-def]
    return lambda table, keys, rng: change(table, keys)


def _shifted(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Times shifted by a constant for each person; other columns resampled, so that only differences are left."""
    shift = rng.integers(-900, 900, len(table)).astype("timedelta64[D]")
    done = pd.DataFrame({column: table[column].to_numpy()[rng.permutation(len(table))] for column in table})
    for column in _times(table):
        done[column] = table[column].to_numpy() + shift
    return done


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    first, *rest = _times(table)
    return pd.DataFrame({column: (table[column] - table[first]).dt.days for column in rest})


def _gap_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    return exact_rows(_gaps(people), _gaps(released))


def _vectors(table: pd.DataFrame, scale: pd.DataFrame) -> np.ndarray:
    return np.column_stack([table[c] / (float(scale[c].std()) or 1.0) for c in _numeric(table)])


def _neighbours(vectors: np.ndarray, count: int) -> np.ndarray:
    squares = ((vectors[:, None, :] - vectors[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return np.argsort(squares, axis=1)[:, :count]


def _smote(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    table = table.reset_index(drop=True)
    near = _neighbours(_vectors(table, table), 5)
    other = near[np.arange(len(table)), rng.integers(0, near.shape[1], len(table))]
    share = rng.random(len(table))
    done = table.copy()
    for column in _numeric(table):
        values = table[column].to_numpy(dtype=float)
        done[column] = values + share * (values[other] - values)
    return done


def _averaged(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Microaggregation of two: people are paired with the nearest who is left, and both get the average."""
    table = table.reset_index(drop=True)
    vectors, left, done = _vectors(table, table), set(range(len(table))), table.copy().astype(float)
    for row in np.argsort(vectors[:, 0]):
        if row not in left or len(left) < 2:
            continue
        left.discard(int(row))
        rest = np.fromiter(left, dtype=int)
        partner = int(rest[np.argmin(((vectors[rest] - vectors[row]) ** 2).sum(axis=1))])
        left.discard(partner)
        done.loc[[row, partner]] = table.loc[[row, partner]].mean().to_numpy()
    return done


def _line_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """How exactly a released row lies between the person and one of the nearest other people, by the known method."""
    mine, there, others = (_vectors(table, known) for table in (people, released, known))
    score = np.zeros(len(mine))
    for start in range(0, len(mine), 200):
        part = mine[start : start + 200]
        near = np.argsort(((part[:, None, :] - others[None, :, :]) ** 2).sum(axis=2), axis=1)[:, 1:41]
        rows = np.argsort(((part[:, None, :] - there[None, :, :]) ** 2).sum(axis=2), axis=1)[:, :40]
        line, to = others[near] - part[:, None, :], there[rows] - part[:, None, :]
        inner = np.einsum("qrd,qpd->qrp", to, line)
        lengths = np.sqrt((to**2).sum(2))[:, :, None] * np.sqrt((line**2).sum(2))[:, None, :]
        share = inner / np.maximum((line**2).sum(2), 1e-300)[:, None, :]
        cosine = np.where((share > 1e-6) & (share < 1 - 1e-6), inner / np.maximum(lengths, 1e-300), 0.0)
        score[start : start + 200] = -np.log(np.maximum(1 - cosine.max(axis=(1, 2)), 1e-12))
    return score


def _copula(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """A Gaussian copula with empirical margins: values are real ones, their combinations are not."""
    scores = np.column_stack([table[c].rank(pct=True) - 0.5 / len(table) for c in table])
    normal = np.vectorize(NormalDist().inv_cdf)(np.clip(scores, 1e-6, 1 - 1e-6))
    drawn = rng.multivariate_normal(np.zeros(len(table.columns)), np.corrcoef(normal.T), size=len(table))
    shares = np.vectorize(NormalDist().cdf)(drawn)
    return pd.DataFrame(
        {
            column: np.sort(table[column].to_numpy())[
                np.minimum((shares[:, at] * len(table)).astype(int), len(table) - 1)
            ]
            for at, column in enumerate(table)
        }
    )


def _value_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    score = np.zeros(len(people))
    for column in people:
        usual, found = known[column].value_counts(), set(released[column])
        rarity = -np.log(people[column].map(usual) / len(known))
        score += np.where(people[column].isin(found), rarity, -rarity * 0.2)
    return score


def _redacted(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    """Notes in which a third of the words is redacted; the other columns resampled."""
    done = pd.DataFrame({column: table[column].to_numpy()[rng.permutation(len(table))] for column in table})
    done["note"] = [
        " ".join("[REDACTED]" if rng.random() < 1 / 3 else word for word in note.split()) for note in table["note"]
    ]
    return done


def _word_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    """Whether some released note could be the person's: as many words, equal where not redacted."""
    notes = [note.split() for note in released["note"]]
    score = np.zeros(len(people))
    for row, note in enumerate(people["note"]):
        words = note.split()
        for other in notes:
            if len(other) == len(words):
                same = sum(a == b for a, b in zip(words, other, strict=True))
                if same + sum(b == "[REDACTED]" for b in other) == len(words):
                    score[row] = max(score[row], same)
    return score


def _spelled(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    """Generalized with spellings of one's own: `40 to 49`, `Te***`, codes cut to two digits, years."""
    done = table.copy().astype(object)
    for column in _numeric(table):
        step = keys["steps"][column]
        low = (np.floor(table[column] / step) * step).astype(int)
        done[column] = [f"{value} to {value + int(step) - 1}" for value in low]
    for column in _times(table):
        done[column] = table[column].dt.strftime("%Y")
    for column in _texts(table):
        digits = table[column].str.fullmatch(r"\d{5}").all()
        done[column] = table[column].str[:2] if digits else table[column].str[:2] + "***"
    return done


def _steps(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    return {"steps": {c: max(2.0, 10.0 ** np.floor(np.log10(table[c].std() + 1e-9))) for c in _numeric(table)}}


def _noisy_log(table: pd.DataFrame, keys: Keys, rng: np.random.Generator) -> pd.DataFrame:
    done = _logged(table, keys)
    for column in keys["numbers"]:
        done[column] = np.round(done[column] + rng.normal(0, 0.1 * float(done[column].std()), len(table)), 5)
    return done


def _noisy_log_oracle(people: pd.DataFrame, released: pd.DataFrame, keys: Keys, known: pd.DataFrame) -> np.ndarray:
    return nearest(_logged(people, keys), released)


def _key(table: pd.DataFrame, rng: np.random.Generator) -> Keys:
    return {"key": str(rng.integers(1 << 62))}


def _hashed(table: pd.DataFrame, keys: Keys) -> pd.DataFrame:
    def code(value: object) -> int:
        return int.from_bytes(hashlib.blake2b(f"{keys['key']}{value}".encode(), digest_size=4).digest(), "big")

    return table.map(lambda value: code(value) if isinstance(value, (int, float, np.number)) else f"{code(value):08x}")


MECHANISMS = (
    Mechanism("units", ("continuous", "mixed", "categorical"), _new_names, _without_draws(_units), _by_equal(_units)),
    Mechanism("logged", ("continuous", "mixed"), _new_names, _without_draws(_logged), _by_equal(_logged)),
    Mechanism("mirrored", ("continuous", "mixed"), _new_names, _without_draws(_mirrored), _by_equal(_mirrored)),
    Mechanism("ranked", ("continuous", "mixed"), _new_names, _without_draws(_ranked), _rank_oracle),
    Mechanism("shifted", ("mixed",), no_keys, _shifted, _gap_oracle),
    Mechanism("smote", ("continuous",), no_keys, _smote, _line_oracle),
    Mechanism("averaged", ("continuous",), no_keys, _averaged, _line_oracle),
    Mechanism("copula", ("continuous",), no_keys, _copula, _value_oracle),
    Mechanism("redacted", ("text",), no_keys, _redacted, _word_oracle),
    Mechanism("spelled", ("mixed",), _steps, _without_draws(_spelled), _by_equal(_spelled)),
    Mechanism("noisy_log", ("continuous", "mixed"), _new_names, _noisy_log, _noisy_log_oracle),
    Mechanism("hashed", ("continuous", "mixed", "categorical"), _key, _without_draws(_hashed), _by_equal(_hashed)),
)
