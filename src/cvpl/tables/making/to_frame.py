"""A whole table as arrays, as input to a protection mechanism; columns that the audit never uses are kept as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Times
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import names_of
from cvpl.tables.source.connection import connect, identifier, within_memory
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, open_source
from cvpl.wording import did_you_mean

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, eq=False)
class WholeTable:
    """The columns of a table as arrays, and the names of the columns that were left out."""

    frame: Frame
    left_out: tuple[str, ...]


@within_memory
def read_frame(
    data: object, specs: Sequence[ColumnSpec], carried: Sequence[str], reading: Reading, guessed: Sequence[str] = ()
) -> WholeTable:
    """Read the columns of `specs` by their types, and those of `carried` as text.

    Columns of `guessed` have no declared type: they are numbers if every cell is one, else categories. Rows are people,
    numbered from 0. Raises InputError with every problem: a missing column, a cell that cannot be read, or a cell that
    is already an interval.
    """
    problems: list[Problem] = []
    with connect() as con:
        source = open_source(con, data, "original", reading)
        reader = ColumnReader(con, reading, problems, [])
        wanted = (*(spec.name for spec in specs), *carried, *guessed)
        for name in wanted:
            if name not in source.types:
                cure = "Correct the name, or remove the column from the configuration."
                cure = f"{did_you_mean(name, names_of(source, wanted))} {cure}".lstrip()
                problems.append(Problem(source.name, "the table lacks this column", cure, name))
        if problems:
            raise InputError(problems)
        read = {spec.name: reader.read(spec, [source])[0] for spec in specs}
        for name, column in read.items():
            if not column.plain:
                cure = "Protect the table that it was made from, or declare the column as a category."
                problems.append(Problem(source.name, "found values that are already generalized", cure, name))
        if problems:
            raise InputError(problems)
        read |= {name: _guess(con, reading, source, name) for name in guessed}
        kept = {name: _as_it_is(con, reader, source, name) for name in carried}
        source.check_unchanged()
    sorted_in = _ByKind({}, {}, {})
    for name, column in read.items():
        _sort_in(column, name, sorted_in)
    frame = Frame(
        people=np.arange(source.rows),
        numbers=sorted_in.numbers,
        times=sorted_in.times,
        categories=sorted_in.categories,
        order=tuple(name for name in source.types if name in read or name in kept),
        whole=tuple(
            name
            for name, number in sorted_in.numbers.items()
            if np.array_equal(number, np.trunc(number), equal_nan=True)
        ),
        carried=kept,
    )
    return WholeTable(frame, tuple(name for name in source.types if name not in frame.order))


@dataclass(frozen=True, eq=False)
class _ByKind:
    """The columns of a frame, separated by kind."""

    numbers: dict[str, NDArray[np.float64]]
    times: dict[str, NDArray[np.datetime64]]
    categories: dict[str, CategoryCodes]


@singledispatch
def _sort_in(column: ColumnData, name: str, into: _ByKind) -> None:
    raise TypeError(f"column '{name}': a frame cannot hold {type(column).__name__}")


@_sort_in.register(Numbers)
def _sort_in_numbers(column: Numbers, name: str, into: _ByKind) -> None:
    into.numbers[name] = column.values


@_sort_in.register(Times)
def _sort_in_times(column: Times, name: str, into: _ByKind) -> None:
    into.times[name] = column.first


@_sort_in.register(Labels)
def _sort_in_labels(column: Labels, name: str, into: _ByKind) -> None:
    into.categories[name] = CategoryCodes(column.codes, column.labels)


def _guess(con: duckdb.DuckDBPyConnection, reading: Reading, source: Source, name: str) -> ColumnData:
    """Read a column as numbers if every cell is a plain number, else as labels."""
    problems: list[Problem] = []
    column = ColumnReader(con, reading, problems, []).read(ColumnSpec(name, "sensitive", "numeric"), [source])[0]
    if not problems and column.plain:
        return column
    return ColumnReader(con, reading, [], []).read(ColumnSpec(name, "sensitive", "category"), [source])[0]


def _as_it_is(con: duckdb.DuckDBPyConnection, reader: ColumnReader, source: Source, name: str) -> NDArray[np.object_]:
    """Return the texts of a column, None where the cell is missing."""
    values = con.sql(f"SELECT {reader.text(source, name)} AS v FROM {identifier(source.table)}").fetchnumpy()["v"]
    texts: NDArray[np.object_] = np.ma.getdata(values).astype(object)
    texts[np.ma.getmaskarray(values)] = None
    return texts
