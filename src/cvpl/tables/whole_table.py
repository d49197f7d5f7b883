"""Facts about whole tables, over all their columns, declared or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.identifiers.columns import IdentifyingColumn, identifying_columns
from cvpl.tables.keys import equal_row_keys, record_keys
from cvpl.tables.new_columns import telling_new_columns
from cvpl.tables.source.connection import connect_again, identifier
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, has_one_type

if TYPE_CHECKING:
    import duckdb

Rows = NDArray[np.intp]
Keys = Mapping[str, NDArray[np.uint64]]


@dataclass(frozen=True, eq=False)
class WholeTableFacts:
    """Columns and rows of the opened tables.

    `lacking` names the columns to compare that a table does not have, `present` all columns of a table. `identifying`
    are columns of the release that identify people directly, `shared_rows` the row keys over all columns that original
    and release share (empty if these are all compared), `equal_rows` those over the declared facts about people that
    both have, `records` the keys of whole records of each table. `unmatched` are columns to compare that were left out
    because no value of the release is in the original, `new` those that only the release has and that tell records
    apart.
    """

    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    present: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    identifying: tuple[IdentifyingColumn, ...] = ()
    shared_rows: Mapping[str, NDArray[np.uint64]] = field(default_factory=dict)
    equal_rows: Mapping[str, NDArray[np.uint64]] = field(default_factory=dict)
    records: Mapping[str, NDArray[np.uint64]] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    def parted(self, stay: Rows, leave: Rows) -> WholeTableFacts:
        """Return the facts after a split of the originals; the control has the original's columns."""
        return replace(
            self,
            lacking={**self.lacking, "control": self.lacking.get("original", ())},
            present={**self.present, "control": self.present.get("original", ())},
            shared_rows=_split_keys(self.shared_rows, stay, leave),
            equal_rows=_split_keys(self.equal_rows, stay, leave),
        )

    def ordered(self, order: Mapping[str, NDArray[np.int64]]) -> WholeTableFacts:
        """Return the facts of records that are kept in another order; their keys have done their work."""
        both = self.shared_rows, self.equal_rows
        rows, equal = ({table: keys[order[table]] for table, keys in found.items()} for found in both)
        return replace(self, shared_rows=rows, equal_rows=equal, records={})


def _split_keys(rows: Mapping[str, NDArray[np.uint64]], stay: Rows, leave: Rows) -> Mapping[str, NDArray[np.uint64]]:
    if "original" not in rows:
        return {}
    return {**rows, "original": rows["original"][stay], "control": rows["original"][leave]}


def whole_table_facts(
    con: duckdb.DuckDBPyConnection,
    sources: Sequence[Source],
    reading: Reading,
    specs: Sequence[ColumnSpec],
    identity: IdentityKeys | None,
    *,
    matched: bool,
    equal: Sequence[ColumnSpec] = (),
    checks: bool = True,
    threads: int | None = None,
) -> WholeTableFacts:
    """Collect the facts from every column of the opened tables; `matched` if `identity` has found true matches.

    Rows are equal by the columns `equal`; without any, no row is compared so. Without `checks` there are neither
    identifying columns nor shared rows. Unless there is a single thread, the keys of records are computed beside the
    rest.
    """
    keys = () if identity is None else (identity.original, identity.protected)

    def of_rows(own: duckdb.DuckDBPyConnection) -> tuple[Keys, Keys, Keys]:
        return (
            shared_row_keys(own, sources, [spec.name for spec in specs], keys) if checks else {},
            equal_row_keys(own, sources, [spec.name for spec in equal]),
            {source.table: record_keys(own, source) for source in sources},
        )

    with connect_again(con) as own, ThreadPoolExecutor(1) as pool:
        counting = pool.submit(of_rows, own)
        try:
            if threads == 1:
                counting.result()
            key = keys[1] if keys and matched else None
            identifying = identifying_columns(con, sources, reading, key) if checks else ()
            new = telling_new_columns(con, sources, keys) if checks else ()
            shared_rows, equal_rows, records = counting.result()
        except BaseException:
            own.interrupt()  # the pool waits for it
            raise
    return WholeTableFacts(
        lacking={
            source.table: tuple(spec.name for spec in specs if spec.name not in source.types) for source in sources
        },
        present={source.table: tuple(source.types) for source in sources},
        identifying=identifying,
        shared_rows=shared_rows,
        equal_rows=equal_rows,
        records=records,
        new=new,
    )


def shared_row_keys(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], compared: Collection[str], left_out: Collection[str]
) -> dict[str, NDArray[np.uint64]]:
    """Return a key for each row of each table, equal for equal rows; empty if the shared columns are all compared.

    Rows are compared as written, in every column that original and release share. So an exact copy is found even if the
    configuration declares few columns. `left_out` are the identity columns. A control that lacks a shared
    column has no keys.
    """
    original, released = sources[:2]
    shared = [name for name in original.types if name in released.types and name not in left_out]
    if set(shared) <= set(compared):
        return {}
    whole = [source for source in sources if all(name in source.types for name in shared)]
    same = {name for name in shared if has_one_type(whole, name)}
    return {source.table: _keys(con, source, shared, same) for source in whole}


def _keys(
    con: duckdb.DuckDBPyConnection, source: Source, columns: Sequence[str], same: Collection[str]
) -> NDArray[np.uint64]:
    """Return the keys of a table's rows; the columns in `same` have one type of numbers or times in all tables."""
    fields = {name: source.field(name) for name in columns}
    cells = ", ".join(
        field if name in same else f"trim(coalesce(CAST({field} AS VARCHAR), ''))" for name, field in fields.items()
    )
    query = f"SELECT hash({cells}) AS key FROM {identifier(source.table)}"
    found = con.execute(query).fetchnumpy()["key"]
    return np.asarray(np.ma.getdata(found), dtype=np.uint64)
