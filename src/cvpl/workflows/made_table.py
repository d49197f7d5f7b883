"""A table that cvpl made: in memory, to be written, converted to a dataframe, or audited directly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import UsageError
from cvpl.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from cvpl.laboratory.frame import Frame


class MadeTable:
    """The base of simulated people and releases. It supports Arrow, so `cvpl.audit` accepts it as a table."""

    frame: Frame

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.frame)

    def __repr__(self) -> str:
        """The type and size: no cell is shown."""
        return f"<{type(self).__name__}: {counted(len(self.frame), 'row')}, {counted(len(self.frame.order), 'column')}>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Every column as one array. A missing text is None, a missing number NaN, a missing time NaT."""
        return self.frame.to_columns()

    def to_frame(self) -> DataFrame:
        """The table as a pandas dataframe. Raises UsageError if pandas is not installed."""
        from cvpl.result.document import data_frame  # noqa: PLC0415 - its package loads pydantic

        return data_frame(self.to_columns())

    def write(self, path: str | Path) -> Path:
        """Write the table as `.csv`, `.csv.gz` or `.parquet`, by the name of `path`, and return the path.

        An existing file is replaced. Raises UsageError for another extension.
        """
        return self._write(Path(path))

    def _write(self, file: Path, check: Callable[[Path], None] | None = None) -> Path:
        """Write the table; `check` gets the written draft, and nothing is put in place if it raises."""
        try:
            self.frame.write(file, check)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return file
