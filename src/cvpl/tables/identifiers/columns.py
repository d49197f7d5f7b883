"""Direct identifiers left in a release: names, addresses, numbers, notes, and unchanged unique values.

Every column of the release is checked, declared or not. A finding names the column, what its values look like, and the
share that do; it never contains a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cvpl.tables.identifiers.known_texts import KnownTexts
from cvpl.tables.identifiers.names import share_of_names
from cvpl.tables.identifiers.numbers import could_be_id, is_card_number, is_checked_number, is_national_id
from cvpl.tables.identifiers.patterns import (
    could_be_address,
    could_be_dialled,
    is_address,
    is_email,
    is_phone,
    is_sentence,
)
from cvpl.tables.identifiers.unique_columns import LEAST_ROWS, NEARLY_UNIQUE, UniqueColumns
from cvpl.tables.identifiers.words import ADDRESS_WORDS, ID_WORDS, NOTE_WORDS, PHONE_WORDS, named
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source

if TYPE_CHECKING:
    import duckdb

IdentifierKind = Literal[
    "name", "email", "phone", "address", "national_id", "card_number", "free_text", "unique_values"
]

_SAMPLE = 2_000
"""The number of distinct values to check: a share among them is off by at most a few points."""


@dataclass(frozen=True)
class IdentifyingColumn:
    """A released column that identifies people directly: its name, what it looks like, and the share of such values.

    The share is that of the distinct values checked; for `unique_values`, that of the released values that are in the
    original column.
    """

    column: str
    kind: IdentifierKind
    share: float


@dataclass(frozen=True, repr=False)
class _DistinctSample:
    """Some of a released column's distinct values with their counts, and how many values and cells there are."""

    texts: tuple[str, ...]
    counts: tuple[int, ...]
    distinct: int
    cells: int

    @property
    def different(self) -> float:
        """The number of distinct values as a share of the cells with a value."""
        return self.distinct / self.cells if self.cells else 0.0


@dataclass(frozen=True)
class _Rule:
    """A test for one kind: at least `least` distinct values, and at least a `share` of them, must pass.

    A rule with `words` applies only to columns whose name has one of them; `different` is the minimum share of distinct
    values among cells.
    """

    kind: IdentifierKind
    test: Callable[[str], bool]
    share: float
    least: int
    words: frozenset[str] | None = None
    different: float = 0.0

    def found(self, column: str, sample: _DistinctSample) -> float | None:
        """Return the share of the values that pass; None if the rule does not apply."""
        if sample.different < self.different or len(sample.texts) < self.least:
            return None
        if self.words is not None and not named(column, self.words):
            return None
        passed = len(sample.texts)
        needed = max(self.least, self.share * passed)
        for text in sample.texts:
            if not self.test(text):
                passed -= 1
                if passed < needed:  # whatever the other values are
                    return None
        return passed / len(sample.texts)


_FORMS = (
    _Rule("email", is_email, 0.05, 3),
    _Rule("national_id", is_national_id, 0.8, 5),
    _Rule("card_number", is_card_number, 0.9, 10),
    _Rule("national_id", is_checked_number, 0.9, 20),
    _Rule("national_id", could_be_id, 0.8, 5, ID_WORDS, 0.5),
    _Rule("phone", is_phone, 0.6, 5),
    _Rule("phone", could_be_dialled, 0.8, 5, PHONE_WORDS, 0.2),
    _Rule("address", is_address, 0.5, 5),
    _Rule("address", could_be_address, 0.7, 10, ADDRESS_WORDS, 0.5),
)
"""The most specific first."""
_NOTES = (
    _Rule("free_text", is_sentence, 0.5, 10, None, 0.6),
    _Rule("free_text", lambda text: is_sentence(text, 3), 0.5, 10, NOTE_WORDS, 0.3),
)


def identifying_columns(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], reading: Reading, key: str | None = None
) -> tuple[IdentifyingColumn, ...]:
    """Find the columns of the release that identify people directly, in table order, each with its most specific kind.

    `sources` are the opened tables, named "original", "protected" and optionally "control". The findings depend neither
    on the row order nor on the number of threads. A column without values is never a finding. `key` names the column
    that the evaluation uses, which is not checked.
    """
    read = KnownTexts(con, reading, sources)
    release = next(source for source in sources if source.table == "protected")
    found: dict[str, IdentifyingColumn] = {}
    nearly_unique = {}
    for column, part in read.parts(release).items():
        if column == key:
            continue
        if release.rows <= _SAMPLE:
            sample = _whole(con, read.distinct(release, column))
        else:
            sample = _sample(con, read.kept_distinct(release, column, part))
        finding = _by_content(column, sample)
        if finding is not None:
            found[column] = finding
        if sample.cells >= LEAST_ROWS and sample.different >= NEARLY_UNIQUE:
            nearly_unique[column] = part
        if finding is not None or column not in nearly_unique:
            read.forget(column)
    if nearly_unique.keys() - found.keys() and any(source.table == "original" for source in sources):
        unique = UniqueColumns(con, read, sources, nearly_unique, key)
        for column in nearly_unique.keys() - found.keys():
            share = unique.share(column)
            read.forget(column)
            if share is not None:
                found[column] = IdentifyingColumn(column, "unique_values", share)
    return tuple(found[column] for column in release.types if column in found)


def _by_content(column: str, sample: _DistinctSample) -> IdentifyingColumn | None:
    """Return the finding if the values look like a direct identifier, else None."""
    for rule in _FORMS:
        if (share := rule.found(column, sample)) is not None:
            return IdentifyingColumn(column, rule.kind, share)
    share = share_of_names(column, sample.texts, sample.counts, sample.different)
    if share is not None:
        return IdentifyingColumn(column, "name", share)
    for rule in _NOTES:
        if (share := rule.found(column, sample)) is not None:
            return IdentifyingColumn(column, rule.kind, share)
    return None


def _whole(con: duckdb.DuckDBPyConnection, distinct: str) -> _DistinctSample:
    """Take all distinct values of a small table, which is quicker than to order them."""
    rows = sorted(con.execute(f"SELECT text, n FROM {distinct}").fetchall())
    counts = tuple(int(row[1]) for row in rows)
    return _DistinctSample(tuple(str(row[0]).strip() for row in rows), counts, len(rows), sum(counts))


def _sample(con: duckdb.DuckDBPyConnection, distinct: str) -> _DistinctSample:
    """Take the first distinct values by hash: the same ones for any row order."""
    query = (
        f"WITH texts AS MATERIALIZED (SELECT text, n FROM {distinct}) "
        "SELECT text, n, (SELECT count(*) FROM texts), (SELECT sum(n) FROM texts) "
        f"FROM texts ORDER BY hash(text), text, n LIMIT {_SAMPLE}"
    )
    rows = con.execute(query).fetchall()
    if not rows:
        return _DistinctSample((), (), 0, 0)
    texts = tuple(str(row[0]).strip() for row in rows)
    return _DistinctSample(texts, tuple(int(row[1]) for row in rows), int(rows[0][2]), int(rows[0][3]))
