"""Guess what gives the true matches: a shared column, row numbers in the release, or the row order.

A pairing is accepted by its effect on the other columns: records of one person agree more often than any two records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cvpl.result.published import Disclosure
from cvpl.tables.evaluation_only.identity import ROW_NUMBER, IdentityKeys, read_matches
from cvpl.tables.meaning.local_spellings import has_decimal_comma
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.proposal.column import is_plain, is_time, named_like_identity
from cvpl.tables.proposal.facts import RecordAgreement, Rows, SharedColumn, agreement, describe_sample
from cvpl.tables.proposal.sampled_tables import SampledTables, sampled
from cvpl.tables.proposal.spellings import Spellings
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ProposedTruth:
    """The likely identity keys, or None; reasons, and notes on the columns tried.

    The columns of `spelled` have the pairs of rows that the keys give; `sample` says how many, if not all.
    """

    spelled: Spellings
    keys: IdentityKeys | None = None
    sample: str = ""
    reasons: Sequence[str] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    same_order: RecordAgreement | None = None


Look = Callable[[Rows, Rows], Spellings]
"""Returns the columns with the cells of some rows of each table, respelled."""


def guess_truth(
    con: duckdb.DuckDBPyConnection,
    reader: ColumnReader,
    sources: Sequence[Source],
    tables: SampledTables,
    look: Look,
    disclosure: Disclosure,
) -> ProposedTruth:
    """Return the first of the three that is present and accepted."""
    notes: dict[str, str] = {}
    rows = [sampled(source.rows) for source in sources]
    spelled = look(rows[0], rows[1])
    columns = spelled.columns
    order = _same_order(columns)
    for name in sorted(columns, key=lambda name: not named_like_identity(name)):
        column = columns[name]
        if not _could_identify(column):
            continue
        keys = IdentityKeys(name, name)
        found = read_matches(con, reader, sources[0], sources[1], keys)
        some, paired = _pairs(found.original, found.protected, look, disclosure)
        seen = agreement([other for key, other in paired.columns.items() if key != name], len(found.original))
        telling = seen is not None and seen.telling
        if not telling and _counts_rows(tables.whole_numbers(name)):
            notes[name] = "counts the rows of the release, and does not identify people"
            continue
        reasons = ["every original value is different, and the release repeats them"]
        if seen is not None:
            doubt = "" if telling else ": is it one person's id in both tables?"
            reasons.append(f"paired by it, {seen.describe(disclosure)}{doubt}")
        return ProposedTruth(paired, keys, some, reasons, notes, order)
    for name in sources[1].types:
        if name in columns:
            continue
        numbers = tables.whole_numbers(name)
        if numbers is None or numbers.max() >= sources[0].rows or tables.distinct(name) < len(numbers):
            continue
        some, paired = _pairs(numbers, np.arange(len(numbers)), look, disclosure)
        seen = agreement(list(paired.columns.values()), len(numbers))
        if seen is not None and seen.telling:
            notes[name] = "the row of the original, counted from 0; see `truth`"
            reasons = [f"Paired by row number, {seen.describe(disclosure)}."]
            return ProposedTruth(paired, IdentityKeys(ROW_NUMBER, name), some, reasons, notes, order)
        notes[name] = "fits the original's row numbers, but the records do not agree: no truth"
    if order is not None:
        some = describe_sample(order.pairs, order.of, disclosure)
        return ProposedTruth(spelled, IdentityKeys(ROW_NUMBER, ROW_NUMBER), some, (), notes, order)
    return ProposedTruth(spelled, notes=notes)


def _pairs(original: Rows, released: Rows, look: Look, disclosure: Disclosure) -> tuple[str, Spellings]:
    """Return the columns with the cells of some pairs of rows, and how many those are, if not all."""
    places = sampled(len(original))
    return describe_sample(len(places), len(original), disclosure), look(original[places], released[places])


def _same_order(columns: Mapping[str, SharedColumn]) -> RecordAgreement | None:
    """Measure how far the records agree row by row; None if that is not significant."""
    first = next(iter(columns.values()))
    if first.original.rows != first.released.rows:
        return None
    seen = agreement(list(columns.values()), first.original.rows)
    return seen if seen is not None and seen.telling else None


def _could_identify(column: SharedColumn) -> bool:
    """Whether all values are different, occur in the release too, and are neither measurements nor times."""
    if not column.unique or not column.shared or column.shared < 0.5 * column.released.distinct:
        return False
    some = column.original.labels[:: 1 + len(column.original.labels) // 1000]
    measured = all(is_time(label) for label in some) or any(
        has_decimal_comma(label) or (is_plain(label) and not float(label).is_integer()) for label in some
    )
    return not measured and (named_like_identity(column.name) or column.shared > 0.99 * column.original.rows)


def _counts_rows(numbers: Rows | None) -> bool:
    """Whether the numbers are 0, 1, 2, ... or 1, 2, 3, ... from the first row to the last."""
    return numbers is not None and any(np.array_equal(numbers, np.arange(len(numbers)) + start) for start in (0, 1))
