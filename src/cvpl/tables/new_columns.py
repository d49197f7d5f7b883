"""Columns that only the release has and that tell its records apart: what they hold, nobody compares.

A code that was joined from the originals' values, or a weighted sum of their numbers, singles people out under a name
of its own. A column of few values says little, and one that numbers the records says nothing of anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from cvpl.tables.identifiers.unique_columns import LEAST_ROWS
from cvpl.tables.source.source import Source
from cvpl.tables.source.sql_text import quoted

if TYPE_CHECKING:
    import duckdb

TELLING = 0.5
"""The least number of different values per record."""
DENSE = 0.5
"""Different whole numbers number the records if at least so many of those between the least and the greatest occur."""


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
    number = "TRY_CAST(cell AS DOUBLE)"
    whole = f"{number} IS NOT NULL AND {number} = trunc({number})"
    query = (
        f"SELECT count(DISTINCT cell), count(cell), count(*) FILTER (WHERE cell IS NOT NULL AND {whole}), "
        f"max({number}) - min({number}) + 1 FROM (SELECT {text} AS cell FROM {quoted(released.table)})"
    )
    distinct, known, numbers, reach = con.execute(query).fetchall()[0]
    if distinct < TELLING * released.rows:
        return False
    return not (distinct == known == numbers and distinct >= DENSE * reach)
