"""The true matches of originals and protected records. Only evaluation reads them; operators and search never do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.tables.source.source import Source
from cvpl.tables.source.sql_text import quoted

if TYPE_CHECKING:
    import duckdb

    from cvpl.tables.meaning.reading import ColumnReader

ROW_NUMBER = "row_number"
"""Used in place of a column name: the record's position in its file, counted from 0.

If a table has a column of this name, the column is used.
"""

Scenario = Literal["simulation", "controlled", "partial", "blind"]


@dataclass(frozen=True)
class IdentityKeys:
    """The identity column of each table: the name of a column, or `row_number`."""

    original: str
    protected: str
    complete: bool = True
    simulated: bool = False


@dataclass(frozen=True, eq=False)
class TrueMatches:
    """The true matches as sorted pairs of row numbers; a record may have several matches, or none."""

    original: NDArray[np.int64]
    protected: NDArray[np.int64]
    complete: bool
    scenario: Scenario

    def kept_in(self, order: Mapping[str, NDArray[np.int64]]) -> TrueMatches:
        """Return the same matches of records that are kept in another order, given the row numbers in it."""
        original = _places(order["original"])[self.original]
        protected = _places(order["protected"])[self.protected]
        sorting = np.argsort(original * len(order["protected"]) + protected)
        return replace(self, original=original[sorting], protected=protected[sorting])


def _places(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each record is kept: the inverse of the order."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def is_position(source: Source, key: str) -> bool:
    """Whether `key` means the record's position in this table."""
    return key == ROW_NUMBER and key not in source.types


def read_matches(
    con: duckdb.DuckDBPyConnection, reader: ColumnReader, original: Source, protected: Source, keys: IdentityKeys
) -> TrueMatches:
    """Join the two tables on their identity. A missing identity matches nothing.

    If one side is a position, the other is read as a whole number: "7", "007" and "7.0" are row 7.
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
    # Count by group: listing the pairs of a column with two values would take hours.
    query = f"SELECT coalesce(sum(o.n * p.n), 0) FROM {counts[0]} AS o JOIN {counts[1]} AS p {on}"
    if int(con.execute(query).fetchall()[0][0]) > 20 * (original.rows + protected.rows):
        what = "the identity names groups of records, not people: it makes far more pairs than there are records"
        cure = "Name a column that distinguishes people, or give the column the role 'group'."
        raise InputError([Problem(protected.name, what, cure, keys.protected)])
    join = f"FROM {sides[0]} AS o JOIN {sides[1]} AS p {on}"
    rows = con.sql(f"SELECT o.row AS o, p.row AS p {join} ORDER BY 1, 2").fetchnumpy()
    scenario: Scenario = "controlled" if keys.complete else "partial"
    if keys.simulated:
        scenario = "simulation"
    places = [rows[side].astype(np.int64, copy=False) for side in ("o", "p")]
    return TrueMatches(places[0], places[1], keys.complete, scenario)
