"""From the text of a DuckDB table to typed columns, with every unreadable cell counted and none shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import Problem
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Times
from cvpl.tables.protected_values import is_suppressed, read_number, read_time
from cvpl.tables.source import Reading, Source, literal, quoted

if TYPE_CHECKING:
    import duckdb

_PLAIN_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_PLAIN_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?Z?)?"
_NUMERIC_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_FLOAT_TYPES = ("FLOAT", "DOUBLE")
_BLANKS = literal(" \t\r\n\f\v\u00a0")

Meaning = TypeVar("Meaning")


class ColumnReader:
    """Reads one declared column from every table of a pair, so that all share one meaning, and collects problems."""

    def __init__(self, con: duckdb.DuckDBPyConnection, reading: Reading, problems: list[Problem]) -> None:
        self._con = con
        self._reading = reading
        self._problems = problems

    def read(self, spec: ColumnSpec, sources: Sequence[Source], *, protected: int = 1) -> list[ColumnData]:
        """The column's data for each source, in order; the source at `protected` may hold protected spellings."""
        if spec.type == "category":
            return list(self._labels(spec, sources, protected))
        if spec.type == "numeric":
            return list(self._numbers(spec, sources))
        return list(self._times(spec, sources))

    def text(self, source: Source, column: str) -> str:
        """SQL for a cell's text, NULL where the reading calls it missing."""
        name, kind = quoted(column), source.types[column]
        if kind in _FLOAT_TYPES:
            # A whole float is spelled like an integer: a dataframe turns integers with gaps into floats.
            whole = f"isfinite({name}) AND {name} = trunc({name}) AND abs({name}) < 1e15"
            text = (
                f"CASE WHEN isnan({name}) THEN NULL WHEN {whole} THEN {name}::BIGINT::VARCHAR ELSE {name}::VARCHAR END"
            )
        elif kind == "TIMESTAMP WITH TIME ZONE":
            text = f"({name} AT TIME ZONE 'UTC')::VARCHAR"
        else:
            text = name if kind == "VARCHAR" else f"{name}::VARCHAR"
        if self._reading.strip:
            text = f"trim({text}, {_BLANKS})"
        for spelling in self._reading.missing:
            text = f"nullif({text}, {literal(spelling)})"
        return text

    def _fetch(self, query: str) -> dict[str, Any]:
        return self._con.sql(query).fetchnumpy()

    def _numbers(self, spec: ColumnSpec, sources: Sequence[Source]) -> list[Numbers]:
        values, columns = [], []
        for source in sources:
            kind, name = source.types[spec.name], quoted(spec.name)
            if kind in _NUMERIC_TYPES or kind in _FLOAT_TYPES or kind.startswith("DECIMAL"):
                plain = f"{name}::DOUBLE"
            else:
                text = self.text(source, spec.name)
                plain = f"CASE WHEN regexp_full_match({text}, {literal(_PLAIN_NUMBER)}) THEN ({text})::DOUBLE END"
            values.append(_filled(self._fetch(f"SELECT {plain} AS v FROM {quoted(source.table)}")["v"]))
            columns.append(plain)
        known = values[0][np.isfinite(values[0])]
        whole = bool(known.size) and bool(np.all(known == np.trunc(known)))
        smallest, largest = (float(known.min()), float(known.max())) if known.size else (np.inf, -np.inf)

        def meaning(label: str) -> tuple[float, float, float] | None:
            found = read_number(label, whole=whole, smallest=smallest, largest=largest)
            return None if found is None else (found.middle, found.low, found.high)

        result = []
        for source, value in zip(sources, values, strict=True):
            infinite = np.flatnonzero(np.isinf(value))
            if infinite.size:
                what, cure = "found infinity where a number is declared", "Mend the row, or empty the cell."
                place = {"column": spec.name, "row": int(infinite[0]) + 1, "count": int(infinite.size)}
                self._problems.append(Problem(source.name, what, cure, **place))  # type: ignore[arg-type]
            numbers = Numbers(value, value.copy(), value.copy())
            for rows, (middle, low, high) in self._spelled(spec, source, value, meaning, "a number or an interval"):
                numbers.values[rows], numbers.low[rows], numbers.high[rows] = middle, low, high
            result.append(numbers)
        return result

    def _times(self, spec: ColumnSpec, sources: Sequence[Source]) -> list[Times]:
        result = []
        for source in sources:
            text = self.text(source, spec.name)
            plain = (
                f"CASE WHEN regexp_full_match({text}, {literal(_PLAIN_TIME)}) THEN TRY_CAST({text} AS TIMESTAMP) END"
            )
            value = self._fetch(f"SELECT {plain} AS v FROM {quoted(source.table)}")["v"]
            first = np.ma.filled(value, np.datetime64("NaT")).astype("datetime64[us]")
            times = Times(first, first.copy())

            def meaning(label: str) -> tuple[np.datetime64, np.datetime64] | None:
                found = read_time(label)
                return None if found is None else (np.datetime64(found.first, "us"), np.datetime64(found.last, "us"))

            for rows, (start, end) in self._spelled(spec, source, first, meaning, "a time such as 2024-05-01 13:45:00"):
                times.first[rows], times.last[rows] = start, end
            result.append(times)
        return result

    def _spelled(
        self,
        spec: ColumnSpec,
        source: Source,
        plain: NDArray[Any],
        meaning: Callable[[str], Meaning | None],
        allowed: str,
    ) -> list[tuple[NDArray[np.intp], Meaning]]:
        """The rows of every spelling that SQL did not read, with what it means; suppressed ones are left missing.

        Each distinct spelling is parsed once. What cannot be read becomes one problem for the column.
        """
        rows = np.flatnonzero(np.isnat(plain) if plain.dtype.kind == "M" else np.isnan(plain))
        if not rows.size:
            return []
        if source.types[spec.name] in _NUMERIC_TYPES + _FLOAT_TYPES:
            return []
        codes, labels = self._codes(source, spec.name, rows)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(labels) + 1))
        found, unreadable = [], []
        for code, label in enumerate(labels):
            members = rows[order[bounds[code] : bounds[code + 1]]]
            if is_suppressed(label):
                continue
            meant = meaning(label)
            if meant is None:
                unreadable.append(members)
            else:
                found.append((members, meant))
        if unreadable:
            at = np.concatenate(unreadable)
            what = f"found text where {allowed} is declared"
            cure = "Declare the column as a category, name the spelling under `reading.missing`, or mend the row."
            first = int(at.min()) + 1
            self._problems.append(Problem(source.name, what, cure, spec.name, first, int(at.size)))
        return found

    def _codes(self, source: Source, column: str, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], list[str]]:
        """The distinct texts of some rows, and each row's code into them; -1 where the cell is missing."""
        labels = self._distinct(source, column)
        codes = self._encode(source, column, labels)[rows]
        return codes.astype(np.int64), labels

    def _distinct(self, source: Source, column: str) -> list[str]:
        text = self.text(source, column)
        query = f"SELECT DISTINCT {text} AS label FROM {quoted(source.table)} WHERE {text} IS NOT NULL"
        return sorted(str(row[0]) for row in self._con.execute(query).fetchall())

    def _encode(self, source: Source, column: str, labels: Sequence[str]) -> NDArray[np.int32]:
        """Each row's position in `labels`, -1 where the cell is missing or not listed."""
        if not labels:
            return np.full(source.rows, -1, dtype=np.int32)
        self._con.execute("CREATE TEMP TABLE known AS SELECT unnest(?::VARCHAR[]) AS label", [list(labels)])
        self._con.execute("CREATE TYPE known_label AS ENUM (SELECT label FROM known ORDER BY rowid)")
        text = self.text(source, column)
        query = f"SELECT enum_code(TRY_CAST({text} AS known_label))::INTEGER AS code FROM {quoted(source.table)}"
        codes = self._fetch(query)["code"]
        self._con.execute("DROP TYPE known_label; DROP TABLE known")
        return np.ma.filled(codes, -1).astype(np.int32)

    def _labels(self, spec: ColumnSpec, sources: Sequence[Source], protected: int) -> list[Labels]:
        distinct = [self._distinct(source, spec.name) for source in sources]
        # Stars are suppression in a release, unless the original itself uses them as a label.
        originals = set(distinct[0])
        distinct[protected] = [label for label in distinct[protected] if label in originals or not is_suppressed(label)]
        labels = tuple(sorted(set().union(*distinct)))
        return [Labels(self._encode(source, spec.name, labels), labels) for source in sources]


def _filled(values: Any) -> NDArray[np.float64]:
    """A plain float array of its own, NaN where DuckDB had NULL."""
    return np.array(np.ma.filled(values.astype(np.float64), np.nan))
