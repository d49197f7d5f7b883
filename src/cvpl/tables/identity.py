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
"""In place of a column name: the record's position in its file, counted from 0.

A table that has a column of this name is read by the column.
"""

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


def is_position(source: Source, key: str) -> bool:
    """Whether `key` stands for the record's position in this table."""
    return key == ROW_NUMBER and key not in source.types


def read_matches(
    con: duckdb.DuckDBPyConnection, reader: ColumnReader, original: Source, protected: Source, keys: IdentityKeys
) -> TrueMatches:
    """Join the two tables on their identity. A missing identity matches nothing.

    Where one side is a position, the other is read as a whole number: "7", "007" and "7.0" are row 7.
    """
    wanted = ((original, keys.original), (protected, keys.protected))
    by_position = any(is_position(source, key) for source, key in wanted)
    sides = []
    for source, key in wanted:
        position = is_position(source, key)
        identity = source.position if position else reader.text(source, key)
        if by_position and not position:
            whole = f"regexp_full_match({identity}, '[0-9]+([.]0*)?')"
            identity = f"CASE WHEN {whole} THEN TRY_CAST({identity} AS BIGINT) END"
        sides.append(f"(SELECT {source.position} AS row, {identity} AS identity FROM {quoted(source.table)})")
    counts = [f"(SELECT identity, count(*)::HUGEINT AS n FROM {side} AS s GROUP BY 1)" for side in sides]
    on = "ON o.identity = p.identity"
    # Counted by group: the pairs of a column with two values would take hours to list.
    query = f"SELECT coalesce(sum(o.n * p.n), 0) FROM {counts[0]} AS o JOIN {counts[1]} AS p {on}"
    if int(con.execute(query).fetchall()[0][0]) > 20 * (original.rows + protected.rows):
        what = "the identity names groups of records, not people: it makes far more pairs than there are records"
        cure = "Name a column that tells people apart, or give the column the role 'group'."
        raise InputError([Problem(protected.name, what, cure, keys.protected)])
    join = f"FROM {sides[0]} AS o JOIN {sides[1]} AS p {on}"
    rows = con.sql(f"SELECT o.row AS o, p.row AS p {join} ORDER BY 1, 2").fetchnumpy()
    scenario: Scenario = "controlled" if keys.complete else "partial"
    if keys.simulated:
        scenario = "simulation"
    places = [rows[side].astype(np.int64, copy=False) for side in ("o", "p")]
    return TrueMatches(places[0], places[1], keys.complete, scenario)
