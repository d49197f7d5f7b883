"""Small random worlds whose release has intervals, spans, groups, sets and masks beside plain values.

Each released cell is made twice: as it is written in a file, for the package, and as what it allows, for the oracle.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf, nextafter

import pandas as pd

START = datetime(2024, 3, 4, 5)
COLUMNS = {
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "amount": {"role": "attribute", "type": "numeric"},
    "code": {"role": "quasi_identifier", "type": "category"},
    "place": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "colour": {"role": "attribute", "type": "category"},
    "when": {"role": "attribute", "type": "datetime", "features": ["hour"]},
}
CODES = ("121", "122", "125", "131", "139", "211")
PLACES = ("N/u", "N/r", "S/u", "S/r", "E/u/x", "E/u/y", "E/r/x")
COLOURS = ("red", "green", "blue", "grey")
MONTHS = {f"2024-{month:02}": (datetime(2024, month, 1), datetime(2024, month + 1, 1)) for month in range(3, 7)}


@dataclass(frozen=True)
class CellWorld:
    """The tables as lists for the oracle, and the same as data frames."""

    columns: dict[str, dict]
    original: dict[str, list]
    protected: dict[str, list]
    control: dict[str, list]
    frames: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]

    @property
    def tables(self) -> dict[str, dict[str, list]]:
        return {"original": self.original, "protected": self.protected, "control": self.control}


def cell_world(seed: int) -> CellWorld:
    """The world of this number: some columns, some of them with cells, some values missing or suppressed."""
    rng = random.Random(seed)  # noqa: S311 - people, not secrets
    names = sorted(rng.sample(list(COLUMNS), rng.randint(1, len(COLUMNS))), key=list(COLUMNS).index)
    celled = [name for name in names if rng.random() < 0.7]
    missing, suppressed = rng.choice((0.0, 0.1)), rng.choice((0.0, 0.1))

    def person() -> dict:
        return {name: None if rng.random() < missing else _value(name, rng) for name in names}

    # The first original has every value: a column without any is not compared.
    original = [{name: _value(name, rng) for name in names}, *(person() for _ in range(rng.randint(0, 13)))]
    control = [person() for _ in range(rng.randint(1, 8))]
    known = {name: [record[name] for record in original if record[name] is not None] for name in names}
    released, written = [], []
    for _ in range(rng.randint(1, 16)):
        source = rng.choice(original) if rng.random() < 0.7 else person()
        cells, texts = {}, {}
        for name in names:
            value = source[name]
            if value is None or rng.random() < suppressed:
                cells[name], texts[name] = None, rng.choice(("*", None))
            elif name in celled and rng.random() < 0.7:
                texts[name], cells[name] = _cell(name, value, known[name], rng)
            else:
                cells[name], texts[name] = value, _plain(value)
        released.append(cells)
        written.append(texts)
    tables = [{name: [record[name] for record in table] for name in names} for table in (original, released, control)]
    frames = (pd.DataFrame(original), pd.DataFrame(written, columns=names), pd.DataFrame(control))
    return CellWorld({name: COLUMNS[name] for name in names}, tables[0], tables[1], tables[2], frames)


def _value(name: str, rng: random.Random):
    if name == "age":
        return float(rng.randint(18, 60))
    if name == "amount":
        return rng.randint(-20, 20) / 4 + 0.125
    if name == "when":
        return START + timedelta(hours=rng.randint(0, 24 * 80))
    return rng.choice({"code": CODES, "place": PLACES, "colour": COLOURS}[name])


def _plain(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(name: str, value, known: list, rng: random.Random) -> tuple[str, object]:
    """A cell around the value, or now and then somewhere else: its text, and what it allows."""
    if name in ("age", "amount"):
        return _interval(value, known, rng, whole=name == "age")
    if name == "when":
        month = rng.choice([text for text, (low, high) in MONTHS.items() if low <= value < high] * 3 + list(MONTHS))
        return month, MONTHS[month]
    if name == "code":
        text = rng.choice((value[:2] + "*", value[0] + "**", "*" + value[1:], value[0] + "*" + value[2], "120-129"))
        text = rng.choice((text, text, "{" + value + ", " + rng.choice(CODES) + "}"))
    elif name == "place":
        parts = value.split("/")
        text = rng.choice(("/".join(parts[:-1]) + "/*", parts[0] + "/*", "{" + value + ", " + rng.choice(PLACES) + "}"))
    else:
        text = "{" + ", ".join(sorted({value, *rng.sample(COLOURS, rng.randint(1, 2))})) + "}"
    return text, text


def _interval(value: float, known: list, rng: random.Random, *, whole: bool) -> tuple[str, tuple[float, float]]:
    low, high = value - rng.randint(0, 9), value + rng.randint(1, 9)
    a, b = f"{low:g}", f"{high:g}"
    # Up to and including the end: the next number above it is not allowed.
    closed, last = nextafter(high, inf), nextafter(max([low, *known]), inf)
    choices = [
        (f"[{a}, {b})", (low, high)),
        (f"[{a}, {b}]", (low, closed)),
        (f"({a}, {b}]", (nextafter(low, inf), closed)),
        (f">={a}", (low, last)),
    ]
    if whole:
        choices += [(f"{a}-{b}", (low, high + 1)), (f"{a}+", (low, last))]
    return rng.choice(choices)
