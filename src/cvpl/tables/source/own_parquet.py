"""A table that this program wrote for itself as Parquet files, under the name of the table that is in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OwnParquet:
    """A folder of files, and the name of its table in messages and results.

    A file is named by the number of its first record in the table: 0.parquet, 122880.parquet and so on. It has no
    fingerprint, since its bytes are of no interest, and the order of its records means nothing.
    """

    folder: Path
    name: str

    @property
    def files(self) -> list[Path]:
        """The files in the order of their records."""
        return sorted(self.folder.glob("*.parquet"), key=lambda file: int(file.stem))
