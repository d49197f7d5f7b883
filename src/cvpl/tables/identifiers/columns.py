"""Direct identifiers left in a release: names, addresses, numbers, notes, and unchanged unique values.

Every column of the release is checked, declared or not. A finding names the column, what its values look like, and the
share that do; it never contains a cell.

Nearly unique columns whose values are in both tables: anyone with the original can look them up. For a row numbering,
equal values alone prove nothing: a synthetic release may number its rows from 1 as the original does. A numbering
counts only if the records it pairs agree in the other columns more than neighbouring numbers do.

SQL for the texts of a table's known cells: neither missing nor suppressed. Each cell is read once and compared with all
spellings of a missing value in one test, so a million cells are fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.identifiers.values import (
    ADDRESS_WORDS,
    ID_WORDS,
    NOTE_WORDS,
    PHONE_WORDS,
    could_be_address,
    could_be_dialled,
    could_be_id,
    has_word,
    is_address,
    is_card_number,
    is_checked_number,
    is_email,
    is_national_id,
    is_phone,
    is_sentence,
    share_of_names,
)
from cvpl.tables.meaning.protected_values import SUPPRESSED_WORDS
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.connection import identifier, literal
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, has_one_type

if TYPE_CHECKING:
    import duckdb


IdentifierKind = Literal[
    "name", "email", "phone", "address", "national_id", "card_number", "free_text", "unique_values"
]

_SAMPLE = 2_000
"""The number of distinct values to check: a share among them is off by at most a few points."""


@dataclass(frozen=True)
class IdentifyingColumn:
    """A released column that identifies people directly: its name, what it looks like, and the share of such values.

    The share is that of the distinct values checked; for `unique_values`, that of the released values that are in the
    original column.
    """

    column: str
    kind: IdentifierKind
    share: float


@dataclass(frozen=True, repr=False)
class _DistinctSample:
    """Some of a released column's distinct values with their counts, and how many values and cells there are."""

    texts: tuple[str, ...]
    counts: tuple[int, ...]
    distinct: int
    cells: int

    @property
    def different(self) -> float:
        """The number of distinct values as a share of the cells with a value."""
        return self.distinct / self.cells if self.cells else 0.0


@dataclass(frozen=True)
class _Rule:
    """A test for one kind: at least `least` distinct values, and at least a `share` of them, must pass.

    A rule with `words` applies only to columns whose name has one of them; `different` is the minimum share of distinct
    values among cells.
    """

    kind: IdentifierKind
    test: Callable[[str], bool]
    share: float
    least: int
    words: frozenset[str] | None = None
    different: float = 0.0

    def found(self, column: str, sample: _DistinctSample) -> float | None:
        """Return the share of the values that pass; None if the rule does not apply."""
        if sample.different < self.different or len(sample.texts) < self.least:
            return None
        if self.words is not None and not has_word(column, self.words):
            return None
        passed = len(sample.texts)
        needed = max(self.least, self.share * passed)
        for text in sample.texts:
            if not self.test(text):
                passed -= 1
                if passed < needed:  # whatever the other values are
                    return None
        return passed / len(sample.texts)


_FORMS = (
    _Rule("email", is_email, 0.05, 3),
    _Rule("national_id", is_national_id, 0.8, 5),
    _Rule("card_number", is_card_number, 0.9, 10),
    _Rule("national_id", is_checked_number, 0.9, 20),
    _Rule("national_id", could_be_id, 0.8, 5, ID_WORDS, 0.5),
    _Rule("phone", is_phone, 0.6, 5),
    _Rule("phone", could_be_dialled, 0.8, 5, PHONE_WORDS, 0.2),
    _Rule("address", is_address, 0.5, 5),
    _Rule("address", could_be_address, 0.7, 10, ADDRESS_WORDS, 0.5),
)
"""The most specific first."""
_NOTES = (
    _Rule("free_text", is_sentence, 0.5, 10, None, 0.6),
    _Rule("free_text", lambda text: is_sentence(text, 3), 0.5, 10, NOTE_WORDS, 0.3),
)


def identifying_columns(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], reading: Reading, key: str | None = None
) -> tuple[IdentifyingColumn, ...]:
    """Find the columns of the release that identify people directly, in table order, each with its most specific kind.

    `sources` are the opened tables, named "original", "protected" and optionally "control". The findings depend neither
    on the row order nor on the number of threads. A column without values is never a finding. `key` names the column
    that the evaluation uses, which is not checked.
    """
    read = KnownTexts(con, reading, sources)
    release = next(source for source in sources if source.table == "protected")
    found: dict[str, IdentifyingColumn] = {}
    nearly_unique = {}
    for column, part in read.parts(release).items():
        if column == key:
            continue
        if release.rows <= _SAMPLE:
            sample = _whole(con, read.distinct(release, column))
        else:
            sample = _sample(con, read.kept_distinct(release, column, part))
        finding = _by_content(column, sample)
        if finding is not None:
            found[column] = finding
        if sample.cells >= LEAST_ROWS and sample.different >= NEARLY_UNIQUE:
            nearly_unique[column] = part
        if finding is not None or column not in nearly_unique:
            read.forget(column)
    if nearly_unique.keys() - found.keys() and any(source.table == "original" for source in sources):
        unique = UniqueColumns(con, read, sources, nearly_unique, key)
        for column in nearly_unique.keys() - found.keys():
            share = unique.share(column)
            read.forget(column)
            if share is not None:
                found[column] = IdentifyingColumn(column, "unique_values", share)
    return tuple(found[column] for column in release.types if column in found)


def _by_content(column: str, sample: _DistinctSample) -> IdentifyingColumn | None:
    """Return the finding if the values look like a direct identifier, else None."""
    for rule in _FORMS:
        if (share := rule.found(column, sample)) is not None:
            return IdentifyingColumn(column, rule.kind, share)
    share = share_of_names(column, sample.texts, sample.counts, sample.different)
    if share is not None:
        return IdentifyingColumn(column, "name", share)
    for rule in _NOTES:
        if (share := rule.found(column, sample)) is not None:
            return IdentifyingColumn(column, rule.kind, share)
    return None


def _whole(con: duckdb.DuckDBPyConnection, distinct: str) -> _DistinctSample:
    """Take all distinct values of a small table, which is quicker than to order them."""
    rows = sorted(con.execute(f"SELECT text, n FROM {distinct}").fetchall())
    counts = tuple(int(row[1]) for row in rows)
    return _DistinctSample(tuple(str(row[0]).strip() for row in rows), counts, len(rows), sum(counts))


def _sample(con: duckdb.DuckDBPyConnection, distinct: str) -> _DistinctSample:
    """Take the first distinct values by hash: the same ones for any row order."""
    query = (
        f"WITH texts AS MATERIALIZED (SELECT text, n FROM {distinct}) "
        "SELECT text, n, (SELECT count(*) FROM texts), (SELECT sum(n) FROM texts) "
        f"FROM texts ORDER BY hash(text), text, n LIMIT {_SAMPLE}"
    )
    rows = con.execute(query).fetchall()
    if not rows:
        return _DistinctSample((), (), 0, 0)
    texts = tuple(str(row[0]).strip() for row in rows)
    return _DistinctSample(texts, tuple(int(row[1]) for row in rows), int(rows[0][2]), int(rows[0][3]))


LEAST_ROWS = 20
"""Fewer values are not enough evidence."""
NEARLY_UNIQUE = 0.9
_CARRIED_OVER = 0.5
_ABOVE_STRANGERS = 0.25
_DENSE = 3.0
_ERRORS = 5
_LEAST_EFFECT = 0.05
_MOST_PAIRS = 20_000
_SOME = 2_000
_MOST_COLUMNS = 20


class UniqueColumns:
    """A search for nearly unique columns of a release whose values are also in the original.

    `nearly_unique` has the columns of the release whose values are nearly all distinct. Of each, one value in so many
    is compared: the same values in every table. `key` is the column that the evaluation uses.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        texts: KnownTexts,
        sources: Sequence[Source],
        nearly_unique: Mapping[str, int],
        key: str | None = None,
    ) -> None:
        self._con = con
        self._texts = texts
        by_table = {source.table: source for source in sources}
        self._original, self._released = by_table["original"], by_table["protected"]
        self._control = by_table.get("control")
        self._unique = nearly_unique
        self._not_compared = {*nearly_unique, key}

    def share(self, column: str) -> float | None:
        """Return the share of the released values that are in the original column if they identify people, else None.

        They identify people if at least half of the released values come from the original, and values of the control
        are found clearly less often. A numbering, which a control may share, does if it pairs records that agree.
        """
        if column not in self._unique or column not in self._original.types or not self._is_unique(column):
            return None
        original, released, both = self._overlap(self._original, column)
        if not released or both < _CARRIED_OVER * released:
            return None
        sources = self._original, self._released
        if any(_is_dense(self._numbers(source, column), self._unique[column]) for source in sources):
            others = [
                name for name in self._released.types if name in self._original.types and name not in self._not_compared
            ]
            return both / released if self._agrees(column, others[:_MOST_COLUMNS]) else None
        if self._control is not None and column in self._control.types:
            strangers, _, found = self._overlap(self._control, column)
            # A release of a sample cannot hold more of the original's values than it has rows.
            most = min(1.0, released / original)
            if strangers and both / original - found / strangers < _ABOVE_STRANGERS * most:
                return None
        return both / released

    def _values(self, source: Source, column: str, part: int = 1) -> str:
        """Return SQL for the distinct values, or one in `part` of them, each with its first row."""
        read = self._texts.kept_distinct(source, column, part)
        return f"(SELECT {as_value('text')} AS value, min(place) AS place FROM {read} GROUP BY 1)"

    def _row(self, query: str) -> tuple[Any, ...]:
        return tuple(self._con.execute(query).fetchall()[0])

    def _is_unique(self, column: str) -> bool:
        """Whether the original's values are nearly all distinct, and enough."""
        read = self._texts.kept_distinct(self._original, column, self._unique[column])
        query = f"SELECT count(*), coalesce(sum(n), 0) FROM {read}"
        distinct, cells = (int(number) for number in self._row(query))
        return cells >= LEAST_ROWS and distinct >= NEARLY_UNIQUE * cells

    def _overlap(self, other: Source, column: str) -> tuple[int, int, int]:
        """Count the distinct values of the other table, of the release, and of both, among those compared."""
        o, p = (self._values(source, column, self._unique[column]) for source in (other, self._released))
        query = (
            "SELECT count(o.place), count(p.place), count(*) FILTER (o.place IS NOT NULL AND p.place IS NOT NULL) "
            f"FROM {o} AS o FULL JOIN {p} AS p USING (value)"
        )
        in_other, in_release, in_both = (int(number) for number in self._row(query))
        return in_other, in_release, in_both

    def _numbers(self, source: Source, column: str) -> NDArray[np.float64] | None:
        """Return the compared values as sorted numbers if they are numbers, times, or numbers after one fixed text."""
        number, start = _as_number("value"), _before_number("value")
        part = self._unique[column]
        values = self._values(source, column, part)
        some = f"(SELECT text AS value FROM {self._texts.kept_distinct(source, column, part)})"
        # Check a sample first: most text columns have no number.
        for looked_at in (f"{some} WHERE hash(value) // {part} % {1 + source.rows // part // _SOME} = 0", values):
            counts = f"count({number}), count(*), min({start}) IS NOT DISTINCT FROM max({start})"
            readable, all_values, one_start = self._row(f"SELECT {counts} FROM {looked_at}")
            if readable < NEARLY_UNIQUE * all_values or not one_start:
                return None
        query = f"SELECT DISTINCT {number} AS v FROM {values} WHERE {number} IS NOT NULL"
        found: NDArray[np.float64] = np.ma.filled(self._con.sql(query).fetchnumpy()["v"], np.nan).astype(np.float64)
        return np.sort(found[np.isfinite(found)])

    def _agrees(self, column: str, others: Sequence[str]) -> bool:
        """Whether records with equal numbers are closer in the other columns than records with neighbouring numbers.

        Each original is compared with its own released record and with those of the numbers before and after. False if
        there is no other column to compare.
        """
        if not others:
            return False
        o = self._texts.rows(self._original, others, "o", "SELECT a FROM chosen")
        p = self._texts.rows(self._released, others, "p", "SELECT b FROM chosen")
        pairs = (
            f"SELECT coalesce({_as_number('value')}, 0) AS number, value, a.place AS a, b.place AS b "
            f"FROM {self._values(self._original, column)} AS a JOIN {self._values(self._released, column)} AS b "
            "USING (value)"
        )
        most = f"(SELECT greatest(0, (count(*) - {_MOST_PAIRS}) // 2) FROM pairs)"
        scores = " + ".join(_nearer(f"o{at}", f"p{at}") for at in range(len(others)))
        query = (
            f"WITH pairs AS ({pairs}), "
            f"chosen AS (SELECT * FROM pairs ORDER BY number, value LIMIT {_MOST_PAIRS} OFFSET {most}), "
            f"cells AS (SELECT * FROM chosen JOIN {o} AS x ON a = x.place JOIN {p} AS y ON b = y.place), "
            f"scores AS (SELECT ({scores}) / {len(others)} AS score, lag(a) OVER w AS before, lead(a) OVER w AS after "
            "FROM cells WINDOW w AS (ORDER BY number, value)) "
            "SELECT avg(score), stddev_samp(score), count(score) FROM scores "
            "WHERE before IS NOT NULL AND after IS NOT NULL"
        )
        mean, spread, count = self._row(query)
        if mean is None or count < LEAST_ROWS:
            return False
        return bool(mean >= _LEAST_EFFECT and mean > _ERRORS * spread / math.sqrt(count))


def _as_number(value: str) -> str:
    """Return SQL for a value's number: the value itself, a time's seconds, or the number after a text."""
    day = f"regexp_matches({value}, '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
    time = f"CASE WHEN {day} THEN epoch(TRY_CAST({value} AS TIMESTAMP)) END"
    behind = f"TRY_CAST(regexp_extract({value}, '^[^0-9]+([0-9]{{1,15}})$', 1) AS DOUBLE)"
    return f"coalesce(TRY_CAST({value} AS DOUBLE), {time}, {behind})"


def _before_number(value: str) -> str:
    """Return SQL for the text before a number that ends a value; NULL for numbers and times."""
    start = f"regexp_extract({value}, '^([^0-9]+)[0-9]{{1,15}}$', 1)"
    return f"CASE WHEN TRY_CAST({value} AS DOUBLE) IS NULL THEN nullif({start}, '') END"


def _nearer(o: str, p: str) -> str:
    """Return SQL for how much closer an original cell is to its own released cell than to the two neighbours', -1 to 1.

    Numbers are compared by distance, an interval by its first number, other texts by equality.
    """
    first = "TRY_CAST(regexp_extract({}, '-?[0-9]+([.][0-9]+)?') AS DOUBLE)"
    sides = []
    for shift in ("lag", "lead"):
        other = f"{shift}({p}) OVER w"
        away = f"abs({first.format(o)} - {first.format(other)}) - abs({first.format(o)} - {first.format(p)})"
        equal = f"coalesce({o} = {p}, false)::INTEGER - coalesce({o} = {other}, false)::INTEGER"
        sides.append(f"coalesce(sign({away}), {equal})")
    return f"({sides[0]} + {sides[1]}) / 2.0"


def _is_dense(numbers: NDArray[np.float64] | None, part: int) -> bool:
    """Whether numbers, of which one in `part` is known, fill their range like a numbering.

    They do if they take at least every third step of it, without outliers.
    """
    if numbers is None or len(numbers) < LEAST_ROWS:
        return False
    cut = len(numbers) // 50
    middle = numbers[cut : len(numbers) - cut]
    step = float(np.diff(middle).min())
    return bool((middle[-1] - middle[0]) / step + 1 <= _DENSE * part * len(middle))


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
            f"SELECT {field}, count(*) AS n, min({source.position}) AS place FROM {identifier(source.table)} {some}"
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
        rows = self._con.execute(f"SELECT {counts} FROM {identifier(source.table)}").fetchall()
        return {column: 1 + int(count) // MOST_VALUES for column, count in zip(source.types, rows[0], strict=True)}

    def kept_distinct(self, source: Source, column: str, part: int = 1) -> str:
        """Return the name of a temporary table with `distinct`, made once; `forget` drops it."""
        place = source.table, column, part
        if place not in self._kept:
            name = identifier(f"distinct texts of {source.table}: {column}, one in {part}")
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
        chosen = f"FROM {identifier(source.table)} WHERE {source.position} IN ({places})"
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
