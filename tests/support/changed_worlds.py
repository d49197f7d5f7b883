"""Small random tables of mixed columns, and releases that change every column in its own way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.config.attackers import FAMILY, resolve_attacker
from cvpl.config.problems import Problem
from cvpl.config.written import AttackerConfig, AuditConfig
from cvpl.tables.columns import Labels, Numbers, Pair, Table
from worlds import make_pair

START = datetime(2023, 2, 6)
COLUMNS = {
    "income": {"role": "quasi_identifier", "type": "numeric"},
    "spent": {"role": "attribute", "type": "numeric"},
    "children": {"role": "attribute", "type": "numeric"},
    "height": {"role": "attribute", "type": "numeric"},
    "rooms": {"role": "attribute", "type": "numeric"},
    "came": {"role": "attribute", "type": "datetime", "features": ["elapsed_days", "hour"]},
    "left": {"role": "attribute", "type": "datetime", "features": ["elapsed_days"]},
    "town": {"role": "quasi_identifier", "type": "category"},
    "trade": {"role": "attribute", "type": "category"},
}
TEXTS = {"note": {"role": "attribute", "type": "category"}, "remark": {"role": "attribute", "type": "category"}}
_TOWNS, _TRADES = ("Ashby", "Bree", "Corby", "Dale"), ("baker", "cook", "smith")
_WORDS = [f"word{number}" for number in range(40)]
THROUGH_CHANGES = (
    "ranks",
    "ranks_reference",
    "ranks_fellegi_sunter",
    "differences",
    "ratios",
    "between",
    "words",
    "single_values",
)
CHANGES = ("none", "units", "mirrored", "logged and shifted", "new labels", "everything", "strangers")


@dataclass(frozen=True)
class ChangedWorld:
    """Originals, release and controls as lists, None where a value is missing; released record i is original i's."""

    change: str
    columns: dict[str, dict]
    original: dict[str, list]
    protected: dict[str, list]
    control: dict[str, list]

    @property
    def pair(self) -> Pair:
        return make_pair(self.columns, self.original, self.protected, self.control)


def changed_world(seed: int, change: str | None = None, size: int = 0, controls: int = 0) -> ChangedWorld:
    """The world of this number: 20 to 60 originals, half to twice as many controls, and fewer or more records."""
    rng = np.random.default_rng([seed, 77])
    change = change or CHANGES[seed % len(CHANGES)]
    size = size or int(rng.integers(20, 61))
    controls = controls or int(rng.integers(size // 2, 2 * size))
    missing = (0.0, 0.05, 0.2)[seed % 3]
    original, control, strangers = (people(n, missing, rng) for n in (size, controls, size))
    source = strangers if change == "strangers" else original
    return ChangedWorld(change, COLUMNS, original, released(source, change, rng), control)


def people(count: int, missing: float, rng: np.random.Generator) -> dict[str, list]:
    """People whose columns hang together, with ties, a constant column, and missing values."""
    rich = rng.normal(size=count)
    old = rng.normal(size=count)
    came = [START + timedelta(days=int(d)) for d in np.rint(200 + 60 * old + 20 * rng.normal(size=count))]
    table = {
        "income": np.round(np.exp(7 + 0.6 * rich + 0.2 * rng.normal(size=count)), 2).tolist(),
        "spent": np.round(np.exp(6.8 + 0.6 * rich + 0.3 * rng.normal(size=count)), 2).tolist(),
        "children": np.clip(np.rint(1.5 + old + 0.5 * rng.normal(size=count)), 0, 5).tolist(),
        "height": np.round(170 + 8 * rng.normal(size=count), 2).tolist(),
        "rooms": [4.0] * count,
        "came": came,
        "left": [day + timedelta(hours=int(h)) for day, h in zip(came, rng.integers(20, 400, count), strict=True)],
        "town": [_TOWNS[t] for t in np.digitize(rich + 0.5 * rng.normal(size=count), [-0.5, 0.7, 1.5])],
        "trade": [_TRADES[t] for t in np.digitize(old + 0.5 * rng.normal(size=count), [-0.9, 0.6])],
    }
    return {name: [None if rng.random() < missing else v for v in values] for name, values in table.items()}


def texts(count: int, rng: np.random.Generator) -> dict[str, list]:
    """Two columns of texts of eight words, of which a few are in most texts."""
    shares = 1 / np.arange(1, len(_WORDS) + 1)
    made = [[" ".join(rng.choice(_WORDS, 8, p=shares / shares.sum())) for _ in range(count)] for _ in TEXTS]
    return {
        name: [None if rng.random() < 0.1 else text for text in column]
        for name, column in zip(TEXTS, made, strict=True)
    }


def released(source: dict[str, list], change: str, rng: np.random.Generator) -> dict[str, list]:
    """The records of a release: some noise, then the change of each column."""
    noisy = dict(source)
    for name, share in (("income", 0.02), ("spent", 0.02)):
        noisy[name] = [None if v is None else round(v * float(np.exp(share * rng.normal())), 2) for v in source[name]]
    order = np.arange(len(noisy["income"]))[: max(20, int(len(noisy["income"]) * rng.uniform(0.6, 1.0)))]
    how = {
        "none": {},
        "strangers": {},
        "units": {"income": lambda v: v * 1.17 + 3, "height": lambda v: v / 2.54},
        "mirrored": {"income": lambda v: 9000 - v, "children": lambda v: 5 - v, "spent": lambda v: -v},
        "logged and shifted": {"income": _logarithm, "came": _later, "left": _later, "height": lambda _: 170.0},
        "new labels": {"town": {t: f"t{i}" for i, t in enumerate(_TOWNS)}.get},
    }
    how["everything"] = how["mirrored"] | how["logged and shifted"] | how["new labels"]
    changes = how[change]
    return {
        name: [None if v is None else changes.get(name, lambda x: x)(v) for v in (values[r] for r in order)]
        for name, values in noisy.items()
    }


def _logarithm(value: float) -> float:
    return float(np.log(value))


def _later(time: datetime) -> datetime:
    return time + timedelta(days=400)


def member(name: str, columns: dict[str, dict] = COLUMNS) -> Attacker:
    """The member of the family, as an audit of these columns has it."""
    problems: list[Problem] = []
    config = AuditConfig.model_validate({"columns": columns, "attacker": "default"})
    found = resolve_attacker(name, AttackerConfig.model_validate(FAMILY[name]), config, "audit.yaml", problems)
    assert found is not None, problems
    return found


def both_scores(pair: Pair, name: str, columns: dict[str, dict] = COLUMNS, seed: int = 1) -> tuple[Attack, list, list]:
    """The attack, and the evidence of originals and controls."""
    done = attack(pair, member(name, columns), seed=seed)
    base = done.search_control()
    assert base is not None
    return done, done.scores.tolist(), done.evidence("control", base).tolist()


def listed(table: Table) -> dict[str, list]:
    """The values of a table: None where one is missing, both ends of a range."""
    return {spec.name: _cells(table.columns[spec.name]) for spec in table.specs}


def _cells(column) -> list:
    known = column.known()
    if isinstance(column, Labels):
        cells = [column.labels[code] for code in column.codes]
    elif isinstance(column, Numbers):
        cells = [v if v == w else (v, w) for v, w in zip(column.low.tolist(), column.high.tolist(), strict=True)]
    else:
        cells = [time.item() for time in column.first]
    return [cell if ok else None for cell, ok in zip(cells, known, strict=True)]


def shuffled_pool(pair: Pair, order: np.ndarray) -> Pair:
    """Originals and controls in another order: the first of them are the originals now."""
    whole = pooled(pair)
    people = pair.original.rows
    own, others = whole.take(order[:people]), whole.take(order[people:])
    return Pair(replace(own, name="original"), pair.protected, replace(others, name="control"))


def pooled(pair: Pair) -> Table:
    """Originals, then controls, as one table."""
    assert pair.control is not None
    specs = pair.original.specs
    columns = {s.name: pair.original.columns[s.name].joined(pair.control.columns[s.name]) for s in specs}
    return Table("people", pair.original.rows + pair.control.rows, specs, columns)
