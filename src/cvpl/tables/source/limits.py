"""How large a table may be: limits that are checked before the table is built, each with a setting that raises it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cvpl.errors import LimitError

ALWAYS_EXPANDED = 16 << 20
"""A compressed file may expand to so many bytes whatever its own size: a small table does no harm."""


@dataclass(frozen=True)
class Limits:
    """The most that is read of one table. `labels` are the different labels of one category column.

    `expansion` is how many times larger than a compressed file its content may be, above `ALWAYS_EXPANDED`.
    """

    bytes: int = 100 * 10**9
    rows: int = 1_000_000_000
    columns: int = 10_000
    labels: int = 10_000_000
    expansion: int = 200

    def check_bytes(self, found: int, name: str) -> None:
        """Raise LimitError if a file has too many bytes."""
        _check("bytes", found, self.bytes, name, f"the file has {found:,} bytes")

    def check_rows(self, found: int, name: str) -> None:
        """Raise LimitError if a table has too many rows."""
        _check("rows", found, self.rows, name, f"the table has {found:,} rows")

    def check_columns(self, found: int, name: str) -> None:
        """Raise LimitError if a table has too many columns."""
        _check("columns", found, self.columns, name, f"the table has {found:,} columns")

    def check_labels(self, found: int, name: str, column: str) -> None:
        """Raise LimitError if a category column has too many different labels."""
        _check("labels", found, self.labels, f"{name}, column '{column}'", f"the column has {found:,} different labels")

    def check_expansion(self, packed: int, expanded: int, name: str, what: str = "bytes") -> None:
        """Raise LimitError if the content of a file of `packed` bytes is too large."""
        if expanded <= max(ALWAYS_EXPANDED, packed * self.expansion):
            return
        raise LimitError(
            f"{name}: the file has {packed:,} bytes, and expands to more than {self.expansion:,} times as many {what}, "
            f"which is the limit. Check that it is the right file, or {_cure('expansion', 'NUMBER')}."
        )


def expanding(chunks: Iterable[bytes], packed: int, limits: Limits, name: str) -> Iterator[bytes]:
    """Yield the content of a file of `packed` bytes, and raise LimitError as soon as it is too large."""
    expanded = 0
    for chunk in chunks:
        expanded += len(chunk)
        limits.check_expansion(packed, expanded, name)
        yield chunk


def _check(setting: str, found: int, most: int, where: str, what: str) -> None:
    if found > most:
        raise LimitError(
            f"{where}: {what}, and the limit is {most:,}. Check that it is the right file, or "
            f"{_cure(setting, str(found))}."
        )


def _cure(setting: str, value: str) -> str:
    """How a limit is raised: in the configuration, or by the commands that need none."""
    return (
        f"raise `reading.limits.{setting}` in the configuration; without one, `cvpl audit`, `init` and `split` take "
        f"--limits {setting}={value}"
    )
