"""Guess what gives the true matches: a shared column, row numbers in the release, or the row order.

A pairing is accepted by its effect on the other columns: records of one person agree more often than any two records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cvpl.tables.identity import ROW_NUMBER, IdentityKeys, read_matches
from cvpl.tables.local_spellings import has_decimal_comma
from cvpl.tables.proposal.column import is_plain, is_time, named_like_identity
from cvpl.tables.proposal.facts import Agreement, Column, Facts, Rows, agreement, read_facts
from cvpl.tables.reading import ColumnReader
from cvpl.tables.source import Source

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ProposedTruth:
    """The likely identity keys with the row pairs they give, or None; reasons, and notes on the columns tried."""

    keys: IdentityKeys | None = None
    pairs: tuple[Rows, Rows] | None = None
    reasons: Sequence[str] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    same_order: Agreement | None = None


def guess_truth(
    con: duckdb.DuckDBPyConnection, reader: ColumnReader, sources: Sequence[Source], columns: Mapping[str, Column]
) -> ProposedTruth:
    """Return the first of the three that is present and accepted."""
    notes: dict[str, str] = {}
    order = _same_order(columns)
    for name in sorted(columns, key=lambda name: not named_like_identity(name)):
        column = columns[name]
        if not _could_identify(column):
            continue
        keys = IdentityKeys(name, name)
        found = read_matches(con, reader, sources[0], sources[1], keys)
        pairs = (found.original, found.protected)
        seen = agreement([other for other in columns.values() if other is not column], *pairs)
        telling = seen is not None and seen.telling
        if _counts_rows(column.released) and not telling:
            notes[name] = "counts the rows of the release, and does not identify people"
            continue
        reasons = ["every original value is different, and the release repeats them"]
        if seen is not None:
            reasons.append(f"paired by it, {seen}" + ("" if telling else ": is it one person's id in both tables?"))
        return ProposedTruth(keys, pairs, reasons, notes, order)
    for name in sources[1].types:
        if name in columns:
            continue
        facts = read_facts(reader, sources[1], name)
        rows = _row_numbers(facts, sources[0].rows)
        if rows is None:
            continue
        pairs = (rows, np.arange(facts.rows))
        seen = agreement(list(columns.values()), *pairs)
        if seen is not None and seen.telling:
            notes[name] = "the row of the original, counted from 0; see `truth`"
            return ProposedTruth(
                IdentityKeys(ROW_NUMBER, name), pairs, (f"Paired by row number, {seen}.",), notes, order
            )
        notes[name] = "fits the original's row numbers, but the records do not agree: no truth"
    if order is not None:
        rows = np.arange(sources[0].rows)
        return ProposedTruth(IdentityKeys(ROW_NUMBER, ROW_NUMBER), (rows, rows), (), notes, order)
    return ProposedTruth(notes=notes)


def _same_order(columns: Mapping[str, Column]) -> Agreement | None:
    """Measure how far the records agree row by row; None if that is not significant."""
    first = next(iter(columns.values()))
    if first.original.rows != first.released.rows:
        return None
    rows = np.arange(first.original.rows)
    seen = agreement(list(columns.values()), rows, rows)
    return seen if seen is not None and seen.telling else None


def _could_identify(column: Column) -> bool:
    """Whether all values are different, occur in the release too, and are neither measurements nor times."""
    if not column.unique or column.shared < 0.5 * len(column.released.labels) or not column.shared:
        return False
    some = column.original.labels[:: 1 + len(column.original.labels) // 1000]
    measured = all(is_time(label) for label in some) or any(
        has_decimal_comma(label) or (is_plain(label) and not float(label).is_integer()) for label in some
    )
    return not measured and (named_like_identity(column.name) or column.shared > 0.99 * column.original.rows)


def _whole(facts: Facts) -> Rows | None:
    """Return every cell as a whole number, or None."""
    if facts.missing or not all(label.isdecimal() and len(label) < 18 for label in facts.labels):
        return None
    return np.array([int(label) for label in facts.labels], dtype=np.int64)[facts.codes]


def _counts_rows(facts: Facts) -> bool:
    """Whether the column is 0, 1, 2, ... or 1, 2, 3, ... from the first row to the last."""
    numbers = _whole(facts)
    return numbers is not None and any(np.array_equal(numbers, np.arange(facts.rows) + start) for start in (0, 1))


def _row_numbers(facts: Facts, rows: int) -> Rows | None:
    """Return the column as row numbers of a table with `rows` rows, each at most once; else None."""
    numbers = _whole(facts)
    return numbers if numbers is not None and len(facts.labels) == facts.rows and numbers.max() < rows else None
