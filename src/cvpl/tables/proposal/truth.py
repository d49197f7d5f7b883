"""Guess how numbers and days are written, and what gives the true matches.

Guess what gives the true matches: a shared column, row numbers in the release, or the row order. A pairing is accepted
by its effect on the other columns: records of one person agree more often than any two records.

Guess how numbers and days are written: decimal commas, and the order of day and month. Columns that are written so are
respelled with points and as 2024-12-31, so that everything else is guessed from one spelling; reading does the same
with the proposed settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cvpl.result.publishing import Disclosure
from cvpl.tables.evaluation_only import ROW_NUMBER, IdentityKeys, read_matches
from cvpl.tables.meaning.protected_values import (
    PLAIN_COMMA_NUMBER,
    Dates,
    Decimal,
    comma_number_sql,
    has_decimal_comma,
    is_comma_number,
    is_gone,
    iso_days,
    iso_sql,
    possible_orders,
    use_decimal_points,
)
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.proposal.column import describe_cells, few_cells, is_plain, is_time, named_like_identity
from cvpl.tables.proposal.facts import (
    RecordAgreement,
    Rows,
    SampledTables,
    SharedColumn,
    SpelledSql,
    agreement,
    describe_sample,
    sample_places,
)
from cvpl.tables.source.connection import literal
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb


_ORDERS: dict[Dates, str] = {"day_first": "the day before the month", "month_first": "the month before the day"}


@dataclass(frozen=True)
class Spellings:
    """The guessed settings, the columns respelled by them, the reasons, and what to check by column."""

    columns: Mapping[str, SharedColumn]
    decimal: Decimal = "."
    dates: Dates = "iso"
    reasons: Sequence[str] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Texts:
    """A column with its labels that are stored as text, apart from missing and suppressed ones."""

    column: SharedColumn
    original: tuple[str, ...] | None
    released: tuple[str, ...] | None

    @property
    def main(self) -> tuple[str, ...]:
        """The original's labels, or the release's if the original is not stored as text."""
        return self.original if self.original is not None else self.released or ()

    def respelled(self, spell: Callable[[str], str | None], sql: SpelledSql) -> SharedColumn:
        sides = [
            facts if labels is None else facts.renamed({label: spell(label) or label for label in labels})
            for facts, labels in ((self.column.original, self.original), (self.column.released, self.released))
        ]
        return self.column.renamed(sides[0], sides[1], sql)


def guess_spellings(
    columns: Mapping[str, SharedColumn],
    sources: Sequence[Source],
    gaps: Sequence[str],
    delimiter: str,
    disclosure: Disclosure,
) -> Spellings:
    """Guess decimal mark and order of days from all columns; `gaps` are spellings of a missing value."""
    texts = {name: _texts(column, sources, gaps) for name, column in columns.items()}
    decimals = _guess_decimal({name: text for name, text in texts.items() if text.main}, delimiter, disclosure)
    dates = _guess_dates({name: text for name, text in texts.items() if text.main}, disclosure)
    return Spellings(
        {**columns, **decimals.columns, **dates.columns},
        decimals.decimal,
        dates.dates,
        [*decimals.reasons, *dates.reasons],
        {**decimals.doubts, **dates.doubts},
    )


def _texts(column: SharedColumn, sources: Sequence[Source], gaps: Sequence[str]) -> _Texts:
    known = set(column.original.labels)
    original, released = (source.types[column.name] == "VARCHAR" for source in sources)
    if not original and is_whole(column):
        released = False  # "17,25" beside whole numbers is a range
    return _Texts(
        column,
        tuple(label for label in column.original.labels if label not in gaps) if original else None,
        tuple(label for label in column.released.labels if label not in gaps and not is_gone(label, known))
        if released
        else None,
    )


def is_whole(column: SharedColumn) -> bool:
    """Whether the original has whole numbers only."""
    return all(label.lstrip("-").isdecimal() for label in column.original.labels)


def _guess_decimal(texts: Mapping[str, _Texts], delimiter: str, disclosure: Disclosure) -> Spellings:
    numbers = {name: text for name, text in texts.items() if all(is_comma_number(label) for label in text.main)}
    commas = [name for name, text in numbers.items() if any("," in label for label in text.main)]
    sure = [name for name in commas if any(has_decimal_comma(label) for label in texts[name].main)]
    if not sure and (delimiter == "," or not commas):
        return Spellings({})
    points = [
        name for name, text in texts.items() if name not in numbers and all(is_plain(label) for label in text.main)
    ]
    if points:
        doubt = (
            "numbers with decimal commas, and others have decimal points? write all with points, because "
            "`reading.decimal` applies to every column"
        )
        return Spellings({}, doubts=dict.fromkeys(commas, doubt))
    doubts = {}
    for name, text in numbers.items():
        if name in commas and name not in sure:
            doubts[name] = "three digits follow every comma: decimals or thousands? read as decimals"
        elif name in commas and (cells := _few_cells(text, has_decimal_comma, disclosure)) and _has_thousands(text):
            doubts[name] = f"three digits follow every comma except in {cells}: decimals or thousands? read as decimals"
        elif any("." in label for label in text.main) and name not in commas:
            doubts[name] = "points are read as separators of thousands, because `reading.decimal` is a comma"
    reason = f"{_names_in_words(commas)}: numbers with decimal commas, read as such"
    columns = {name: text.respelled(use_decimal_points, _point_sql) for name, text in numbers.items()}
    return Spellings(columns, ",", "iso", [reason], doubts)


def _point_sql(text: str) -> str:
    """Return SQL that respells a number with a decimal comma."""
    number = f"regexp_full_match({text}, {literal(PLAIN_COMMA_NUMBER)}) AND contains({text}, ',')"
    return f"CASE WHEN {number} THEN {comma_number_sql(text)} ELSE {text} END"


def _guess_dates(texts: Mapping[str, _Texts], disclosure: Disclosure) -> Spellings:
    orders: dict[str, frozenset[Dates]] = {}
    for name, text in texts.items():
        if not all(possible_orders(label) for label in text.main):
            continue
        found = [possible_orders(label) for label in text.main]
        if not all(is_time(label) for label in text.main):
            more = (possible_orders(label) for label in text.released or ())
            orders[name] = frozenset.intersection(*found, *(order for order in more if order))
    if not orders:
        return Spellings({})
    settled = {order for possible in orders.values() if len(possible) == 1 for order in possible}
    if len(settled) > 1 or not all(orders.values()):
        doubt = "days written in two orders? write all as 2024-12-31: `reading.dates` applies to every column"
        return Spellings({}, doubts=dict.fromkeys(orders, doubt))
    order: Dates = min(settled, default="day_first")
    doubt = (
        f"day and month cannot be told apart; read with {_ORDERS[order]}. Check it, and set `reading.dates` to "
        "day_first or month_first"
    )
    doubts = {name: doubt for name, possible in orders.items() if len(possible) > 1}
    for name in orders.keys() - doubts.keys():
        if cells := _few_cells(texts[name], lambda label: len(possible_orders(label)) == 1, disclosure):
            doubts[name] = f"the order is settled by {cells} alone: {_ORDERS[order]}. Check it, or set `reading.dates`"
    return Spellings(
        {
            name: texts[name].respelled(lambda label: iso_days(label, order), lambda text: iso_sql(text, order))
            for name in orders
        },
        dates=order,
        reasons=[f"{_names_in_words(list(orders))}: days written with {_ORDERS[order]}"],
        doubts=doubts,
    )


def _has_thousands(text: _Texts) -> bool:
    """Whether a comma in the column could separate thousands."""
    return any("," in label and not has_decimal_comma(label) for label in text.main)


def _few_cells(text: _Texts, decides: Callable[[str], bool], disclosure: Disclosure) -> str | None:
    """The cells that decide on a spelling, as they may be told; None if they are not few."""
    facts = text.column.original if text.original is not None else text.column.released
    labels = frozenset(label for label in text.main if decides(label))
    return describe_cells(facts, labels, disclosure) if few_cells(facts, labels) else None


def _names_in_words(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


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
    rows = [sample_places(source.rows) for source in sources]
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
    places = sample_places(len(original))
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
