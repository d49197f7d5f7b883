"""Names and texts as DuckDB's SQL writes them."""

from __future__ import annotations

from pathlib import Path


def quoted(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def only_file(path: Path) -> str:
    """Return the path as an SQL string that names only this file: DuckDB would treat "[1]" or "*" as a pattern."""
    return literal("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))
