"""The people of a trial: the unit of every row, and a canonical order of units that no order of rows changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem
from cvpl.tables.evaluation_only import read_unit
from cvpl.tables.keys import record_keys
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.connection import connected, within_memory
from cvpl.tables.source.source import open_source
from cvpl.wording import counted

Ints = NDArray[np.int64]

FEWEST = 60
"""The fewest units: about half of them are in and half are out, and an interval needs 20 on each side."""


@dataclass(frozen=True, eq=False)
class TrialPeople:
    """The rows of a table: `unit` numbers the unit of each row, from 0.

    Units are numbered by a hash of their records, so the same people have the same numbers in whatever order a file
    lists them. `planted` are the rows of made-up people, who are units of their own. `grouped` says that some unit has
    several rows.
    """

    unit: Ints
    planted: NDArray[np.bool_]
    names: tuple[str, ...]
    grouped: bool

    @property
    def rows(self) -> int:
        """The number of rows, those of planted people among them."""
        return len(self.unit)

    @property
    def units(self) -> int:
        """The number of units."""
        return int(self.unit.max()) + 1


@within_memory
def read_people(table: Path, resolved: ResolvedConfig, planted: int = 0) -> TrialPeople:
    """Read the units of a table whose last `planted` rows are made-up people.

    Rows of one unit agree on a column with the role group, or on the id. Raises InputError for fewer than 60 units.
    """
    problems: list[Problem] = []
    with connected() as con:
        source = open_source(con, table, "original", resolved.reading)
        reader = ColumnReader(con, resolved.reading, problems, [])
        identity = resolved.identity
        person = identity.original if identity is not None and identity.original in source.types else None
        found = read_unit(con, reader, [source], [name for name in resolved.groups if name in source.types], person)
        keys = record_keys(con, source)
        source.check_unchanged()
    codes = np.arange(source.rows, dtype=np.int64) if found.codes is None else found.codes["original"]
    made_up = np.arange(source.rows) >= source.rows - planted
    codes = np.where(made_up, source.rows + np.arange(source.rows), codes)
    unit = canonical_units(keys, codes)
    people = TrialPeople(unit, made_up, tuple(source.types), not found.is_row)
    real = len(np.unique(unit[~made_up]))
    if real < FEWEST:
        what = f"the table has {counted(real, 'person', 'people')}, and a trial needs at least {FEWEST}"
        raise InputError([Problem(source.name, what, "Half of them are the control of each round: pass more people.")])
    return people


def canonical_units(keys: NDArray[np.uint64], codes: Ints) -> Ints:
    """Number the units by the keys of their records: by the smallest key, then by the sum of all.

    Units that tie have the same records, so which of them comes first changes nothing.
    """
    inverse = np.unique(codes, return_inverse=True)[1].reshape(-1)
    count = int(inverse.max()) + 1
    smallest = np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, inverse, keys)
    total = np.zeros(count, dtype=np.uint64)
    np.add.at(total, inverse, keys)
    order = np.lexsort((total, smallest))
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    return place[inverse]
