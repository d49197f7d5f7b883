"""Convert the text of a DuckDB table to typed columns; count every unreadable cell and show none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import Problem
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, MeasuredNotice, Numbers, Times
from cvpl.tables.meaning.column_facts import (
    ORIGINAL,
    RELEASE,
    ColumnFacts,
    LabelFacts,
    NumberFacts,
    TimeFacts,
    has_clock,
)
from cvpl.tables.meaning.labels import LabelRespelling, allowed_labels
from cvpl.tables.meaning.protected_values import (
    LOOSE_DAY,
    LOOSE_TIME,
    PLAIN_COMMA_NUMBER,
    comma_number_sql,
    is_gone,
    is_suppressed,
    iso_days,
    iso_sql,
    read_number,
    read_pair,
    read_time,
    two_ways,
    use_decimal_points,
)
from cvpl.tables.source.connection import identifier, literal
from cvpl.tables.source.reading_settings import BLANKS, Reading
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb


_DAY = np.timedelta64(1, "D") - np.timedelta64(1, "us")
"""From the first to the last microsecond of a day."""
LARGEST = 1e140
"""The largest number that is compared: its variance and its distances are still numbers."""
_LARGEST_EXACT = 2**53
"""Up to here a double holds every whole number."""
FEW_ROWS = 5_000
"""Up to here labels are looked up one by one, which takes less time than to declare them to DuckDB."""
Meaning = TypeVar("Meaning")


class ColumnReader:
    """A reader of one declared column from every table of a pair, with the same meaning in all tables.

    The first table is the original, unless the `facts` of whole tables are known: then the sources may be parts of
    tables. Problems and notices are added to the lists that are passed in.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        reading: Reading,
        problems: list[Problem],
        notices: list[MeasuredNotice],
        facts: Mapping[str, ColumnFacts] | None = None,
    ) -> None:
        self._con = con
        self._reading = reading
        self._sql = CellSql(reading)
        self._problems = problems
        self._notices = notices
        self._facts = facts or {}
        self._last_texts: dict[str, tuple[str, list[str | None]]] = {}

    def read(self, spec: ColumnSpec, sources: Sequence[Source]) -> list[ColumnData]:
        """The column's data for each source, in order."""
        if spec.type == "category":
            return list(self._labels(spec, sources))
        if spec.type == "numeric":
            return list(self._numbers(spec, sources))
        return list(self._times(spec, sources))

    def facts(self, spec: ColumnSpec, source: Source) -> NumberFacts | TimeFacts | None:
        """The facts of some records that say what a column's cells mean; None for labels, and where there are none."""
        if spec.type == "numeric" and source.table == ORIGINAL:
            number = self._sql.number(source, spec.name)
            return NumberFacts.of(
                _fill_nulls(self._fetch(f"SELECT {number} AS v FROM {identifier(source.table)}")["v"])
            )
        if spec.type == "datetime" and source.table == ORIGINAL:
            return TimeFacts.of(self._instants(source, self._sql.time(source, spec.name)))
        if spec.type == "datetime" and _is_release(source):
            times = self._instants(source, self._sql.time(source, spec.name))
            return TimeFacts(released_clock=has_clock(times[~self._days(source, spec.name)]))
        return None

    def text(self, source: Source, column: str) -> str:
        """Return SQL for a cell's text, NULL where `reading` treats it as missing."""
        return self._sql.text(source, column)

    def codes(self, source: Source, column: str) -> tuple[NDArray[np.int32], list[str]]:
        """Return each row's index into the column's sorted distinct texts, -1 where it is missing; and the texts."""
        labels = self.distinct(source, column)
        return self._encode(source, column, labels), labels

    def _fetch(self, query: str) -> dict[str, Any]:
        return self._con.execute(query).fetchnumpy()

    def _numbers(self, spec: ColumnSpec, sources: Sequence[Source]) -> list[Numbers]:
        plain = [self._sql.number(source, spec.name) for source in sources]
        values = [
            _fill_nulls(self._fetch(f"SELECT {number} AS v FROM {identifier(source.table)}")["v"])
            for number, source in zip(plain, sources, strict=True)
        ]
        facts = self._facts.get(spec.name)
        if not isinstance(facts, NumberFacts):
            facts = NumberFacts.of(values[0])
        comma = self._reading.decimal == ","

        def meaning(label: str) -> tuple[float, float, float] | None:
            text = use_decimal_points(label) if comma else label
            if text is None:
                return None
            found = read_number(text, whole=facts.whole, smallest=facts.smallest, largest=facts.largest)
            return None if found is None else (found.middle, found.low, found.high)

        def released(label: str) -> tuple[float, float, float] | None:
            text = use_decimal_points(label) if comma else label
            if text is None:
                return None
            found = read_pair(text, whole=facts.whole, smallest=facts.smallest, largest=facts.largest)
            return meaning(label) if found is None else (found.middle, found.low, found.high)

        result = []
        for source, number, value in zip(sources, plain, values, strict=True):
            infinite = np.flatnonzero(np.isinf(value))
            if infinite.size:
                what, cure = "found infinity where a number is declared", "Correct the row, or empty the cell."
                first = int(infinite[0]) + 1
                self._problems.append(Problem(source.name, what, cure, spec.name, first, int(infinite.size)))
            # If every cell is a plain number, both ends of its interval are the number and need no arrays of their own.
            numbers = Numbers(value, value, value)
            if np.isnan(value).any() and not is_number(source.types[spec.name]):
                means = released if _is_release(source) else meaning
                found = self._spelled(spec, source, number, means, "a number or an interval")
                if found:
                    numbers = Numbers(value, value.copy(), value.copy())
                for rows, meant in found:
                    numbers.values[rows], numbers.low[rows], numbers.high[rows] = meant
            self._check_size(spec, source, numbers)
            self._notice_rounded(spec, source, number, value)
            result.append(numbers)
        return result

    def _check_size(self, spec: ColumnSpec, source: Source, numbers: Numbers) -> None:
        """Report numbers whose squares, summed over a table, no double can hold."""
        ends = (numbers.values,) if numbers.plain else (numbers.values, numbers.low, numbers.high)
        huge = np.zeros(len(numbers.values), dtype=bool)
        for end in ends:
            huge |= np.isfinite(end) & (np.abs(end) > LARGEST)
        if huge.any():
            what, cure = f"found a number beyond {LARGEST:g} or -{LARGEST:g}", "Correct the row, or empty the cell."
            first = int(np.flatnonzero(huge)[0]) + 1
            self._problems.append(Problem(source.name, what, cure, spec.name, first, int(huge.sum())))

    def _notice_rounded(self, spec: ColumnSpec, source: Source, number: str, values: NDArray[np.float64]) -> None:
        """Report whole numbers that are compared as another number: a double holds them exactly up to 2^53."""
        if source.types[spec.name] in FLOAT_TYPES or not np.any(np.abs(values) >= _LARGEST_EXACT):
            return
        text = self.text(source, spec.name)
        whole = f"TRY_CAST({text} AS HUGEINT)"
        other = f"({whole} IS NULL OR {whole} <> TRY_CAST({number} AS HUGEINT))"
        query = (
            f"SELECT count(*) FROM {identifier(source.table)} WHERE regexp_full_match({text}, '[+-]?[0-9]+') "
            f"AND abs({number}) >= {_LARGEST_EXACT} AND {other}"
        )
        if rounded := int(self._con.execute(query).fetchall()[0][0]):
            text = "beyond 2^53 are rounded to about 16 digits; if they are codes, declare the column as a category"
            one = "beyond 2^53 is rounded to about 16 digits; if it is a code, declare the column as a category"
            where = f"column '{spec.name}' of {source.name}"
            self._notices.append(MeasuredNotice(where, rounded, source.rows, text, "whole number", one))

    def _times(self, spec: ColumnSpec, sources: Sequence[Source]) -> list[Times]:
        known = self._facts.get(spec.name)
        facts = known if isinstance(known, TimeFacts) else TimeFacts()
        whole_day = False

        def meaning(label: str) -> tuple[np.datetime64, np.datetime64] | None:
            label = iso_days(label, self._reading.dates)
            found = read_time(label, earliest=facts.ends[0], latest=facts.ends[1], whole_day=whole_day)
            return None if found is None else (np.datetime64(found.first, "us"), np.datetime64(found.last, "us"))

        result = []
        for source in sources:
            plain = self._sql.time(source, spec.name)
            first = self._instants(source, plain)
            times = Times(first, first)
            if source is sources[0] and known is None:
                facts = TimeFacts.of(first)
            cut = facts.clock and _is_release(source)
            days = self._days(source, spec.name) if cut else np.zeros(len(first), dtype=bool)
            whole_day = cut and (facts.released_clock or has_clock(first[~days]))
            if days.any() and whole_day:
                times = Times(first, np.where(days, first + _DAY, first))
            if np.isnat(first).any():
                found = self._spelled(spec, source, plain, meaning, "a time such as 2024-05-01 13:45:00")
                if found and times.plain:
                    times = Times(first, first.copy())
                for rows, meant in found:
                    times.first[rows], times.last[rows] = meant
            result.append(times)
        return result

    def _instants(self, source: Source, plain: str) -> NDArray[np.datetime64]:
        """Return the plain times of a column, NaT where there is none."""
        value = self._fetch(f"SELECT {plain} AS v FROM {identifier(source.table)}")["v"]
        filled: NDArray[np.datetime64] = np.ma.filled(value, np.datetime64("NaT")).astype("datetime64[us]")
        return filled

    def _days(self, source: Source, column: str) -> NDArray[np.bool_]:
        """Return which cells are a day without a clock time."""
        query = f"SELECT {self._sql.is_day(source, column)} AS v FROM {identifier(source.table)}"
        return np.ma.filled(self._fetch(query)["v"], False).astype(bool)

    def _spelled(
        self, spec: ColumnSpec, source: Source, plain: str, meaning: Callable[[str], Meaning | None], allowed: str
    ) -> list[tuple[NDArray[np.intp], Meaning]]:
        """Return the rows of every text that SQL could not read, with its meaning; suppressed ones stay missing.

        Each distinct text is parsed once. Texts that cannot be read become a problem of the column, and so do ambiguous
        texts.
        """
        labels = self.distinct(source, spec.name, f"({plain}) IS NULL")
        codes = self._encode(source, spec.name, labels)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(labels) + 1))
        suppressed = is_gone if _is_release(source) else is_suppressed
        found: list[tuple[NDArray[np.intp], Meaning]] = []
        unreadable: list[NDArray[np.intp]] = []
        unclear: list[NDArray[np.intp]] = []
        for code, label in enumerate(labels):
            members = order[bounds[code] : bounds[code + 1]]
            if suppressed(label):
                continue
            meant = meaning(label)
            if meant is None:
                (unclear if self._two_ways(spec, label) else unreadable).append(members)
            else:
                found.append((members, meant))
        what = f"found text where {allowed} is declared"
        cure = "Declare the column as a category, list the text under `reading.missing`, or correct the row."
        if spec.type == "datetime" and self._reading.dates == "iso":
            cure = (
                "Set `reading.dates` if days are written as 31/12/2024 or 12/31/2024, declare the column as a "
                "category, list the text under `reading.missing`, or correct the row."
            )
        self._refuse(source, spec, unreadable, what, cure)
        what = f"found an ambiguous text where {allowed} is declared"
        self._refuse(source, spec, unclear, what, self._clear_spelling(spec))
        return found

    def _two_ways(self, spec: ColumnSpec, label: str) -> bool:
        """Whether an unread text is ambiguous."""
        commas = spec.type == "numeric" and self._reading.decimal == ","
        return two_ways(label) or (commas and use_decimal_points(label) is None)

    def _clear_spelling(self, spec: ColumnSpec) -> str:
        """Say how a column is written without ambiguity."""
        if spec.type == "datetime":
            return (
                "Write a month as 2024-05 and a day as 2024-05-01, or set `reading.dates` to day_first (31/12/2024) or "
                "month_first (12/31/2024)."
            )
        if self._reading.decimal == ",":
            return (
                "`reading.decimal` is a comma, so write decimals as 3,14, thousands as 1.234 and a range as "
                "[1,5; 2,5]; remove the setting if a point separates decimals."
            )
        return "Write a range as [17, 25] and decimals with a point, or set `reading.decimal` to a comma."

    def _refuse(self, source: Source, spec: ColumnSpec, rows: Sequence[NDArray[np.intp]], what: str, cure: str) -> None:
        """Report one problem for all these rows, if there are any."""
        if rows:
            at = np.concatenate(rows)
            self._problems.append(Problem(source.name, what, cure, spec.name, int(at.min()) + 1, int(at.size)))

    def distinct(self, source: Source, column: str, condition: str = "true") -> list[str]:
        """Return the sorted distinct texts of the cells that meet a condition."""
        if source.rows <= FEW_ROWS and condition == "true":
            return sorted({label for label in self._few_texts(source, column) if label is not None})
        text = self.text(source, column)
        query = (
            f"SELECT DISTINCT {text} AS label FROM {identifier(source.table)} WHERE {text} IS NOT NULL AND {condition}"
        )
        return sorted(str(row[0]) for row in self._con.execute(query).fetchall())

    def _distinct_labels(self, source: Source, column: str) -> list[str]:
        """Return the sorted labels of a category column. Raises LimitError, before they are fetched, if too many."""
        text, limits = self.text(source, column), self._reading.limits
        if source.rows > limits.labels:
            query = f"SELECT count(DISTINCT {text}) FROM {identifier(source.table)}"
            limits.check_labels(int(self._con.execute(query).fetchall()[0][0]), source.name, column)
        return self.distinct(source, column)

    def _few_texts(self, source: Source, column: str) -> list[str | None]:
        """Return the texts of a column of a small table; those of the last column are kept."""
        last = self._last_texts.get(source.table)
        if last is None or last[0] != column:
            query = f"SELECT {self.text(source, column)} FROM {identifier(source.table)}"
            last = self._last_texts[source.table] = column, [row[0] for row in self._con.execute(query).fetchall()]
        return last[1]

    def _encode(self, source: Source, column: str, labels: Sequence[str]) -> NDArray[np.int32]:
        """Return each row's index into `labels`, -1 where the cell is missing or not listed."""
        if not labels:
            return np.full(source.rows, -1, dtype=np.int32)
        if source.rows <= FEW_ROWS:
            place = {label: code for code, label in enumerate(labels)}
            texts = self._few_texts(source, column)
            return np.array([-1 if text is None else place.get(text, -1) for text in texts], dtype=np.int32)
        text = self.text(source, column)
        self._con.execute("CREATE TEMP TABLE known AS SELECT unnest(?::VARCHAR[]) AS label", [list(labels)])
        self._con.execute("CREATE TYPE known_label AS ENUM (SELECT label FROM known ORDER BY rowid)")
        query = f"SELECT enum_code(TRY_CAST({text} AS known_label))::INTEGER AS code FROM {identifier(source.table)}"
        codes = self._fetch(query)["code"]
        self._con.execute("DROP TYPE known_label; DROP TABLE known")
        return np.ma.filled(codes, -1).astype(np.int32)

    def _labels(self, spec: ColumnSpec, sources: Sequence[Source]) -> list[Labels]:
        facts = self._facts.get(spec.name)
        if not isinstance(facts, LabelFacts):
            facts = LabelFacts(spec, {source.table: self._distinct_labels(source, spec.name) for source in sources})
        read = []
        for source in sources:
            if facts.as_spelled(source.table):
                read.append(Labels(self._encode(source, spec.name, facts.labels), facts.labels))
            else:
                own_codes = self._encode(source, spec.name, facts.distinct[source.table])
                wanted = np.array([*facts.codes(source.table), -1], dtype=np.int32)
                read.append(Labels(wanted[own_codes], facts.labels))
        for source in sources:
            self._notice_spellings(spec, source, facts.spelled[source.table])
        if len(read) > 1 and spec.name not in self._facts:
            self._notices.extend(notices(spec, facts.originals, read))
        return read

    def _notice_spellings(self, spec: ColumnSpec, source: Source, found: LabelRespelling) -> None:
        """Report labels that differ only by zero decimals; if they could mean two original labels, report a problem."""
        if found.meant:
            cells = int(np.count_nonzero(self._encode(source, spec.name, sorted(found.meant)) >= 0))
            differ = "from whole numbers of the original only by zero decimals, and"
            text, one = f"differ {differ} are read as those numbers", f"differs {differ} is read as that number"
            where = f"column '{spec.name}' of {source.name}"
            self._notices.append(MeasuredNotice(where, cells, source.rows, text, "cell", one))
        if found.unclear:
            codes = self._encode(source, spec.name, found.unclear)
            what = "found whole numbers with decimals, which could mean two labels of the original"
            self._refuse(source, spec, [np.flatnonzero(codes >= 0)], what, "Use the same spelling in all tables.")


def _is_release(source: Source) -> bool:
    """Whether the table is the protected one: originals and controls hold no suppressed or generalized values."""
    return source.table == RELEASE


def _fill_nulls(values: Any) -> NDArray[np.float64]:
    """Return a new float array, NaN where DuckDB had NULL."""
    return np.array(np.ma.filled(values.astype(np.float64), np.nan))


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


UNKNOWN_SHARE = 0.001
"""From this share of the release's records on, unexplained labels that the original lacks are reported."""
COMPOSED_SHARE = 0.5
"""From this share on, sets and masks are reported too: only blocking by compatible keys can use them."""


def notices(spec: ColumnSpec, originals: set[str], read: Sequence[Labels]) -> Iterator[MeasuredNotice]:
    """Yield notices about labels that make a column uninformative: not in its hierarchy, or not in the original.

    `read` is the column of each table: the original, the release and perhaps the control.
    """
    where = f"column '{spec.name}'"
    if spec.parents is not None:
        listed = np.array([label in spec.parents for label in read[0].labels], dtype=bool)
        unlisted = [(int(np.count_nonzero(~listed[present])), len(present)) for present in map(_present, read)]
        records, of = max(unlisted)
        if records:
            what = "of a table's values are labels that its hierarchy file lacks, so each is a group of its own"
            yield MeasuredNotice(where, records, of, what)
    released = read[1]
    tops = {spec.path(label)[0] for label in originals}
    compared = np.array([spec.path(label)[0] in tops for label in released.labels], dtype=bool)
    present = _present(released)
    if not originals or compared[present].all():
        return
    allowed = allowed_labels(spec, released.labels)
    known = {at for at, leaf in enumerate(allowed.leaves) if leaf in originals}
    explained = np.array([not known.isdisjoint(members) for members in allowed.members], dtype=bool)
    unknown = int(np.count_nonzero(~(explained | compared)[present]))
    if unknown >= UNKNOWN_SHARE * len(present):
        cure = (
            "if they are generalized, give a `separator` or a `hierarchy` file; if they are spelled differently, use "
            "the same spelling"
        )
        if any(_is_range(label) for label in released.labels if label not in originals):
            cure = "some look like ranges: declare the column numeric"
        what = "of the release's values are labels that the original lacks and nothing explains, so they match no "
        yield MeasuredNotice(where, unknown, len(present), f"{what}original value; {cure}")
    composed = int(np.count_nonzero((explained & ~compared)[present]))
    if composed >= COMPOSED_SHARE * len(present):
        what = (
            "of the release's values are sets or masks, which match no original value in the comparison; as keys they "
            "count under `blocking: compatible`"
        )
        yield MeasuredNotice(where, composed, len(present), what)


def _present(column: Labels) -> NDArray[np.int32]:
    """The codes of the cells that have a label."""
    return column.codes[column.codes >= 0]


def _is_range(label: str) -> bool:
    """Whether a label is written as a range of numbers."""
    found = read_number(label, whole=False, smallest=-np.inf, largest=np.inf)
    return found is not None and found.low < found.high
