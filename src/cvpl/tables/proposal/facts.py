"""What a proposal looks at: counts of each column, over all rows of a small table or a sample of a large one.

Counts come from all rows: DuckDB makes
them. Labels are parsed one by one, so of a column with very many only some are looked at: those of the sampled rows,
and every label of a form that the sample may lack. No guess thus depends on the rows that happen to be in the sample
alone: one text among a million numbers is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.result.publishing import Disclosure
from cvpl.tables.keys import mix_bits
from cvpl.tables.meaning.labels import find_respellings
from cvpl.tables.meaning.protected_values import SUPPRESSED_WORDS, possible_orders
from cvpl.tables.meaning.reading import PLAIN_NUMBER, PLAIN_TIME, ColumnReader
from cvpl.tables.source.connection import identifier, literal
from cvpl.tables.source.source import Source
from cvpl.wording import percent

if TYPE_CHECKING:
    import duckdb


Rows = NDArray[np.int64]
SpelledSql = Callable[[str], str]
"""Respells the SQL of a text."""

_TELLING = 0.2
_ERRORS = 5


@dataclass(frozen=True, eq=False)
class Facts:
    """A column in one table: the sorted labels that are looked at, and the counts of the whole table.

    `codes` has each looked-at row's index into the labels, -1 where it is missing. `counts` says how many cells have
    each label, `known` how many are not missing, `distinct` how many labels there are.
    """

    codes: NDArray[np.int32]
    labels: tuple[str, ...]
    counts: NDArray[np.int64]
    rows: int
    known: int
    distinct: int

    @property
    def complete(self) -> bool:
        """Whether all labels of the table are looked at."""
        return self.distinct == len(self.labels)

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        return self.rows - self.known

    def count(self, labels: Collection[str]) -> int:
        """Count the cells with one of these labels."""
        wanted = set(labels)
        return int(sum(count for label, count in zip(self.labels, self.counts, strict=True) if label in wanted))

    def without(self, labels: Collection[str]) -> Facts:
        """The same column with these labels read as missing."""
        wanted = set(labels)
        gone = np.array([label in wanted for label in self.labels], dtype=bool)
        places = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)
        return Facts(
            places[self.codes].astype(np.int32),
            tuple(label for label in self.labels if label not in wanted),
            self.counts[~gone],
            self.rows,
            self.known - int(self.counts[gone].sum()),
            self.distinct - int(gone.sum()),
        )

    def spelled_like(self, other: Facts) -> Facts:
        """Return the column with whole numbers spelled as in the other table, as reading does."""
        return self.renamed(find_respellings(self.labels, other.labels).meant)

    def renamed(self, meant: Mapping[str, str]) -> Facts:
        """Return the column with some labels spelled in another way; equal ones become one."""
        if all(label == other for label, other in meant.items()):
            return self
        labels = tuple(sorted({meant.get(label, label) for label in self.labels}))
        place = {label: code for code, label in enumerate(labels)}
        places = np.array([*(place[meant.get(label, label)] for label in self.labels), -1], dtype=np.int32)
        counts = np.bincount(places[:-1], self.counts, len(labels)).astype(np.int64)
        distinct = self.distinct - len(self.labels) + len(labels)
        return Facts(places[self.codes], labels, counts, self.rows, self.known, distinct)

    def frequencies(self) -> tuple[dict[str, int], int, int]:
        """Return how many cells have each label, how many are missing, and their sum.

        They are those of the whole table, or of the rows looked at if not all labels are.
        """
        if self.complete:
            return dict(zip(self.labels, self.counts.tolist(), strict=True)), self.missing, self.rows
        counts = np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels))
        found = dict(zip(self.labels, counts.tolist(), strict=True))
        return found, len(self.codes) - int(counts.sum()), len(self.codes)


@dataclass(frozen=True, eq=False)
class SharedColumn:
    """A column that both tables have.

    `count_shared` counts the labels that both tables have where not all are looked at; `spelled` are functions that
    respell SQL for it.
    """

    name: str
    original: Facts
    released: Facts
    count_shared: Callable[[Sequence[SpelledSql]], int] | None = None
    spelled: tuple[SpelledSql, ...] = ()

    @cached_property
    def shared(self) -> int:
        """The number of labels that both tables have."""
        if self.count_shared is not None:
            return self.count_shared(self.spelled)
        return len(set(self.original.labels) & set(self.released.labels))

    @cached_property
    def labels(self) -> set[str]:
        """All labels of both tables that are looked at."""
        return {*self.original.labels, *self.released.labels}

    @property
    def unique(self) -> bool:
        """Whether every original record has a value of its own."""
        return self.original.distinct == self.original.rows > 1

    def without(self, labels: Collection[str]) -> SharedColumn:
        """The same column with these labels read as missing."""
        if self.labels.isdisjoint(labels):
            return self
        return replace(self, original=self.original.without(labels), released=self.released.without(labels))

    def renamed(self, original: Facts, released: Facts, spelled: SpelledSql) -> SharedColumn:
        """Return the column with its labels spelled in another way; `spelled` does the same in SQL."""
        if original is self.original and released is self.released:
            return self
        return replace(self, original=original, released=released, spelled=(*self.spelled, spelled))

    def spelled_alike(self) -> SharedColumn:
        """Return the column with whole numbers spelled as in the original."""
        return self.renamed(self.original, self.released.spelled_like(self.original), _whole_sql)

    def agreement(self) -> float:
        """Return the share of the pairs of rows looked at whose cells are equal."""
        place = {label: code for code, label in enumerate(self.original.labels)}
        # A label that the original lacks is -2; the last entry is for missing values, whose code is -1.
        translated = np.array([*(place.get(label, -2) for label in self.released.labels), -1])
        return float(np.mean(self.original.codes == translated[self.released.codes]))

    def chance(self) -> float:
        """Return the share of all pairs of an original and a released cell that are equal."""
        original, original_missing, original_rows = self.original.frequencies()
        released, released_missing, released_rows = self.released.frequencies()
        equal = sum(original.get(label, 0) * count for label, count in released.items())
        equal += original_missing * released_missing
        return float(equal / (original_rows * released_rows))


def _whole_sql(text: str) -> str:
    """Return SQL that writes a whole number without decimals."""
    return f"regexp_replace({text}, '^(-?[0-9]+)[.]0+$', '\\1')"


@dataclass(frozen=True)
class RecordAgreement:
    """How often cells are equal in the paired records, and in any two records; `pairs` are looked at, of `of`."""

    paired: float
    chance: float
    pairs: int
    of: int

    @property
    def telling(self) -> bool:
        """Whether agreement is at least a fifth of the way from chance to equality, and not due to a few rows."""
        above = self.paired - self.chance
        error = math.sqrt(self.chance * (1 - self.chance) / self.pairs)
        return above >= _TELLING * (1 - self.chance) and above > _ERRORS * error

    def describe(self, disclosure: Disclosure) -> str:
        """How far the records agree, rounded."""
        among = disclosure.with_sizes(sampled=self.pairs)
        paired, chance = (percent(among.share(share, "sampled")) for share in (self.paired, self.chance))
        some = describe_sample(self.pairs, self.of, disclosure)
        return f"their records agree on {paired} of the cells, any two records on {chance}{some}"


def describe_sample(pairs: int, of: int, disclosure: Disclosure) -> str:
    """Say how many of the pairs are looked at, if not all."""
    return f" ({pairs:,} of {disclosure.count_phrase(of, 'pair')} looked at)" if pairs < of else ""


def agreement(columns: Sequence[SharedColumn], of: int) -> RecordAgreement | None:
    """Measure the agreement of the pairs of rows looked at over all `columns`; None if there is nothing to compare.

    `of` is the number of all pairs.
    """
    if not columns or not of:
        return None
    paired = [column.agreement() for column in columns]
    chance = [column.chance() for column in columns]
    return RecordAgreement(float(np.mean(paired)), float(np.mean(chance)), len(columns[0].original.codes), of)


MOST_ROWS = 10_000
"""The number of rows, or pairs of rows, that are looked at; also the most labels of which all are."""
_MOST_FORMS = 1_000
"""A column with more forms of labels among its sampled ones holds free text."""
_SEPARATORS = ("/", "|", ">")
_DAY_AND_MONTH = "^[0-9]{1,2}[/.-][0-9]{1,2}[/.-]"
_IS_NUMBER = f"regexp_full_match(label, {literal(PLAIN_NUMBER)})"
_IS_TIME = (
    f"CASE WHEN regexp_full_match(label, {literal(PLAIN_TIME)}) THEN TRY_CAST(label AS TIMESTAMP) IS NOT NULL "
    "ELSE false END"
)
_DIGITS = str.maketrans("0123456789", "9999999999")


def sample_places(count: int) -> Rows:
    """Return the sorted places of at most `MOST_ROWS` of so many rows, the same ones in every run.

    They are chosen by a hash: a fixed step would see one year only of a table with a row for each person and year.
    """
    places = np.arange(count, dtype=np.int64)
    if count <= MOST_ROWS:
        return places
    return np.sort(np.argsort(mix_bits(places.astype(np.uint64)), kind="stable")[:MOST_ROWS])


@dataclass(frozen=True)
class _ColumnLabels:
    """A column of one table: all its labels with their counts, or the DuckDB table that has them if there are many."""

    distinct: int
    known: int
    counts: Mapping[str, int] | None
    table: str


class SampledTables:
    """Two opened tables: the counts of their columns, and the cells of the rows to look at.

    `gaps` are spellings of a missing value, which are always looked at.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, reader: ColumnReader, sources: Sequence[Source], gaps: Sequence[str]
    ) -> None:
        self._con = con
        self._reader = reader
        self._sources = sources
        self._rare: dict[str, set[str]] = {}
        self._always = {*gaps, *SUPPRESSED_WORDS}
        self.names = [name for name in sources[0].types if name in sources[1].types]
        self._counted = {
            name: [self._count(source, name, f"labels {side} {number}") for side, source in enumerate(sources)]
            for number, name in enumerate(self.names)
        }

    def columns(self, original: Rows, released: Rows) -> dict[str, SharedColumn]:
        """Return the columns of both tables, with the cells of these rows: at most `MOST_ROWS` in each table."""
        cells = [self._cells(source, rows) for source, rows in zip(self._sources, (original, released), strict=True)]
        return {name: self._column(name, [side[name] for side in cells]) for name in self.names}

    def whole_numbers(self, column: str) -> Rows | None:
        """Return every cell of a column of the release as a whole number, or None if one is missing or another text."""
        source = self._sources[1]
        text = self._reader.text(source, column)
        table = identifier(source.table)
        plain = f"coalesce(bool_and(coalesce(regexp_full_match({text}, '[0-9]{{1,17}}'), false)), false)"
        if not self._con.execute(f"SELECT {plain} FROM {table}").fetchall()[0][0]:
            return None
        found = self._con.sql(f"SELECT ({text})::BIGINT AS v FROM {table} ORDER BY {source.position}").fetchnumpy()
        return np.ma.filled(found["v"], -1).astype(np.int64)

    def distinct(self, column: str) -> int:
        """Count the different labels of a column of the release."""
        source = self._sources[1]
        query = f"SELECT count(DISTINCT {self._reader.text(source, column)}) FROM {identifier(source.table)}"
        return int(self._con.execute(query).fetchall()[0][0])

    def _count(self, source: Source, column: str, table: str) -> _ColumnLabels:
        text = self._reader.text(source, column)
        where = f"FROM {identifier(source.table)} WHERE {text} IS NOT NULL"
        count = f"SELECT {text} AS label, count(*) AS cells {where} GROUP BY 1"
        if max(item.rows for item in self._sources) <= MOST_ROWS:
            # All labels are looked at, so no table of them is asked again.
            counts = {str(label): int(cells) for label, cells in self._con.execute(count).fetchall()}
            return _ColumnLabels(len(counts), sum(counts.values()), counts, table)
        self._con.execute(f"CREATE TEMP TABLE {identifier(table)} AS {count}")
        query = f"SELECT count(*), coalesce(sum(cells), 0) FROM {identifier(table)}"
        distinct, known = self._con.execute(query).fetchall()[0]
        if source.rows > MOST_ROWS and distinct > MOST_ROWS:
            return _ColumnLabels(int(distinct), int(known), None, table)
        rows = self._con.execute(f"SELECT label, cells FROM {identifier(table)}").fetchall()
        return _ColumnLabels(int(distinct), int(known), {str(label): int(cells) for label, cells in rows}, table)

    def _cells(self, source: Source, rows: Rows) -> dict[str, list[str | None]]:
        """Return the texts of these rows by column, None where a cell is missing."""
        view = f"{source.table} rows"
        self._con.register(view, {"place": np.arange(len(rows)), "row": np.asarray(rows, dtype=np.int64)})
        texts = ", ".join(f"{self._reader.text(source, name)} AS t{at}" for at, name in enumerate(self.names))
        found = self._con.sql(
            f"SELECT {texts} FROM {identifier(view)} AS wanted JOIN {identifier(source.table)} AS held "
            f"ON held.{source.position} = wanted.row ORDER BY wanted.place"
        ).fetchnumpy()
        self._con.unregister(view)
        return {name: _texts(found[f"t{at}"]) for at, name in enumerate(self.names)}

    def _column(self, name: str, cells: Sequence[list[str | None]]) -> SharedColumn:
        counted = self._counted[name]
        seen = [self._labels(side, texts) for side, texts in zip(counted, cells, strict=True)]
        counts = [side.counts or {} for side in counted]
        for side in (0, 1):
            if counted[side].counts is None:
                # Whether a label of the other table is in this one must not depend on the sample.
                also = {spelled for label in seen[1 - side] for spelled in (label, *_whole_number_spellings(label))}
                counts[side] = self._counts(counted[side].table, seen[side] | also)
        facts = [_facts(self._sources[side].rows, counted[side], counts[side], cells[side]) for side in (0, 1)]
        return SharedColumn(
            name, facts[0], facts[1], None if all(side.complete for side in facts) else self._shared(name)
        )

    def _labels(self, counted: _ColumnLabels, cells: list[str | None]) -> set[str]:
        """Return all labels of a column, or of very many those to look at."""
        if counted.counts is not None:
            return set(counted.counts)
        seen = {cell for cell in cells if cell is not None}
        if counted.table not in self._rare:
            self._rare[counted.table] = self._rare_labels(counted.table, seen)
        return seen | self._rare[counted.table]

    def _rare_labels(self, table: str, seen: set[str]) -> set[str]:
        """Return labels that decide a guess, wherever they are: the sample (`seen`) may lack them.

        They are spellings of a missing value, suppressed labels, labels without a separator of levels that all others
        have; the least and the greatest number, a number with leading zeros and one with decimals; and labels of every
        form other than numbers and times.
        """
        listed = ", ".join(literal(text) for text in sorted(self._always))
        stars = "(starts_with(label, '*') AND trim(label, '*') = '')"
        found = self._fetch(f"SELECT label FROM {identifier(table)} WHERE label IN ({listed}) OR {stars}")
        for sign in _SEPARATORS:
            if all(sign in label for label in seen):
                flat = f"NOT contains(trim(label, '{sign}'), '{sign}')"
                found |= self._fetch(f"SELECT min(label) FROM {identifier(table)} WHERE {flat}")
        if all(label[:1].isalpha() for label in seen):
            return found
        found |= self._fetch(
            "SELECT min({v: number, label: label}).label, max({v: number, label: label}).label, "
            "min(label) FILTER (WHERE regexp_full_match(label, '0[0-9]+')), "
            "min(label) FILTER (WHERE number <> trunc(number)), min(label) FILTER (WHERE isinf(number)) "
            f"FROM (SELECT label, TRY_CAST(label AS DOUBLE) AS number FROM {identifier(table)} WHERE {_IS_NUMBER})"
        )
        return found if len({_form(label) for label in seen}) > _MOST_FORMS else found | self._of_each_form(table, seen)

    def _of_each_form(self, table: str, seen: set[str]) -> set[str]:
        """Return labels of every form, other than plain numbers and times; digits are alike."""
        form = ["translate(label, '0123456789', '9999999999')"]
        if any(possible_orders(label) for label in seen):
            form.append(f"regexp_extract(label, '{_DAY_AND_MONTH}')")
        return self._fetch(
            f"SELECT min(label), max(label) FROM {identifier(table)} WHERE NOT {_IS_NUMBER} AND NOT {_IS_TIME} "
            f"GROUP BY {', '.join(form)} ORDER BY ALL LIMIT {MOST_ROWS}"
        )

    def _fetch(self, query: str) -> set[str]:
        """Return all texts that a query finds."""
        return {str(label) for row in self._con.execute(query).fetchall() for label in row if label is not None}

    def _counts(self, table: str, wanted: set[str]) -> dict[str, int]:
        """Return the wanted labels that the table has, with their counts."""
        self._con.execute("CREATE TEMP TABLE wanted AS SELECT unnest(?::VARCHAR[]) AS label", [sorted(wanted)])
        rows = self._con.execute(
            f"SELECT label, cells FROM {identifier(table)} SEMI JOIN wanted USING (label)"
        ).fetchall()
        self._con.execute("DROP TABLE wanted")
        return {str(label): int(cells) for label, cells in rows}

    def _shared(self, name: str) -> Callable[[Sequence[Callable[[str], str]]], int]:
        """Return how to count the labels that both tables have, each respelled by the SQL of some functions."""

        def count(spellings: Sequence[Callable[[str], str]]) -> int:
            sides = []
            for counted in self._counted[name]:
                text = "label"
                for spelling in spellings:
                    text = spelling(text)
                only = "DISTINCT" if spellings else ""
                sides.append(f"SELECT {only} {text} AS label FROM {identifier(counted.table)}")
            query = f"SELECT count(*) FROM ({sides[0]}) SEMI JOIN ({sides[1]}) USING (label)"
            return int(self._con.execute(query).fetchall()[0][0])

        return count


def _facts(rows: int, counted: _ColumnLabels, counts: Mapping[str, int], texts: list[str | None]) -> Facts:
    labels = tuple(sorted(counts))
    place = {label: code for code, label in enumerate(labels)}
    codes = np.array([-1 if text is None else place[text] for text in texts], dtype=np.int32)
    cells = np.array([counts[label] for label in labels], dtype=np.int64)
    return Facts(codes, labels, cells, rows, counted.known, counted.distinct)


def _form(label: str) -> str:
    return label.translate(_DIGITS)


def _texts(cells: Any) -> list[str | None]:
    """Return what DuckDB fetched, None where it had NULL."""
    gone = np.ma.getmaskarray(cells)
    return [None if missing else str(cell) for cell, missing in zip(np.ma.getdata(cells), gone, strict=True)]


def _whole_number_spellings(label: str) -> tuple[str, ...]:
    """Return other spellings of a whole number: 1 and 1.0."""
    whole = label.rstrip("0").removesuffix(".") if "." in label else label
    return (whole, f"{whole}.0") if whole.lstrip("-").isdecimal() else ()
