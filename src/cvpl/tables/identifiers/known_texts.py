"""SQL for the texts of a table's known cells: neither missing nor suppressed.

Each cell is read once and compared with all spellings of a missing value in one test, so a million cells are fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cvpl.tables.meaning.protected_values import SUPPRESSED_WORDS
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, has_one_type
from cvpl.tables.source.sql_text import literal, quoted

if TYPE_CHECKING:
    import duckdb

MOST_VALUES = 200_000
"""Of columns with more different values, a part of them is looked at."""


def as_value(text: str) -> str:
    """Return SQL for a text without the zeros that end its decimals: 7 and 7.0 are one value, as are 0.5 and 0.50."""
    decimals = f"contains({text}, '.') AND regexp_full_match({text}, '[+-]?[0-9]+[.][0-9]+')"
    return f"CASE WHEN {decimals} THEN rtrim(rtrim({text}, '0'), '.') ELSE {text} END"


class KnownTexts:
    """SQL that reads texts by `reading`; in the release, stars and words for suppression count as missing too."""

    def __init__(self, con: duckdb.DuckDBPyConnection, reading: Reading, sources: Sequence[Source] = ()) -> None:
        self._reader = ColumnReader(con, replace(reading, missing=()), [], [])
        self._missing = reading.missing
        self._con = con
        self._kept: dict[tuple[str, str, int], str] = {}
        self._sources = sources

    def distinct(self, source: Source, column: str, part: int = 1) -> str:
        """Return SQL for the column's distinct values as (text, n, place): the value, its cell count, its first row.

        With stripping, a text may occur twice, once for each spelling in the table. With a `part` only one value in so
        many is kept, chosen by a hash: the same values in every table, however a tool writes decimals.
        """
        field = source.field(column)
        some = "" if part == 1 else f"WHERE hash({self._chosen_by(source, column)}) % {part} = 0 "
        groups = (
            f"SELECT {field}, count(*) AS n, min({source.position}) AS place FROM {quoted(source.table)} {some}"
            "GROUP BY 1"
        )
        read = f"SELECT {self._reader.text(source, column)} AS text, n, place FROM groups"
        # Materialized: otherwise DuckDB moves the condition to the cells and reads the text again for each part of it.
        return (
            f"(WITH groups AS MATERIALIZED ({groups}), texts AS MATERIALIZED ({read}) "
            f"SELECT text, n, place FROM texts WHERE {self._known(source, 'text')})"
        )

    def parts(self, source: Source) -> dict[str, int]:
        """Return for each column the part of its values to look at: one in so many, about `MOST_VALUES` in all."""
        counts = ", ".join(f"approx_count_distinct({source.field(column)})" for column in source.types)
        rows = self._con.execute(f"SELECT {counts} FROM {quoted(source.table)}").fetchall()
        return {column: 1 + int(count) // MOST_VALUES for column, count in zip(source.types, rows[0], strict=True)}

    def kept_distinct(self, source: Source, column: str, part: int = 1) -> str:
        """Return the name of a temporary table with `distinct`, made once; `forget` drops it."""
        place = source.table, column, part
        if place not in self._kept:
            name = quoted(f"distinct texts of {source.table}: {column}, one in {part}")
            self._con.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {self.distinct(source, column, part)}")
            self._kept[place] = name
        return self._kept[place]

    def forget(self, column: str) -> None:
        """Drop the temporary tables of a column."""
        for place in [place for place in self._kept if place[1] == column]:
            self._con.execute(f"DROP TABLE {self._kept.pop(place)}")

    def rows(self, source: Source, columns: Sequence[str], start: str, places: str) -> str:
        """Return SQL for the texts of these columns, named `start` and a number, for the rows in the query `places`.

        A text is NULL where it is missing or suppressed.
        """
        read = ", ".join(f"{self._reader.text(source, column)} AS t{at}" for at, column in enumerate(columns))
        known = ", ".join(
            f"CASE WHEN {self._known(source, f't{at}')} THEN t{at} END AS {start}{at}" for at in range(len(columns))
        )
        chosen = f"FROM {quoted(source.table)} WHERE {source.position} IN ({places})"
        return f"(SELECT place, {known} FROM (SELECT {source.position} AS place, {read} {chosen}))"

    def _chosen_by(self, source: Source, column: str) -> str:
        """Return SQL that is equal for equal values in all tables: a part of the values is chosen by its hash.

        It is the field itself where all tables have numbers or times of one type. Texts lose the zeros and points at
        their ends, which is faster than to match the pattern of `as_value`.
        """
        if has_one_type(self._sources, column):
            return source.field(column)
        return f"rtrim({self._reader.text(source, column)}, '0.')"

    def _known(self, source: Source, text: str) -> str:
        """Return SQL for whether a text is known; NULL where there is none."""
        released = source.table == "protected"
        gone = [*self._missing, *(SUPPRESSED_WORDS if released else ())]
        listed = f"{text} NOT IN ({', '.join(map(literal, gone))})" if gone else f"{text} IS NOT NULL"
        return f"({listed} AND ({text} = '' OR trim({text}, '*') <> ''))" if released else f"({listed})"
