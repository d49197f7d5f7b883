"""A table that cvpl made: in memory, to be written, turned into a dataframe, or audited as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from cvpl.laboratory.frame import Frame


class MadeTable:
    """What simulated people and releases have in common. It speaks Arrow, so `cvpl.audit` takes it as a table."""

    frame: Frame

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.frame)

    def __repr__(self) -> str:
        """Its kind and size: no cell of a table is shown unasked."""
        return f"<{type(self).__name__}: {len(self.frame):,} rows, {len(self.frame.order)} columns>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Every column as one array. A missing text is None, a missing number NaN, a missing time NaT."""
        return self.frame.to_columns()

    def to_frame(self) -> DataFrame:
        """The table as a pandas dataframe. Raises UsageError where pandas is not installed."""
        from cvpl.result.data_frame import data_frame  # noqa: PLC0415 - loads pydantic by way of its package

        return data_frame(self.to_columns())

    def write(self, path: str | Path) -> Path:
        """Write the table as `.csv`, `.csv.gz` or `.parquet` by the name of `path`, and return the path.

        A file that is there is replaced. Raises UsageError for another ending.
        """
        file = Path(path)
        try:
            self.frame.write(file)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return file
