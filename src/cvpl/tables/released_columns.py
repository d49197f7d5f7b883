"""Columns of the release that no attacker compares: sensitive values, sampling weights, and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cvpl.errors import Problem
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb


def released_columns(
    con: duckdb.DuckDBPyConnection,
    reading: Reading,
    released: Source,
    specs: Sequence[ColumnSpec],
    weights: ColumnSpec | None,
    problems: list[Problem],
) -> dict[str, ColumnData]:
    """Read those of the columns that are released, and the weights, whose problems are added to `problems`.

    A column that cannot be read as its type is read as texts: only which values are equal matters then.
    """
    found: dict[str, ColumnData] = {}
    for spec in specs:
        if spec.name not in released.types:
            continue
        unreadable: list[Problem] = []
        reader = ColumnReader(con, reading, unreadable, [])
        if spec.type != "category":
            found[spec.name] = reader.read(spec, [released])[0]
        if spec.type == "category" or unreadable:
            codes, labels = reader.codes(released, spec.name)
            found[spec.name] = Labels(codes, tuple(labels))
    if weights is None:
        return found
    if weights.name not in released.types:
        cure = "Name a column of the release under `criteria.weights`, or remove it."
        problems.append(Problem(released.name, "the release lacks this column of sampling weights", cure, weights.name))
        return found
    found[weights.name] = ColumnReader(con, reading, problems, []).read(weights, [released])[0]
    return found
