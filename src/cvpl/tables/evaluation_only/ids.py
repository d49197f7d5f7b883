"""The values of a table's id column, for a file that names single people because its owner asked for it."""

from __future__ import annotations

from cvpl.errors import UsageError
from cvpl.tables.source.connection import connected, within_memory
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import open_source
from cvpl.tables.source.sql_text import quoted


@within_memory
def id_values(table: object, column: str, reading: Reading) -> list[str]:
    """The text of every cell of the id column, in the order of the rows; an empty text where there is none."""
    with connected() as con:
        source = open_source(con, table, "original", reading)
        if column not in source.types:
            raise UsageError(
                "the ids of the originals are asked for, and no column of theirs is declared as id. Declare one with "
                "`role: id`, or leave out --per-person-id (in Python per_person_id=True)."
            )
        text = f"coalesce(CAST({source.field(column)} AS VARCHAR), '')"
        found = con.execute(f"SELECT {text} FROM {quoted(source.table)} ORDER BY {source.position}").fetchall()
        source.check_unchanged()
    return [str(cell) for (cell,) in found]
