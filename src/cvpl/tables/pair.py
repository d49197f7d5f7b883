"""Read and check two tables (and a control) as a pair, and report all problems at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, LimitError, Problem
from cvpl.tables.columns import ColumnData, Columns, ColumnSpec, Fetch, Labels, MeasuredNotice, Pair, Place, Table
from cvpl.tables.evaluation_only import (
    ROW_NUMBER,
    EvaluationOnly,
    IdentityKeys,
    RowGroups,
    TrueMatches,
    is_position,
    read_matches,
    read_row_groups,
    read_sensitive_columns,
)
from cvpl.tables.meaning.labels import allowed_labels
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.connection import connect, within_memory
from cvpl.tables.source.dialect import guess_dialect, other_separators
from cvpl.tables.source.reading_settings import Reading, damaged_parquet, disk_trouble
from cvpl.tables.source.source import OwnParquet, Source, display_name, is_whole, open_source
from cvpl.tables.whole_table import WholeTableFacts, whole_table_facts
from cvpl.wording import did_you_mean, nearest_name

if TYPE_CHECKING:
    import duckdb


_DUCKDB_SHARE = 2
LEAST_MEMORY = 192 << 20
"""DuckDB cannot read a CSV file with much less memory, ..."""
_THREAD = 96 << 20
"""... and each of its threads uses about this much."""


@dataclass(frozen=True)
class InputDescription:
    """The description of an input in a result: its name, size and, for a file, the SHA-256 of its bytes."""

    name: str
    rows: int
    columns: int
    sha256: str | None


@dataclass(frozen=True, eq=False)
class Inputs:
    """The tables as read: the pair for the attacker and, separately, the data that only evaluation reads.

    `order` has the row numbers in the files, where records are kept in another order (`record_order`). Tables in a
    cluster have rows in no order: then `rows_have_order` is False, and `order` is empty.
    """

    pair: Pair
    evaluation: EvaluationOnly
    descriptions: dict[str, InputDescription]
    whole: WholeTableFacts
    order: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    rows_have_order: bool = True


@within_memory
def read_inputs(
    original: object,
    protected: object,
    specs: Sequence[ColumnSpec],
    *,
    control: object | None = None,
    reading: Reading | None = None,
    identity: IdentityKeys | None = None,
    declared: Sequence[str] = (),
    groups: Sequence[str] = (),
    subgroups: Sequence[ColumnSpec] = (),
    sensitive: Sequence[ColumnSpec] = (),
    weights: ColumnSpec | None = None,
    equal_rows: bool = True,
    checks: bool = True,
    inferred: Sequence[ColumnSpec] = (),
    memory: int | None = None,
    threads: int | None = None,
    place: Callable[[Mapping[str, int]], Place] | None = None,
) -> Inputs:
    """Read and check the tables.

    `memory` bounds what DuckDB may hold, in bytes; what does not fit raises LimitError. `threads` bounds its threads.
    `place` gets the number of records of each table before any column is read, and says where columns are kept, or
    refuses.

    `specs` are the columns to compare; `declared` names all columns of the configuration, so that undeclared ones can
    be reported. `groups` names columns whose equal values put rows in one unit (a household, an account); the identity
    of the originals does the same. `subgroups` are columns by which rates are split. `sensitive` columns and the
    sampling `weights` are read of the release, for its formal criteria; `inferred` of all tables, to ask what is
    inferred of them. `equal_rows` asks for the keys by which equal rows are found, `checks` for what only the checks
    before an attack need: columns that identify people, and the keys of rows that both tables share. A declared column
    that one table lacks is left out with a notice; one that both lack is a problem, as are unreadable cells. Raises
    InputError with every problem of every file.
    """
    import duckdb  # noqa: PLC0415 - loaded when a table is

    reading = reading or Reading()
    problems: list[Problem] = []
    with connect() as con:
        if memory is not None:
            _limit(con, memory, threads)
        tables = {"original": original, "protected": protected} | ({} if control is None else {"control": control})
        named = [*declared, *(spec.name for spec in specs)]
        sources = open_all(con, tables, reading, problems, named)
        where = Place()
        if place is not None and not problems:
            where = place({source.table: source.rows for source in sources})
        places = [where.new_storage() for _ in sources]
        notices, measured = list[str](), list[MeasuredNotice]()
        reader = ColumnReader(con, reading, problems, measured)
        if problems:
            # A file cannot be opened; check the cells of the others anyway.
            for spec in specs:
                if there := [source for source in sources if spec.name in source.types]:
                    reader.read(spec, there)
            raise InputError(problems)
        kept = in_every_table(specs, sources, named, problems, notices)
        notices.extend(undeclared(sources, named))
        notices.extend(nowhere(sources, declared, specs, identity))
        try:
            read = {spec.name: _put(reader.read(spec, sources), places) for spec in kept}
            matches = _matches(con, reader, sources, identity, problems, notices, named)
            unit = _unit(con, reader, sources, identity, groups)
            columns = _evaluation_columns(ColumnReader(con, reading, problems, []), sources, subgroups, problems, named)
            released = released_columns(con, reading, sources[1], sensitive, weights, problems)
            hidden = read_sensitive_columns(con, reading, sources, inferred)
            matched = matches is not None and len(matches.original) > 0
            whole = WholeTableFacts()
            if not problems:
                equal = [*specs, *sensitive] if equal_rows else []
                whole = whole_table_facts(
                    con, sources, reading, specs, identity, matched=matched, equal=equal, checks=checks, threads=threads
                )
        except duckdb.Error as error:
            _refuse(con, sources, error)
        problems = _changed(sources) or [*problems, *_no_control(sources)]
        if problems:
            raise InputError(problems)
        empty = without_values(kept, sources, read, notices)
        kept = [spec for spec in kept if spec.name not in empty]
        texts = free_texts(kept, read, notices)
        kept = [spec for spec in kept if spec.name not in texts]
        whole = replace(whole, unmatched=tuple(sorted(texts)))
        # What the originals lack still tells released records apart.
        released |= _released_alone(con, reading, sources[1], specs, kept)
    read_tables = [
        Table(source.table, source.rows, tuple(kept), Columns({spec.name: read[spec.name][at] for spec in kept}), where)
        for at, (source, where) in enumerate(zip(sources, places, strict=True))
    ]
    return Inputs(
        Pair(
            read_tables[0],
            read_tables[1],
            read_tables[2] if control is not None else None,
            tuple(notices),
            tuple(measured),
        ),
        EvaluationOnly(matches, unit, columns, released, hidden),
        _descriptions(tables, sources),
        whole,
        rows_have_order=not any(isinstance(table, OwnParquet) for table in tables.values()),
    )


def _limit(con: duckdb.DuckDBPyConnection, memory: int, threads: int | None) -> None:
    """Leave DuckDB a share of the memory, and as many threads as that share feeds."""
    limit = max(LEAST_MEMORY, memory // _DUCKDB_SHARE)
    con.execute(f"SET memory_limit = '{limit >> 20}MiB'")
    con.execute(f"SET threads = {max(1, min(threads or os.cpu_count() or 1, limit // _THREAD))}")


def _refuse(con: duckdb.DuckDBPyConnection, sources: Sequence[Source], error: duckdb.Error) -> NoReturn:
    """Raise what DuckDB's error says of the tables: they changed, are damaged, or the disk failed; else the error.

    Parquet is read column by column, so a damaged one may show itself only while columns are read.
    """
    import duckdb  # noqa: PLC0415 - loaded when a table is

    if isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException):
        raise error
    problems = _changed(sources) or [damaged_parquet(source.name) for source in sources if not is_whole(con, source)]
    if problems:
        raise InputError(problems) from None
    if isinstance(error, duckdb.IOException):
        raise disk_trouble("the tables") from None
    raise error


def _changed(sources: Sequence[Source]) -> list[Problem]:
    """The files that changed since they were opened."""
    found = (None if source.state is None else source.state.changed() for source in sources)
    return [problem for problem in found if problem is not None]


def _descriptions(tables: Mapping[str, object], sources: Sequence[Source]) -> dict[str, InputDescription]:
    """Describe each input for the result."""
    return {
        source.table: InputDescription(
            display_name(tables[source.table], source.table), source.rows, len(source.types), source.fingerprint
        )
        for source in sources
    }


def open_all(
    con: duckdb.DuckDBPyConnection,
    tables: Mapping[str, object],
    reading: Reading,
    problems: list[Problem],
    declared: Sequence[str] = (),
) -> list[Source]:
    """Open the tables, and add the problems of those that cannot be opened to `problems`.

    Messages name a file, and if two have the same name also its role in the audit. With the `declared` columns, a file
    that is separated by another character is one problem.
    """
    separated = other_separators(tables, reading, declared)
    names = [display_name(data, role) for role, data in tables.items()]
    sources = []
    for (role, data), name in zip(tables.items(), names, strict=True):
        text = f"{name} ({role})" if names.count(name) > 1 else name
        if role in separated:
            problems.append(replace(separated[role], where=text))
            continue
        try:
            sources.append(open_source(con, data, role, reading, text))
        except InputError as error:
            problems.extend(error.problems)
    return sources


def _put(columns: Sequence[ColumnData], places: Sequence[Place]) -> list[Fetch]:
    """Store one column of every table in its table's storage."""
    return [place.put(column) for column, place in zip(columns, places, strict=True)]


def _no_control(sources: Sequence[Source]) -> list[Problem]:
    """Report a control that is one of the other two tables: it must hold people who are not in the release."""
    same = [
        source.table
        for source in sources[:2]
        if len(sources) == 3 and source.fingerprint is not None and source.fingerprint == sources[2].fingerprint
    ]
    cure = "Pass people who are known to be absent from the release, set aside before it was made."
    return [Problem(sources[2].name, f"the control is the same file as the {table} table", cure) for table in same[:1]]


def _matches(
    con: duckdb.DuckDBPyConnection,
    reader: ColumnReader,
    sources: Sequence[Source],
    identity: IdentityKeys | None,
    problems: list[Problem],
    notices: list[str],
    declared: Sequence[str],
) -> TrueMatches | None:
    if identity is None:
        return None
    original, protected = sources[:2]
    absent = [
        (source, key)
        for source, key in ((original, identity.original), (protected, identity.protected))
        if key not in source.types and not is_position(source, key)
    ]
    if absent:
        for source, key in absent:
            notices.append(
                f"column '{key}', which identifies people, is absent from {source.name}: matches are unknown"
                + (
                    f"; {question[0].lower()}{question[1:]}"
                    if (question := did_you_mean(key, names_of(source, declared)))
                    else ""
                )
            )
        return None
    for source, key in ((original, identity.original), (protected, identity.protected)):
        if key == ROW_NUMBER and key in source.types:
            notices.append(f"truth is read from the column '{ROW_NUMBER}' of {source.name}, not from the position")
    try:
        return read_matches(con, reader, original, protected, identity)
    except InputError as error:
        problems.extend(error.problems)
        return None


def _evaluation_columns(
    reader: ColumnReader,
    sources: Sequence[Source],
    specs: Sequence[ColumnSpec],
    problems: list[Problem],
    declared: Sequence[str],
) -> dict[str, tuple[ColumnData, ColumnData | None]]:
    """Read the columns that only evaluation uses; the release need not have them."""
    found: dict[str, tuple[ColumnData, ColumnData | None]] = {}
    for spec in specs:
        there = [source for source in sources if source.table != "protected" and spec.name in source.types]
        if not there or there[0].table != "original":
            cure = "Name columns of the original table under `report.subgroups`."
            cure = f"{did_you_mean(spec.name, names_of(sources[0], declared))} {cure}".lstrip()
            problems.append(Problem(sources[0].name, "the table lacks this subgroup column", cure, spec.name))
            continue
        columns = reader.read(spec, there)
        found[spec.name] = columns[0], columns[1] if len(columns) > 1 else None
    return found


def _released_alone(
    con: duckdb.DuckDBPyConnection,
    reading: Reading,
    released: Source,
    specs: Sequence[ColumnSpec],
    kept: Sequence[ColumnSpec],
) -> dict[str, ColumnData]:
    """Read the quasi-identifiers of the release that are left out of the comparison."""
    alone = [spec for spec in specs if spec.role == "quasi_identifier" and spec not in kept]
    return released_columns(con, reading, released, alone, None, [])


def _unit(
    con: duckdb.DuckDBPyConnection,
    reader: ColumnReader,
    sources: Sequence[Source],
    identity: IdentityKeys | None,
    columns: Sequence[str],
) -> RowGroups:
    """Read the unit at risk of originals and control; rows of the release are never sampled."""
    drawn = [source for source in sources if source.table != "protected"]
    person = None if identity is None or is_position(sources[0], identity.original) else identity.original
    return read_row_groups(con, reader, drawn, columns, person)


@within_memory
def check_files(*tables: object | None) -> list[Problem]:
    """Find the problems of the files themselves, if there is no usable configuration to read them with."""
    problems: list[Problem] = []
    with connect() as con:
        for number, data in enumerate(tables):
            if isinstance(data, str | Path):
                try:
                    open_source(con, data, f"table {number}", guess_dialect(Path(data)).reading)
                except InputError as error:
                    problems.extend(error.problems)
                except LimitError:
                    # The configuration may raise the limit, once it can be used.
                    continue
    return problems


_FEW_COLUMNS = 3
"""Up to this many columns have a problem of their own."""
MANY_TEXTS = 200_000
"""A column with fewer labels is compared, whatever they are: texts by their words."""
_OWN_TEXT = 0.9
"""The least share of labels among the cells of a column that holds free text."""
_RENAMED = 0.8
"""How alike the names must be to ask whether a table has a column under another name."""


def in_every_table(
    specs: Sequence[ColumnSpec],
    sources: Sequence[Source],
    declared: Sequence[str],
    problems: list[Problem],
    notices: list[str],
) -> list[ColumnSpec]:
    """The columns that every table has. Those that some tables lack are left out, with one notice for each such table.

    Columns that no table has are a problem, perhaps a misspelled name. `declared` are the names that are settled, so
    that none of them is proposed for another.
    """
    lacking: dict[tuple[str, ...], list[str]] = {}
    for spec in specs:
        lacking.setdefault(tuple(item.name for item in sources if spec.name not in item.types), []).append(spec.name)
    free = {item.name: names_of(item, declared) for item in sources}
    for tables, names in lacking.items():
        if len(tables) == len(sources):
            problems.extend(_in_no_table(names, [name for others in free.values() for name in others]))
        elif tables:
            what = f"{_columns(names)} absent from {' and '.join(tables)} and left out of the comparison"
            notices.append(what + _rename_hint(names, [name for table in tables for name in free[table]]))
    return [spec for spec in specs if all(spec.name in source.types for source in sources)]


def names_of(source: Source, declared: Sequence[str]) -> list[str]:
    """The undeclared columns of a table, as proposals for misspelled names.

    None if it has no declared column: the file may lack a header, and its "names" are then cells.
    """
    others = [name for name in source.types if name not in declared]
    return others if len(others) < len(source.types) else []


def _in_no_table(names: Sequence[str], free: Sequence[str]) -> list[Problem]:
    """One problem for a few columns each, or one for many; each name with the nearest column of the tables."""
    cure = "Correct the name, or remove the column from the configuration."
    if len(names) <= _FEW_COLUMNS:
        return [
            Problem("configuration", "no table has this column", f"{did_you_mean(name, free)} {cure}".lstrip(), name)
            for name in names
        ]
    hints = [f"`{name}`: did you mean `{near}`?" for name in names if (near := nearest_name(name, free)) is not None]
    listed = ", ".join(f"'{name}'" for name in names)
    cure = "Correct the names, or remove the columns from the configuration."
    return [Problem("configuration", f"no table has the columns {listed}", " ".join([*hints, cure]))]


def _rename_hint(names: Sequence[str], free: Sequence[str]) -> str:
    """The columns that a table may have under another name."""
    hints = [f"'{near}' for '{name}'" for name in names if (near := nearest_name(name, free, _RENAMED)) is not None]
    return f"; did it get another name? It has {', '.join(hints)}" if hints else ""


def _columns(names: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"column {listed} is" if len(names) == 1 else f"columns {listed} are"


def without_values(
    specs: Sequence[ColumnSpec], sources: Sequence[Source], read: Mapping[str, Sequence[Fetch]], notices: list[str]
) -> set[str]:
    """The columns that one of the two tables suppresses fully; they are left out, like missing ones."""
    empty: dict[tuple[str, ...], list[str]] = {}
    for spec in specs:
        pairs = zip(sources[:2], read[spec.name][:2], strict=True)
        if tables := tuple(source.name for source, fetch in pairs if not fetch().known().any()):
            empty.setdefault(tables, []).append(spec.name)
    for tables, names in empty.items():
        listed = ", ".join(f"'{name}'" for name in names)
        one = len(names) == 1
        notices.append(
            f"column{'' if one else 's'} {listed} {'has' if one else 'have'} no value in {' and '.join(tables)} and "
            f"{'is' if one else 'are'} left out of the comparison"
        )
    return {name for names in empty.values() for name in names}


def free_texts(specs: Sequence[ColumnSpec], read: Mapping[str, Sequence[Fetch]], notices: list[str]) -> set[str]:
    """The categories of which nearly every cell is a text of its own, and no text is in both tables.

    No attacker can use them, but each text would be a label to compare, so they are left out; unless nothing else is
    compared.
    """
    found = [spec.name for spec in specs if spec.type == "category" and _is_free_text(spec, read[spec.name])]
    if not found or len(found) == len(specs):
        return set()
    listed = ", ".join(f"'{name}'" for name in found)
    one = len(found) == 1
    notices.append(
        f"column{'' if one else 's'} {listed} {'has' if one else 'have'} another text in nearly every record, and no "
        f"text is in both tables. No attacker can match {'it' if one else 'them'}, so {'it is' if one else 'they are'} "
        "left out of the comparison; if the text says something about people, make columns of what it says"
    )
    return set(found)


def _is_free_text(spec: ColumnSpec, read: Sequence[Fetch]) -> bool:
    used = []
    for fetch in read[:2]:
        column = fetch()
        counts = column.counts()
        texts = int(np.count_nonzero(counts))
        if texts < MANY_TEXTS or texts < _OWN_TEXT * int(counts.sum()):
            return False
        used.append((column.label_texts(), counts > 0))
    (labels, ours), (_, theirs) = used
    if spec.parents is not None or spec.separator is not None or bool(np.any(ours & theirs)):
        return False
    # A set or a mask of the release may allow a text of the original.
    allowed = allowed_labels(spec, labels)
    place = {label: code for code, label in enumerate(labels)}
    known = {at for at, leaf in enumerate(allowed.leaves) if leaf in place and ours[place[leaf]]}
    return all(known.isdisjoint(allowed.members[code]) for code in np.flatnonzero(theirs))


def undeclared(sources: Sequence[Source], declared: Sequence[str]) -> list[str]:
    """Report the columns of the tables that the configuration does not name."""
    names = dict.fromkeys(name for source in sources for name in source.types if name not in declared)
    if not names:
        return []
    listed = ", ".join(f"'{name}'" for name in names)
    return [f"not declared, so left out of the comparison: {listed}; declare the columns that an attacker could know"]


def nowhere(
    sources: Sequence[Source], declared: Sequence[str], specs: Sequence[ColumnSpec], identity: IdentityKeys | None
) -> list[str]:
    """Report declared columns that are not compared and in no table: perhaps a misspelled name."""
    text = {spec.name for spec in specs} | ({identity.original, identity.protected} if identity else set())
    there = dict.fromkeys(name for source in sources for name in source.types)
    names = [name for name in dict.fromkeys(declared) if name not in text and name not in there]
    free = [name for source in sources for name in names_of(source, declared)]
    nears = [(name, nearest_name(name, free)) for name in names]
    listed = ", ".join(f"'{name}'" + ("" if near is None else f" (did you mean '{near}'?)") for name, near in nears)
    return [f"declared, but in no table: {listed}"] if names else []


def released_columns(
    con: duckdb.DuckDBPyConnection,
    reading: Reading,
    released: Source,
    specs: Sequence[ColumnSpec],
    weights: ColumnSpec | None,
    problems: list[Problem],
) -> dict[str, ColumnData]:
    """Read those of the columns that are released, and the weights, whose problems are added to `problems`.

    A column that cannot be read as its type is read as texts: only which values are equal matters then.
    """
    found: dict[str, ColumnData] = {}
    for spec in specs:
        if spec.name not in released.types:
            continue
        unreadable: list[Problem] = []
        reader = ColumnReader(con, reading, unreadable, [])
        if spec.type != "category":
            found[spec.name] = reader.read(spec, [released])[0]
        if spec.type == "category" or unreadable:
            codes, labels = reader.codes(released, spec.name)
            found[spec.name] = Labels(codes, tuple(labels))
    if weights is None:
        return found
    if weights.name not in released.types:
        cure = "Name a column of the release under `criteria.weights`, or remove it."
        problems.append(Problem(released.name, "the release lacks this column of sampling weights", cure, weights.name))
        return found
    found[weights.name] = ColumnReader(con, reading, problems, []).read(weights, [released])[0]
    return found
