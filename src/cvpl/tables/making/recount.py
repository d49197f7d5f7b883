"""An independent count of k in a written release, which shares no code with the mechanisms."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.errors import InputError, Problem
from cvpl.tables.source.connection import connect, identifier, within_memory
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import open_source


@within_memory
def smallest_class(data: object, columns: Sequence[str], reading: Reading | None = None) -> int:
    """Return the size of the smallest class of rows that are equal in all of `columns`, as text and missing cells too.

    This is the largest k for which the table is k-anonymous in these columns. Raises InputError if a column is missing.
    """
    with connect() as con:
        source = open_source(con, data, "released", reading or Reading())
        if absent := [name for name in columns if name not in source.types]:
            cure = "Name columns of the release."
            raise InputError([Problem(source.name, "the table lacks this column", cure, name) for name in absent])
        fields = ", ".join(source.field(name) for name in columns)
        query = f"SELECT min(size) FROM (SELECT count(*) AS size FROM {identifier(source.table)} GROUP BY {fields})"
        smallest = int(con.execute(query).fetchall()[0][0])
        source.check_unchanged()
        return smallest
