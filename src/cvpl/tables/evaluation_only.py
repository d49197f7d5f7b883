"""Data that evaluation may read and no attacker can: true matches, groups of rows, ids and sensitive columns.

An attacker receives a `Pair`. The true matches, the rows that form one person or household, and the columns that define
subgroups or hold values to infer are kept here, separately. An import rule keeps operators, search and attack from
importing this module.

Groups of rows say which rows are one person, household or account. Rows of one group are sampled together: in
intervals, in paired differences, in a split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, LimitError, Problem, UsageError
from cvpl.tables.columns import ColumnData, ColumnSpec
from cvpl.tables.keys import components
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.connection import connect, identifier, within_memory
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, open_source

if TYPE_CHECKING:
    import duckdb


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
        sides.append(f"(SELECT {source.position} AS row, {identity} AS identity FROM {identifier(source.table)})")
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


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowGroups:
    """The group of every row of originals and control, by table; None if every row is a group of its own.

    Equal numbers mean one group, across tables too.
    """

    codes: Mapping[str, Ints] | None = None

    @property
    def is_row(self) -> bool:
        """Whether every row is a group of its own."""
        return self.codes is None

    def parted(self, stay: NDArray[np.intp], leave: NDArray[np.intp]) -> RowGroups:
        """Return the groups after a split of the originals: rows `stay` remain, rows `leave` become the control."""
        if self.codes is None:
            return self
        return RowGroups({"original": self.codes["original"][stay], "control": self.codes["original"][leave]})

    def ordered(self, order: Mapping[str, Ints]) -> RowGroups:
        """Return the groups of records that are kept in another order, given the row numbers in it."""
        if self.codes is None:
            return self
        parts = [codes[order[table]] for table, codes in self.codes.items()]
        numbers = np.split(joined_codes([np.concatenate(parts)]), np.cumsum([len(part) for part in parts])[:-1])
        return RowGroups(dict(zip(self.codes, numbers, strict=True)))


EACH_ROW = RowGroups()


def read_row_groups(
    con: duckdb.DuckDBPyConnection,
    reader: ColumnReader,
    sources: Sequence[Source],
    columns: Sequence[str],
    person: str | None = None,
) -> RowGroups:
    """Read the group of every row of every table.

    Rows belong to one group if they agree on any of `columns` or, within one table, on `person`: another table holds
    other people, who may have the same numbers. A missing value agrees with nothing, and a column that a table lacks
    joins none of its rows.
    """
    rows = np.cumsum([0, *(source.rows for source in sources)])
    found: list[Ints] = []
    for column in dict.fromkeys([*columns, *([] if person is None else [person])]):
        parts = [
            f"SELECT {at} AS side, {source.position} AS place, {reader.text(source, column)} AS name, "
            f"{0 if column in columns else at} AS apart "
            f"FROM {identifier(source.table)}"
            for at, source in enumerate(sources)
            if column in source.types
        ]
        if not parts:
            continue
        # Only values that occur more than once join rows; a unique id never leaves the database.
        together = " UNION ALL ".join(parts)
        shared = f"SELECT name, apart, row_number() OVER () AS code FROM ({together}) AS a WHERE name IS NOT NULL"
        query = (
            f"WITH shared AS ({shared} GROUP BY name, apart HAVING count(*) > 1) "
            f"SELECT side, place, code FROM ({together}) AS b JOIN shared USING (name, apart)"
        )
        bound = con.execute(query).fetchnumpy()
        if len(bound["code"]):
            codes = np.arange(rows[-1], dtype=np.int64) + len(bound["code"]) + 1
            codes[rows[bound["side"].astype(np.int64)] + bound["place"].astype(np.int64)] = bound["code"]
            found.append(codes)
    if not found:
        return EACH_ROW
    parts_of = np.split(joined_codes(found), rows[1:-1])
    return RowGroups({source.table: part for source, part in zip(sources, parts_of, strict=True)})


def joined_codes(codes: Sequence[Ints]) -> Ints:
    """Return the finest numbering, from 0, in which records that share any of the codes share a number.

    Numbers follow the first record of each group, so they depend only on which records belong together.
    """
    firsts = []
    for code in codes:
        first, inverse = np.unique(code, return_index=True, return_inverse=True)[1:]
        firsts.append(first[inverse.reshape(-1)])
    records = np.arange(len(codes[0]), dtype=np.int64)
    return components(np.tile(records, len(codes)), np.concatenate(firsts), len(records))


@dataclass(frozen=True, eq=False)
class EvaluationOnly:
    """The true matches, the groups of rows, and columns of the originals that only evaluation reads.

    `matches` is None where no match is known. `columns` holds each column for the originals and, if it has the column,
    for the control: subgroups by which rates are split. `released` holds columns of the release that no attacker
    compares: sensitive values, sampling weights, and quasi-identifiers that the originals lack. `sensitive` holds the
    sensitive columns of all tables, if it is asked what an attacker infers of them.
    """

    matches: TrueMatches | None = None
    groups: RowGroups = EACH_ROW
    columns: Mapping[str, tuple[ColumnData, ColumnData | None]] = field(default_factory=dict)
    released: Mapping[str, ColumnData] = field(default_factory=dict)
    sensitive: Mapping[str, SensitiveColumn] = field(default_factory=dict)

    def parted(self, matches: TrueMatches, stay: NDArray[np.intp], leave: NDArray[np.intp]) -> EvaluationOnly:
        """Return the data after a split of the originals: rows `stay` remain, rows `leave` become the control."""
        columns = {name: (column.take(stay), column.take(leave)) for name, (column, _) in self.columns.items()}
        sensitive = {name: column.parted(stay, leave) for name, column in self.sensitive.items()}
        return EvaluationOnly(matches, self.groups.parted(stay, leave), columns, self.released, sensitive)


Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """One sensitive column of the originals, of the release and, if it has the column, of the control."""

    original: ColumnData
    released: ColumnData
    control: ColumnData | None

    def parted(self, stay: Rows, leave: Rows) -> SensitiveColumn:
        """Return the column after a split of the originals: rows `leave` become the control."""
        return SensitiveColumn(self.original.take(stay), self.released, self.original.take(leave))

    def ordered(self, order: Mapping[str, NDArray[np.int64]]) -> SensitiveColumn:
        """Return the column of records that are kept in another order."""
        control = None if self.control is None else self.control.take(order["control"])
        return SensitiveColumn(self.original.take(order["original"]), self.released.take(order["protected"]), control)


def read_sensitive_columns(
    con: duckdb.DuckDBPyConnection, reading: Reading, sources: Sequence[Source], specs: Sequence[ColumnSpec]
) -> dict[str, SensitiveColumn]:
    """Read the columns that both original and release have.

    A column that cannot be read as its type is read as texts; one with more texts than the limit is left out.
    """
    found: dict[str, SensitiveColumn] = {}
    for spec in specs:
        if any(spec.name not in source.types for source in sources[:2]):
            continue
        there = [source for source in sources if spec.name in source.types]
        for kind in dict.fromkeys((spec.type, "category")):
            unreadable: list[Problem] = []
            reader = ColumnReader(con, reading, unreadable, [])
            try:
                columns = reader.read(ColumnSpec(spec.name, spec.role, kind, spec.separator, spec.parents), there)
            except LimitError:
                break
            if not unreadable:
                found[spec.name] = SensitiveColumn(columns[0], columns[1], columns[2] if len(columns) > 2 else None)
                break
    return found


@within_memory
def id_values(table: object, column: str, reading: Reading) -> list[str]:
    """The text of every cell of the id column, in the order of the rows; an empty text where there is none."""
    with connect() as con:
        source = open_source(con, table, "original", reading)
        if column not in source.types:
            raise UsageError(
                "the ids of the originals are asked for, and no column of theirs is declared as id. Declare one with "
                "`role: id`, or leave out --per-person-id (in Python per_person_id=True)."
            )
        text = f"coalesce(CAST({source.field(column)} AS VARCHAR), '')"
        found = con.execute(f"SELECT {text} FROM {identifier(source.table)} ORDER BY {source.position}").fetchall()
        source.check_unchanged()
    return [str(cell) for (cell,) in found]
