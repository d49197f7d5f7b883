"""The unit at risk: which rows are one person, household or account. Only evaluation reads it.

Rows of one unit are sampled together: in intervals, in paired differences, in a split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.keys.components import components
from cvpl.tables.source.source import Source
from cvpl.tables.source.sql_text import quoted

if TYPE_CHECKING:
    import duckdb

    from cvpl.tables.meaning.reading import ColumnReader

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unit:
    """The unit of every row of originals and control, by table; None if every row is a unit of its own.

    Equal numbers mean one unit, across tables too.
    """

    codes: Mapping[str, Ints] | None = None

    @property
    def is_row(self) -> bool:
        """Whether every row is a unit of its own."""
        return self.codes is None

    def parted(self, stay: NDArray[np.intp], leave: NDArray[np.intp]) -> Unit:
        """Return the units after a split of the originals: rows `stay` remain, rows `leave` become the control."""
        if self.codes is None:
            return self
        return Unit({"original": self.codes["original"][stay], "control": self.codes["original"][leave]})

    def ordered(self, order: Mapping[str, Ints]) -> Unit:
        """Return the units of records that are kept in another order, given the row numbers in it."""
        if self.codes is None:
            return self
        parts = [codes[order[table]] for table, codes in self.codes.items()]
        numbers = np.split(joined_codes([np.concatenate(parts)]), np.cumsum([len(part) for part in parts])[:-1])
        return Unit(dict(zip(self.codes, numbers, strict=True)))


EACH_ROW = Unit()


def read_unit(
    con: duckdb.DuckDBPyConnection,
    reader: ColumnReader,
    sources: Sequence[Source],
    columns: Sequence[str],
    person: str | None = None,
) -> Unit:
    """Read the unit of every row of every table.

    Rows belong to one unit if they agree on any of `columns` or, within one table, on `person`: another table holds
    other people, who may have the same numbers. A missing value agrees with nothing, and a column that a table lacks
    joins none of its rows.
    """
    rows = np.cumsum([0, *(source.rows for source in sources)])
    found: list[Ints] = []
    for column in dict.fromkeys([*columns, *([] if person is None else [person])]):
        parts = [
            f"SELECT {at} AS side, {source.position} AS place, {reader.text(source, column)} AS name, "
            f"{0 if column in columns else at} AS apart "
            f"FROM {quoted(source.table)}"
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
    return Unit({source.table: part for source, part in zip(sources, parts_of, strict=True)})


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
