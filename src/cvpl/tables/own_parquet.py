"""A Parquet file that this program wrote for itself, under the name of the table that is in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OwnParquet:
    """A file, and the name of its table in messages and results. It has no fingerprint: its bytes are of no interest.

    The order of its rows means nothing.
    """

    path: Path
    name: str
