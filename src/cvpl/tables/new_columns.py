"""Columns that only the release has and that tell its records apart: what they hold, nobody compares.

A code that was joined from the originals' values, or a weighted sum of their numbers, singles people out under a name
of its own. A column of few values says little, and one that numbers the records in their order says nothing of anybody.
Numbers in another order, or with gaps, may be those of the original's rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from cvpl.tables.identifiers.columns import LEAST_ROWS
from cvpl.tables.source.connection import identifier
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb

TELLING = 0.5
"""The least number of different values per record."""


def telling_new_columns(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], left_out: Collection[str]
) -> tuple[str, ...]:
    """The columns of the release that the original lacks with at least half as many different values as records.

    `left_out` are not looked at, nor are columns that number the records.
    """
    original, released = sources[:2]
    if released.rows < LEAST_ROWS:
        return ()
    names = [name for name in released.types if name not in original.types and name not in left_out]
    return tuple(name for name in names if _is_telling(con, released, name))


def _is_telling(con: duckdb.DuckDBPyConnection, released: Source, name: str) -> bool:
    text = f"nullif(trim(CAST({released.field(name)} AS VARCHAR)), '')"
    cells = f"SELECT {text} AS cell, {released.position} AS place FROM {identifier(released.table)}"
    numbers = f"SELECT cell, TRY_CAST(cell AS DOUBLE) AS number, place FROM ({cells})"
    ordered = f"SELECT cell, number, lag(number) OVER (ORDER BY place) AS previous FROM ({numbers})"
    query = (
        "SELECT count(DISTINCT cell), count(cell), count(*) FILTER (WHERE number = trunc(number)), "
        f"min(number - previous), max(number - previous) FROM ({ordered})"
    )
    distinct, known, whole, shortest, longest = con.execute(query).fetchall()[0]
    if distinct < TELLING * released.rows:
        return False
    return not (distinct == known == whole and 0 < shortest == longest)
