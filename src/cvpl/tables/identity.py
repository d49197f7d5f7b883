"""Which original is which protected record. Evaluation reads this; no operator and no search ever does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.tables.source import Source, quoted

if TYPE_CHECKING:
    import duckdb

    from cvpl.tables.reading import ColumnReader

ROW_NUMBER = "row_number"
"""In place of a column name: the record's position in its file, counted from 0."""

Scenario = Literal["simulation", "controlled", "partial", "blind"]


@dataclass(frozen=True)
class IdentityKeys:
    """Where identity stands in each table: the name of a column, or `row_number`."""

    original: str
    protected: str
    complete: bool = True
    simulated: bool = False


@dataclass(frozen=True, eq=False)
class TrueMatches:
    """The true linkage relation as pairs of row numbers, sorted; a record may have several matches, or none."""

    original: NDArray[np.int64]
    protected: NDArray[np.int64]
    complete: bool
    scenario: Scenario


def read_matches(
    con: duckdb.DuckDBPyConnection, reader: ColumnReader, original: Source, protected: Source, keys: IdentityKeys
) -> TrueMatches:
    """Join the two tables on their identity. A missing identity matches nothing."""
    sides = []
    for source, key in ((original, keys.original), (protected, keys.protected)):
        text = "rowid::VARCHAR" if key == ROW_NUMBER else reader.text(source, key)
        sides.append(f"(SELECT rowid AS row, {text} AS identity FROM {quoted(source.table)})")
    join = f"FROM {sides[0]} AS o JOIN {sides[1]} AS p ON o.identity = p.identity"
    pairs = int(con.execute(f"SELECT count(*) {join}").fetchall()[0][0])
    if pairs > 20 * (original.rows + protected.rows):
        what = "the identity names groups of records, not people: it makes far more pairs than there are records"
        cure = "Name a column that tells people apart, or give the column the role 'group'."
        raise InputError([Problem(protected.name, what, cure, keys.protected)])
    rows = con.sql(f"SELECT o.row AS o, p.row AS p {join} ORDER BY 1, 2").fetchnumpy()
    scenario: Scenario = "controlled" if keys.complete else "partial"
    if keys.simulated:
        scenario = "simulation"
    return TrueMatches(rows["o"].astype(np.int64), rows["p"].astype(np.int64), keys.complete, scenario)
