"""Whether the first line of a file is a header, or a record whose cells would become column names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cvpl.tables.identifiers.patterns import could_be_dialled, is_email
from cvpl.tables.proposal.column import is_plain, is_time
from cvpl.tables.source.source import Source
from cvpl.tables.source.sql_text import literal, quoted

if TYPE_CHECKING:
    import duckdb

_MANY = 4


def lacks_header(con: duckdb.DuckDBPyConnection, source: Source) -> bool:
    """Whether most of the column names look like cells; half of them are enough if there are four or more.

    A name looks like a cell if it is a number, a time, an e-mail address or a telephone number, or if its own column
    has it as a value.
    """
    names = list(source.types)
    repeated = ", ".join(
        f"coalesce(bool_or(trim(CAST({source.field(name)} AS VARCHAR)) = {literal(name.strip())}), false)"
        for name in names
    )
    found = con.execute(f"SELECT {repeated} FROM {quoted(source.table)}").fetchall()[0]
    like_cells = sum(_is_value(name.strip()) or bool(value) for name, value in zip(names, found, strict=True))
    return 2 * like_cells >= (len(names) if len(names) >= _MANY else len(names) + 1)


def _is_value(name: str) -> bool:
    return is_plain(name) or is_time(name) or is_email(name) or could_be_dialled(name)
