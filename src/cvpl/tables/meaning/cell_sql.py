"""SQL for the cells of a DuckDB table: their text, their number, their time; NULL where there is none."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.tables.meaning.local_spellings import LOOSE_DAY, LOOSE_TIME, PLAIN_COMMA_NUMBER, comma_number_sql, iso_sql
from cvpl.tables.source.reading_settings import BLANKS, Reading
from cvpl.tables.source.source import Source
from cvpl.tables.source.sql_text import literal

PLAIN_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
PLAIN_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?Z?)?"
_PLAIN_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
FLOAT_TYPES = ("FLOAT", "DOUBLE")


@dataclass(frozen=True)
class CellSql:
    """SQL for cells, as the settings of `reading` spell them."""

    reading: Reading

    def text(self, source: Source, column: str) -> str:
        """Return SQL for a cell's text, NULL where `reading` treats it as missing."""
        name, kind = source.field(column), source.types[column]
        if kind in FLOAT_TYPES:
            # A whole float is written like an integer: a dataframe turns integers with missing values into floats.
            whole = f"isfinite({name}) AND {name} = trunc({name}) AND abs({name}) < 1e15"
            # Both branches may be computed for every cell, and a cast must not fail where the other is taken.
            number = f"WHEN {whole} THEN TRY_CAST({name} AS BIGINT)::VARCHAR"
            text = f"CASE WHEN isnan({name}) THEN NULL {number} ELSE {name}::VARCHAR END"
        elif kind.startswith("DECIMAL") and not kind.endswith(",0)"):
            text = f"rtrim(rtrim({name}::VARCHAR, '0'), '.')"
        elif kind == "TIMESTAMP WITH TIME ZONE":
            text = f"({name} AT TIME ZONE 'UTC')::VARCHAR"
        else:
            text = name if kind == "VARCHAR" else f"{name}::VARCHAR"
        if self.reading.strip:
            text = f"trim({text}, {literal(BLANKS)})"
        for spelling in self.reading.missing:
            text = f"nullif({text}, {literal(spelling)})"
        return text

    def number(self, source: Source, column: str) -> str:
        """Return SQL for a cell's number, NULL where it is missing or not a plain number."""
        kind, name, text = source.types[column], source.field(column), self.text(source, column)
        if not is_number(kind) and self.reading.decimal == ",":
            number = f"TRY_CAST({comma_number_sql(text)} AS DOUBLE)"
            return f"CASE WHEN regexp_full_match({text}, {literal(PLAIN_COMMA_NUMBER)}) THEN {number} END"
        if not is_number(kind):
            return f"CASE WHEN regexp_full_match({text}, {literal(PLAIN_NUMBER)}) THEN TRY_CAST({text} AS DOUBLE) END"
        # A single-precision 0.1 is read as the 0.1 that a file would show, not as 0.10000000149.
        plain = f"{name}::VARCHAR::DOUBLE" if kind == "FLOAT" else f"{name}::DOUBLE"
        listed = any(spelling for spelling in self.reading.missing)
        return f"CASE WHEN {text} IS NOT NULL THEN {plain} END" if listed else plain

    def time(self, source: Source, column: str) -> str:
        """Return SQL for a cell's time to the microsecond, NULL where it is missing or not a plain time."""
        text, pattern = self.iso_text(source, column), PLAIN_TIME if self.reading.dates == "iso" else LOOSE_TIME
        cut = f"regexp_replace({text}, '([.][0-9]{{6}})[0-9]+', '\\1')"
        # The calendar has no year 0; DuckDB takes it for the year before the year 1.
        plain = f"regexp_full_match({text}, {literal(pattern)}) AND NOT starts_with({text}, '0000')"
        return f"CASE WHEN {plain} THEN TRY_CAST({cut} AS TIMESTAMP) END"

    def iso_text(self, source: Source, column: str) -> str:
        """Return SQL for a cell's text, days respelled as 2024-12-31 if `reading.dates` says how they are written."""
        text = self.text(source, column)
        if self.reading.dates == "iso" or source.types[column] != "VARCHAR":
            return text
        return iso_sql(text, self.reading.dates)

    def is_day(self, source: Source, column: str) -> str:
        """Return SQL for whether a cell is a day without a clock time."""
        pattern = _PLAIN_DAY if self.reading.dates == "iso" else LOOSE_DAY
        return f"regexp_full_match({self.iso_text(source, column)}, {literal(pattern)})"


def is_number(kind: str) -> bool:
    """Whether DuckDB stores the column as numbers."""
    return kind in _WHOLE_TYPES or kind in FLOAT_TYPES or kind.startswith("DECIMAL")
