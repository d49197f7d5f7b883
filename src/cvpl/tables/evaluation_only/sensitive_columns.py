"""Sensitive columns of all tables, coded alike: an attacker may try to infer them. Only evaluation reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import LimitError, Problem
from cvpl.tables.columns import ColumnData, ColumnSpec
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb

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
