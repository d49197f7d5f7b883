"""Random worlds that are large enough for a verdict: the same values as data frames and as plain lists.

A world follows from its number alone. Its release is one of several kinds, so that every kind of verdict occurs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta

import pandas as pd

from worlds import COLUMNS, START

RELEASES = ("strangers", "copies", "perturbed", "perturbed", "shifted", "equal records", "ages in tens")
MANY_CONTROLS = 20
"""Every so many worlds one has enough controls to read the risk at a false-positive rate of 1%."""
MANY_PEOPLE = 100
"""Every so many worlds one, beginning with 50, has enough people for the combined attacker as users have it. There are
200 originals, no more: of more, the package draws 200 from whom it estimates how often matches agree."""
COMBINED = 3
"""Every so many worlds one lets the combined attacker run with 20 originals and 20 controls."""
LIMITS = (0.05, 0.3, 0.6, 0.9, 1.0, 1.0)
_CODES, _COLOURS = ("AA1", "AA2", "AB1", "B"), ("red", "green", "blue")
_PLACES = ("N/u", "N/r", "S/u", "S/r")
_SCHEMES = {"code": ("code", ("prefix", 1)), "colour": ("colour", "exact"), "age": ("age", ("bin", 10))}
_BLOCKS = {"code": {"prefix": 1}, "colour": "exact", "age": {"bin": 10}}


@dataclass(frozen=True)
class VerdictWorld:
    """Tables as lists, None where a value is missing, and the settings of an audit of them."""

    seed: int
    release: str
    original: dict[str, list]
    protected: dict[str, list]
    control: dict[str, list] | None
    truth: tuple[list, list] | None
    columns: dict[str, dict]
    blocked: str | None
    limit: float
    canaries: bool
    ranges: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @property
    def fewest_combined(self) -> int:
        """The smallest number of originals, and of controls, whose evidence is combined; 200 for users."""
        return 20 if self.seed % COMBINED == 0 else 200

    @property
    def schemes(self) -> list:
        """The blocking rules in the oracle's form."""
        return [[]] if self.blocked is None else [[_SCHEMES[self.blocked]]]

    @property
    def config(self) -> dict:
        """The configuration of the audit."""
        columns = {}
        for name, column in self.columns.items():
            columns[name] = dict(column)
            if name == self.blocked:
                columns[name]["block"] = _BLOCKS[name]
        settings = {
            "columns": columns | {"person": {"role": "id"}},
            "attacker": "default",
            "seed": self.seed,
            "canaries": self.canaries,
            "sensitivity": False,
            "search": {"threads": 1},
            "report": {"suppress_below": 1},
        }
        return settings | ({} if self.truth is None else {"truth": {"original": "person", "protected": "person"}})

    @property
    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None]:
        """Original, release and control as data frames; without truth, nobody has an id."""
        keys = self.truth or (None, None)
        own, theirs = (_frame(table, ids) for table, ids in zip((self.original, self.protected), keys, strict=True))
        return own, theirs, None if self.control is None else _frame(self.control, None)

    def aligned(self, table: dict[str, list]) -> dict[str, list]:
        """A table of the attacker at the granularity of the release: the released range around a value."""
        return table | {
            name: [_covered(value, ranges) for value in table[name]]
            for name, ranges in self.ranges.items()
            if name in table
        }


def _covered(value, ranges):
    inside = [pair for pair in ranges if value is not None and pair[0] <= value < pair[1]]
    return value if value is None else inside[0] if inside else (value, value)


def _frame(table: dict[str, list], ids: list | None) -> pd.DataFrame:
    frame = {name: [_written(value) for value in values] for name, values in table.items()}
    if any(isinstance(value, tuple) for value in table.get("age", [])):
        frame["age"] = [None if value is None else str(value) for value in frame["age"]]
    return pd.DataFrame(frame | ({} if ids is None else {"person": ids}))


def _written(value):
    return f"{value[0]:.0f}-{value[1] - 1:.0f}" if isinstance(value, tuple) else value


def verdict_world(seed: int) -> VerdictWorld:
    """The world of this number."""
    rng = random.Random(seed)  # noqa: S311 - people, not secrets
    release = rng.choice(RELEASES)
    names = [name for name in COLUMNS if name != "secret"]
    chosen = sorted(rng.sample(names, rng.randint(3, len(names))), key=names.index)
    if release == "ages in tens" and "age" not in chosen:
        chosen.insert(0, "age")
    coarse, missing = rng.random() < 0.5, rng.choice((0.0, 0.0, 0.05, 0.2))

    def person() -> dict:
        return {name: None if rng.random() < missing else _cell(name, coarse, rng) for name in chosen}

    people = rng.randint(15, 30) if rng.random() < 0.1 else rng.randint(25, 60)
    many = seed % MANY_PEOPLE == MANY_PEOPLE // 2
    originals = [person() for _ in range(200 if many else people)]
    rows = rng.randint(8, 25) if release != "equal records" and rng.random() < 0.1 else rng.randint(25, 60)
    controls = rng.choice((0, 0, 12, 25, 30, 45, 45, 60, 60, 70, 90, 115, 120, 225))
    if seed % MANY_CONTROLS == 0:
        controls = 500 + seed // MANY_CONTROLS % 600
    controls = 400 + seed // MANY_PEOPLE % 60 if many else controls
    planted = 0 if release == "strangers" else min(rows, round(rng.choice((0.1, 0.3, 0.6, 1.0)) * len(originals)))
    order = list(range(len(originals)))
    rng.shuffle(order)
    released = [(_changed(originals[i], release, coarse, rng), i) for i in order[:planted]]
    released += [(person(), 1000 + at) for at in range(rows - planted)]
    if release == "equal records":
        one = person()
        equal = [rng.random() < 0.7 for _ in released]
        others = [record for (record, _), same in zip(released, equal, strict=True) if not same]
        # In the middle of the others, so that the release does not look cut off at an end.
        one |= {name: _middle(others, name) for name in ("age", "amount", "when") if name in chosen}
        released = [(dict(one) if same else item[0], item[1]) for item, same in zip(released, equal, strict=True)]
    if release == "shifted":
        released = [({name: _moved(name, value) for name, value in record.items()}, key) for record, key in released]
    rng.shuffle(released)
    records = [record for record, _ in released]
    ranges: dict[str, list[tuple[float, float]]] = {}
    if release == "ages in tens":
        for record in records:
            if record["age"] is not None:
                low = record["age"] // 10 * 10
                record["age"] = (low, low + 10)
        ranges["age"] = sorted({record["age"] for record in records if record["age"] is not None})
    truth = None
    if rng.random() < 0.7:
        truth = list(range(len(originals))), [key for _, key in released]
    # A key of ranges is compared by what it allows, which is not the oracle's subject.
    keys = [name for name in ("code", "colour", "age") if name in chosen and name not in ranges]
    return VerdictWorld(
        seed,
        release,
        _turned(originals, chosen),
        _turned(records, chosen),
        _turned([person() for _ in range(controls)], chosen) if controls else None,
        truth,
        {name: COLUMNS[name] for name in chosen},
        rng.choice(keys) if keys and rng.random() < 0.8 else None,
        rng.choice(LIMITS),
        rng.random() < 0.25,
        ranges,
    )


def _middle(records: list[dict], name: str):
    known = sorted(record[name] for record in records if record[name] is not None)
    return known[len(known) // 2] if known else None


def _cell(name: str, coarse: bool, rng: random.Random):
    if name == "age":
        return float(rng.randint(18, 57))
    if name == "amount":
        return rng.randint(-20, 20) / 4 if coarse else round(rng.gauss(0, 3), 2)
    if name == "when":
        return START + timedelta(hours=rng.randint(0, 24 * 70))
    return rng.choice({"code": _CODES, "colour": _COLOURS, "place": _PLACES}[name])


def _changed(record: dict, release: str, coarse: bool, rng: random.Random) -> dict:
    """A copy of a record; under noise, numbers move a little and one label in ten is drawn anew."""
    changed = dict(record)
    if release != "perturbed":
        return changed
    for name, value in record.items():
        if value is None:
            continue
        if name == "age":
            changed[name] = value + rng.randint(-1, 1)
        elif name == "amount":
            changed[name] = value + rng.randint(-1, 1) / 4 if coarse else round(value + rng.gauss(0, 0.3), 2)
        elif name == "when":
            changed[name] = value + timedelta(hours=rng.randint(-3, 3))
        elif rng.random() < 0.1:
            changed[name] = _cell(name, coarse, rng)
    return changed


def _moved(name: str, value):
    """A number far from where it was, so that the two tables do not overlap."""
    if value is None:
        return None
    return value + {"age": 60, "amount": 12}[name] if name in ("age", "amount") else value


def _turned(records: list[dict], names: list[str]) -> dict[str, list]:
    return {name: [record[name] for record in records] for name in names}
