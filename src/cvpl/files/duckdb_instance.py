"""The one place where DuckDB is opened: in memory, without a disk to write to, a network or extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "temp_directory": "",  # what does not fit the memory is refused: on disk a kill would leave it readable
    "autoinstall_known_extensions": False,  # or a name in a file of somebody else would start a download
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,  # no password that the user keeps for DuckDB is ever needed
}


def new_instance() -> duckdb.DuckDBPyConnection:
    """Open an empty DuckDB in memory, which loads no extension and never asks the network.

    Local files can be read, since Parquet is read late. So nothing that others have written may run in it: no SQL, and
    no view or generated column of a database file.
    """
    import duckdb  # noqa: PLC0415 - loaded when a table is

    return duckdb.connect(config=_SETTINGS)
