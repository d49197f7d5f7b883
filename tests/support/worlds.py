"""Small random worlds: the same values for the package (as tables) and for the oracle (as plain lists)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from cvpl.attack.attacker import Attacker
from cvpl.operators.blocking import Bin, Blocking, Key, Level, Lsh, Prefix, Truncate
from cvpl.operators.similarity import Agreement
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Pair, Table, Times
from cvpl.tables.evaluation_only import TrueMatches

START = datetime(2024, 3, 4, 5)

COLUMNS = {
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "code": {"role": "quasi_identifier", "type": "category"},
    "place": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "amount": {"role": "attribute", "type": "numeric"},
    "colour": {"role": "attribute", "type": "category"},
    "when": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week", "month", "elapsed_days"]},
    "secret": {"role": "sensitive", "type": "category"},
}
_CELLS = {
    "age": st.integers(18, 40).map(float),
    "code": st.sampled_from(["AA1", "AA2", "AB1", "B"]),
    "place": st.sampled_from(["N/u", "N/r", "S/u", "S/r", "N", "S/u/x"]),
    "amount": st.integers(-20, 20).map(lambda n: n / 4),
    "colour": st.sampled_from(["red", "green", "blue"]),
    "when": st.integers(0, 24 * 70).map(lambda hours: START + timedelta(hours=hours)),
    "secret": st.sampled_from(["x", "y"]),
}


@dataclass(frozen=True)
class World:
    """Two tables and a control as lists, and who is who."""

    original: dict[str, list]
    protected: dict[str, list]
    control: dict[str, list]
    truth: tuple[list, list]
    columns: dict[str, dict] = field(default_factory=lambda: COLUMNS)

    @property
    def pair(self) -> Pair:
        return make_pair(self.columns, self.original, self.protected, self.control)

    @property
    def matches(self) -> TrueMatches:
        pairs = [
            (i, j)
            for i, mine in enumerate(self.truth[0])
            for j, theirs in enumerate(self.truth[1])
            if mine is not None and mine == theirs
        ]
        rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return TrueMatches(rows[:, 0], rows[:, 1], complete=True, scenario="controlled")


@st.composite
def worlds(draw, rows: int = 12, missing: bool = True):
    """Random worlds; protected records are often copies of originals with some cells changed, so that links exist."""
    # About one cell in six is missing.
    cell = {name: st.one_of([value] * 5 + [st.none()]) if missing else value for name, value in _CELLS.items()}
    record = st.fixed_dictionaries(cell)
    originals = draw(st.lists(record, min_size=1, max_size=rows))
    protected = []
    for _ in range(draw(st.integers(1, rows))):
        source = draw(st.one_of(st.sampled_from(originals), record))
        changed = draw(st.sets(st.sampled_from(list(_CELLS)), max_size=2))
        protected.append({name: draw(cell[name]) if name in changed else value for name, value in source.items()})
    control = draw(st.lists(record, min_size=1, max_size=rows))
    keys = st.one_of(st.none(), st.integers(0, 6))
    truth = tuple(draw(st.lists(keys, min_size=len(t), max_size=len(t))) for t in (originals, protected))
    return World(_turned(originals), _turned(protected), _turned(control), truth)


def _turned(records: list[dict]) -> dict[str, list]:
    return {name: [record[name] for record in records] for name in COLUMNS}


def make_pair(columns: dict[str, dict], original: dict, protected: dict, control: dict | None = None) -> Pair:
    """Tables of the package from lists of Python values; None is missing."""
    specs = tuple(
        ColumnSpec(name, column["role"], column["type"], column.get("separator"))
        for name, column in columns.items()
        if column["role"] in ("quasi_identifier", "attribute")
    )
    tables = {"original": original, "protected": protected} | ({} if control is None else {"control": control})
    data: dict[str, dict] = {name: {} for name in tables}
    for spec in specs:
        if spec.type == "category":
            labels = tuple(sorted({v for table in tables.values() for v in table[spec.name] if v is not None}))
            codes = {label: at for at, label in enumerate(labels)} | {None: -1}
        for name, table in tables.items():
            values = table[spec.name]
            if spec.type == "category":
                data[name][spec.name] = Labels(np.array([codes[v] for v in values], dtype=np.int32), labels)
            elif spec.type == "numeric":
                numbers = np.array([np.nan if v is None else v for v in values], dtype=float)
                data[name][spec.name] = Numbers(numbers, numbers, numbers)
            else:
                times = np.array([np.datetime64("NaT") if v is None else v for v in values], dtype="datetime64[us]")
                data[name][spec.name] = Times(times, times)
    made = [Table(name, len(next(iter(table.values()))), specs, data[name]) for name, table in tables.items()]
    return Pair(made[0], made[1], made[2] if control is not None else None)


_RULES = {"bin": lambda v: Bin(bin=v), "level": lambda v: Level(level=v), "prefix": lambda v: Prefix(prefix=v)}


def _scheme(written):
    if isinstance(written, tuple):
        return Lsh(lsh={"bits": written[1]})
    rules = {"truncate": lambda v: Truncate(truncate=v), **_RULES}
    return tuple(Key(column=c, rule=r if r == "exact" else rules[r[0]](r[1])) for c, r in written)


BASE = {
    "knows": None,
    "schemes": [[("code", ("prefix", 1))]],
    "scale": "z_score",
    "encode": "one_hot",
    "missing": "neutral",
    "projection": {"kind": "pca", "variance": 0.9, "min": 3, "max": 50, "fit": "joint"},
    "similarity": {"kind": "cosine"},
}
"""The oracle's form of an attacker; variants change one entry."""


def package_attacker(written: dict, columns: dict = COLUMNS, threshold=0.9) -> Attacker:
    """The package's attacker for the oracle's form of it."""
    kind = dict(written["projection"])
    name = kind.pop("kind")
    projection = "identity" if name == "identity" else {name: kind}
    similarity = dict(written["similarity"])
    if similarity["kind"] == "agreement":
        chosen = Agreement(agreement={"m": similarity["m"], "u": similarity["u"]})
    else:
        chosen = similarity["kind"]
    choices = {
        name: ColumnChoice(
            encode=column.get("encode"),
            features=tuple(column.get("features", ())),
            vectorize=column.get("vectorize", True),
        )
        for name, column in columns.items()
    }
    return Attacker(
        knows=written["knows"],
        blocking=Blocking(any_of=tuple(_scheme(scheme) for scheme in written["schemes"])),
        vectorization=Vectorization(
            scale=written["scale"], encode=written["encode"], missing=written["missing"], columns=choices
        ),
        projection=projection,
        similarity=chosen,
        threshold=threshold,
    )
