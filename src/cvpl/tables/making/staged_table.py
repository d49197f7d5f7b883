"""A table as a file that can be split row by row, and that other programs can read."""

from __future__ import annotations

from pathlib import Path

from cvpl.tables.source.connection import connect, identifier, literal, within_memory
from cvpl.tables.source.csv_file import is_csv
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, is_parquet, open_source


@within_memory
def stage(original: object, reading: Reading, folder: Path) -> Path:
    """The file itself if it is CSV or Parquet; a dataframe, a workbook or a database table as Parquet in `folder`."""
    if isinstance(original, str | Path) and (is_csv(Path(original)) or is_parquet(Path(original))):
        return Path(original)
    target = folder / "people.parquet"
    with connect() as con:
        source = open_source(con, original, "original", reading)
        con.execute(
            f"COPY (SELECT {named_fields(source)} FROM {identifier(source.table)} ORDER BY {source.position}) "
            f"TO {literal(str(target))} (FORMAT parquet)"
        )
        source.check_unchanged()
    return target


def named_fields(source: Source) -> str:
    """The columns of an opened table under their own names, for SQL."""
    return ", ".join(f"{source.field(name)} AS {identifier(name)}" for name in source.types)
