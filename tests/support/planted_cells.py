"""Tables in which every cell can be told from everything else, and a search for these cells in all that was written."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

ROWS = 80
YEAR = 2091
"""All planted times are in this year, which no other text names."""
TEXTS = ("who", "household", "place", "word", "tags", "diagnosis", "note", "mail")
NUMBERS = ("age", "income", "balance")
_TOKEN = re.compile(r"(?<![\w.])[+-]?(?:\d[\d,_ \u202f]*\d|\d)(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)")
_LETTERS = "bcdfghjklmnpqrstvwxz"
_LETTERS_EACH, _CODED = 11, 12
"""The letters of a planted word, and the signs of its base64 code that depend on nothing else."""
_RUN = re.compile(r"[A-Za-z0-9+/]{11,}")
_TIME = re.compile(rf"({YEAR}-\d\d-\d\d)[T _]?(\d\d:\d\d:\d\d)")
_CLOSE = 2e-5
"""A number rounded to five digits is still told from the others."""
_OWN_NUMBERS = 10_000_000
"""Planted numbers are larger than any figure of a result."""


@dataclass(frozen=True)
class Planted:
    """A table, and the texts and numbers that were planted in it."""

    table: pd.DataFrame
    texts: tuple[str, ...]
    numbers: tuple[float, ...]


def planted(seed: int, rows: int = ROWS) -> Planted:
    """A table of people whose every cell is unique to it, with columns of every kind and role."""
    rng = np.random.default_rng(seed)

    def words(count: int) -> list[str]:
        return ["".join(rng.choice(list(_LETTERS), _LETTERS_EACH)) for _ in range(count)]

    texts = {name: words(rows) for name in ("who", "household", "diagnosis", "note", "mail")}
    texts |= {name: list(rng.choice(words(rows // 8), rows)) for name in ("word",)}
    regions, tags = words(3), words(rows // 8)
    texts["place"] = [f"{rng.choice(regions)}/{word}" for word in rng.choice(words(rows // 4), rows)]
    texts["tags"] = [";".join(rng.choice(tags, 2, replace=False)) for _ in range(rows)]
    texts["note"] = [
        f"seen {first} and then {second} again" for first, second in zip(texts["note"], words(rows), strict=True)
    ]
    texts["mail"] = [f"{word}@{word[::-1]}.org" for word in texts["mail"]]
    numbers = {name: np.round(rng.uniform(2, 9, rows) * _OWN_NUMBERS, 3) for name in NUMBERS}
    times = pd.Timestamp(f"{YEAR}-01-01") + pd.to_timedelta(rng.integers(0, 360 * 86_400, rows), unit="s")
    table = pd.DataFrame({**texts, **numbers, "when": times.strftime("%Y-%m-%d %H:%M:%S")})
    parts = {part for name in TEXTS for cell in texts[name] for part in re.split(r"[^a-z]+", cell) if len(part) > 9}
    return Planted(table, tuple(sorted(parts)), tuple(value for name in NUMBERS for value in numbers[name].tolist()))


def released(table: Planted, seed: int) -> Planted:
    """The same people in another order, with noise on their numbers and some words swapped."""
    rng = np.random.default_rng(seed)
    made = table.table.copy()
    for name in NUMBERS:
        made[name] = np.round(made[name] + rng.normal(0, 1e5, len(made)), 3)
    made["word"] = np.where(rng.random(len(made)) < 0.2, rng.permutation(made["word"]), made["word"])
    made = made.sample(frac=1.0, random_state=seed, ignore_index=True)
    return Planted(made, table.texts, tuple(value for name in NUMBERS for value in made[name].tolist()))


def hits(written: str | bytes, tables: Iterable[Planted]) -> list[str]:
    """Which planted cells a text contains: as they are, escaped, coded or rounded; empty if there is none.

    Planted words are letters, so every escape leaves them as they are; only codes change them.
    """
    text = written.decode("utf-8", "replace") if isinstance(written, bytes) else written
    tables = list(tables)
    coded = {spelt: cell for table in tables for cell in table.texts for spelt in _codes(cell)}
    found = [coded[part] for run in _RUN.findall(text) for part in _parts(run) if part in coded]
    found += [f"{day} {clock}" for day, clock in _TIME.findall(text) if clock != "00:00:00"]
    values = np.sort(np.array([value for table in tables for value in table.numbers]))
    times = [pd.Timestamp(f"{year}-01-01").timestamp() for year in (YEAR, YEAR + 1)]
    for number in _numbers(text):
        near = values[np.clip(np.searchsorted(values, number) + np.array([-1, 0]), 0, len(values) - 1)]
        if number >= _OWN_NUMBERS and (np.abs(near - number) <= _CLOSE * number).any():
            found.append(f"number {number}")
        if any(times[0] < number / unit < times[1] for unit in (1, 1e3, 1e6, 1e9)):
            found.append(f"time {number}")
    return found


def _codes(cell: str) -> Iterator[str]:
    """A planted word as it is, backwards, in hexadecimal digits, and in base64 wherever it begins."""
    raw = cell.encode()
    yield from (cell, cell[::-1], raw.hex())
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + raw).decode()
        # The first and the last sign depend on what stands around the word.
        yield code[4 if shift else 0 : 4 * ((shift + len(raw)) // 3)]


def _parts(run: str) -> Iterator[str]:
    for size, there in ((_LETTERS_EACH, run.lower()), (2 * _LETTERS_EACH, run.lower()), (_CODED, run)):
        yield from (there[at : at + size] for at in range(len(there) - size + 1))


def _numbers(text: str) -> Iterator[float]:
    for token in _TOKEN.findall(text):
        yield abs(float(re.sub(r"[,_ \u202f]", "", token)))
