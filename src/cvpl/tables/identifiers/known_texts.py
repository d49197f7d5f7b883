"""SQL for the texts of a table's cells that say something: neither missing nor suppressed.

A cell is read once and compared with all spellings of a missing value at once, so that a million of them take a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cvpl.tables.protected_values import SUPPRESSED_WORDS
from cvpl.tables.reading import ColumnReader
from cvpl.tables.source import Reading, Source, literal, quoted

if TYPE_CHECKING:
    import duckdb


class KnownTexts:
    """Writes SQL that reads texts as `reading` says; in the release, stars and words for suppression are gone too."""

    def __init__(self, con: duckdb.DuckDBPyConnection, reading: Reading) -> None:
        self._reader = ColumnReader(con, replace(reading, missing=()), [], [])
        self._missing = reading.missing

    def distinct(self, source: Source, column: str) -> str:
        """The column's different values as (text, n, place): how many cells have it, and the first row that has it.

        Where blanks are stripped a text may stand twice, once for each way the table writes it.
        """
        field = source.field(column)
        groups = (
            f"SELECT {field}, count(*) AS n, min({source.position}) AS place FROM {quoted(source.table)} GROUP BY 1"
        )
        read = f"SELECT {self._reader.text(source, column)} AS text, n, place FROM groups"
        # Materialized: otherwise the condition is moved to the cells, and the text is read again for each part of it.
        return (
            f"(WITH groups AS MATERIALIZED ({groups}), texts AS MATERIALIZED ({read}) "
            f"SELECT text, n, place FROM texts WHERE {self._known(source, 'text')})"
        )

    def rows(self, source: Source, columns: Sequence[str], start: str, among: str) -> str:
        """The texts of these columns, called `start` and a number, for the rows whose place is `among` a query's.

        A text is NULL where it is missing or suppressed.
        """
        read = ", ".join(f"{self._reader.text(source, column)} AS t{at}" for at, column in enumerate(columns))
        known = ", ".join(
            f"CASE WHEN {self._known(source, f't{at}')} THEN t{at} END AS {start}{at}" for at in range(len(columns))
        )
        chosen = f"FROM {quoted(source.table)} WHERE {source.position} IN ({among})"
        return f"(SELECT place, {known} FROM (SELECT {source.position} AS place, {read} {chosen}))"

    def _known(self, source: Source, text: str) -> str:
        """SQL for whether a text says something; NULL where there is none."""
        released = source.table == "protected"
        gone = [*self._missing, *(SUPPRESSED_WORDS if released else ())]
        listed = f"{text} NOT IN ({', '.join(map(literal, gone))})" if gone else f"{text} IS NOT NULL"
        return f"({listed} AND ({text} = '' OR trim({text}, '*') <> ''))" if released else f"({listed})"
