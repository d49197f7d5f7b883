"""Whole rows as keys: hashes that are equal for equal rows, and rows that are bound to each other.

Keys over some columns of several files count a number as equal however it is written: 1.0 in one file, 1 in another.

There is one hash of rows: 64 bits from any number of 64-bit words. Two different rows share it by a chance of about
1 in 10^19. NumPy computes it column by column; compiled code (`search.tree.tree_layout`) compiles
`mix_bits` and goes row by row. Texts that are still in DuckDB have DuckDB's own hash (`tables.whole_table`): they would
have to leave the database first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Table
from cvpl.tables.source.connection import identifier
from cvpl.tables.source.source import Source, has_one_type

if TYPE_CHECKING:
    import duckdb


def row_keys(table: Table) -> Keys:
    """Return the sum of the column keys modulo 2^64, over all columns of the table."""
    keys = np.zeros(table.rows, dtype=np.uint64)
    for number, spec in enumerate(table.specs):
        keys += column_keys(table.columns[spec.name], number)
    return keys


def keys_without_one(table: Table, whole: Keys) -> Iterator[Keys]:
    """Yield the row keys with one column left out, column by column; `whole` are the keys of the whole rows."""
    for number, spec in enumerate(table.specs):
        yield whole - column_keys(table.columns[spec.name], number)


def column_keys(column: ColumnData, number: int) -> Keys:
    """A number for each value of the column that stands at place `number`."""
    return hash_columns(column.bits(), len(column.known()), number + 1)


def equal_row_keys(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], columns: Sequence[str]
) -> dict[str, Keys]:
    """Return a key for each row of each table, over those of the columns that original and release share.

    Empty if they share none. A control that lacks one of them has no keys.
    """
    original, released = sources[:2]
    shared = [name for name in dict.fromkeys(columns) if name in original.types and name in released.types]
    if not shared:
        return {}
    whole = [source for source in sources if all(name in source.types for name in shared)]
    same = {name for name in shared if has_one_type(whole, name)}
    return {source.table: _keys(con, source, shared, same) for source in whole}


def _keys(con: duckdb.DuckDBPyConnection, source: Source, columns: Sequence[str], same: Collection[str]) -> Keys:
    """Return the keys of a table's rows; the columns in `same` have one type of numbers or times in all tables."""
    fields = {name: source.field(name) for name in columns}
    cells = ", ".join(field if name in same else _cell(field) for name, field in fields.items())
    found = con.execute(f"SELECT hash({cells}) AS key FROM {identifier(source.table)}").fetchnumpy()["key"]
    return np.asarray(np.ma.getdata(found), dtype=np.uint64)


def _cell(field: str) -> str:
    """SQL for the text of a cell: that of its number, if it is one."""
    text = f"trim(CAST({field} AS VARCHAR))"
    return f"coalesce(CAST(TRY_CAST({text} AS DOUBLE) + 0.0 AS VARCHAR), {text}, '')"


Keys = NDArray[np.uint64]

STEP = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64, where every hash begins."""


def mix_bits(bits: Any) -> Any:
    """The finalizer of SplitMix64, a bijection that spreads every bit over all; of an array, or of a compiled word."""
    bits = bits + STEP
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def hash_columns(columns: Iterable[Keys], rows: int, number: int = 1) -> Keys:
    """A hash for each of so many rows, from their words column by column; another `number` gives another hash."""
    state = np.full(rows, number * int(STEP) % (1 << 64), dtype=np.uint64)
    for column in columns:
        state = mix_bits(state ^ column)
    return state


_BETWEEN, _NOTHING = "chr(31)", "chr(30)"
"""What stands between two cells, and in place of one that is missing."""


def record_keys(con: duckdb.DuckDBPyConnection, source: Source) -> NDArray[np.uint64]:
    """Return the key of each record, in the order of the file.

    It is half of an MD5 sum over the texts of all columns: unlike DuckDB's own hash, that is the same in every version.
    """
    cells = ", ".join(f"coalesce(CAST({source.field(name)} AS VARCHAR), {_NOTHING})" for name in source.types)
    query = f"SELECT md5_number_lower(concat_ws({_BETWEEN}, {cells})) AS key FROM {identifier(source.table)}"
    found = np.ma.getdata(con.execute(query).fetchnumpy()["key"])
    return np.asarray(found, dtype=np.uint64)


Ints = NDArray[np.int64]


def components(one: Ints, other: Ints, count: int) -> Ints:
    """For each of `count` things the number of its component, where one[i] is bound to other[i].

    Components are numbered from 0 in the order of their first members, so numbers depend on nothing but who belongs
    together.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415 - only where something is bound
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    bound = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(count, count))
    found = connected_components(bound, directed=False)[1]
    # SciPy does not promise an order.
    first, inverse = np.unique(found, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)
