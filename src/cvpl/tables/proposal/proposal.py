"""A first `audit.yaml`, guessed from two tables and written with reasons, for the user to correct.

This is the only place where settings are guessed, and none is used before the user has seen it. Comments contain counts
and column names, never a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from cvpl.errors import InputError, Problem
from cvpl.result.published import Disclosure
from cvpl.result.rounding import SUPPRESS_BELOW
from cvpl.tables.columns import OBSERVABLE
from cvpl.tables.evaluation_only.identity import ROW_NUMBER
from cvpl.tables.identifiers.patterns import could_be_dialled, is_email
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import open_all
from cvpl.tables.proposal.ambiguous_types import with_doubt
from cvpl.tables.proposal.block import add_block
from cvpl.tables.proposal.column import (
    ColumnProposal,
    GuessedType,
    guess_column,
    is_plain,
    is_time,
    named_like_identity,
    words,
)
from cvpl.tables.proposal.facts import Rows, SharedColumn
from cvpl.tables.proposal.groups import nested_pairs
from cvpl.tables.proposal.missing import PERHAPS_MISSING, USUAL_MISSING, gap_reason, guess_types
from cvpl.tables.proposal.sampled_tables import SampledTables
from cvpl.tables.proposal.spellings import Spellings, guess_spellings
from cvpl.tables.proposal.truth import ProposedTruth, guess_truth
from cvpl.tables.source.connection import connected, within_memory
from cvpl.tables.source.dialect import guess_dialect
from cvpl.tables.source.encoding import Encoding
from cvpl.tables.source.limits import Limits
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, display_name
from cvpl.tables.source.sql_text import literal, quoted
from cvpl.wording import is_unseen, percent, sentence

if TYPE_CHECKING:
    import duckdb

_ENCODINGS: tuple[Encoding, ...] = ("utf-8", "latin-1", "windows-1252")
_MOST_KEYS = 3
_MOST_UNPROVEN_KEYS = 1
"""Without known true pairs, every further key may separate more of them, and it would not show."""
_WIDTH = 116

_HEAD = [
    "# A first guess from the two tables. Check every line: columns that are left out are not audited.",
    "# Roles: id (identifies the person, never used to link), quasi_identifier (an outsider may know it, may block),",
    "#        attribute (compared), sensitive (to be protected, never used), group, ignore.",
]
_FOOT = [
    "# The assumed attacker. `default` is an ensemble of attackers, with and without blocking, each tested on releases",
    "# with known matches; the strongest is the headline. `paper` is one of them, and faster: it blocks as stated",
    "# above and compares z-scored numbers and one-hot categories after PCA by cosine. This line is required, because",
    "# the result depends on this assumption.",
    "attacker: default",
    "threshold: 0.90   # how similar two records must be to count as linked, for attackers whose score has that scale",
    "seed: 42",
    "# People known to be absent from the release show how many links arise by chance:",
    "# control: {file: holdout.csv}",
]


@dataclass(frozen=True)
class TablesProposal:
    """The guesses for two tables: their columns, how to read them, and which rows belong to the same person."""

    columns: Mapping[str, ColumnProposal]
    reading: Reading
    reading_reasons: tuple[str, ...]
    truth: ProposedTruth
    disclosure: Disclosure

    @property
    def same_order(self) -> str | None:
        """What suggests that row i of the release is row i of the original, if anything does."""
        order = self.truth.same_order
        if order is None:
            return None
        return f"row i of the release seems to be row i of the original: {order.describe(self.disclosure)}"

    def text(self) -> str:
        """The guesses as a commented `audit.yaml`."""
        lines = [*_HEAD, *_column_lines(self.columns), *_reading_lines(self.reading, self.reading_reasons)]
        return "\n".join([*lines, *_truth_lines(self.truth, self.same_order), *_FOOT]) + "\n"


@within_memory
def propose_tables(
    original: object, protected: object, *, compare_sensitive: bool = False, limits: Limits | None = None
) -> TablesProposal:
    """Guess the settings for two tables. Raises InputError if they cannot be compared, LimitError beyond `limits`.

    A column that seems sensitive is proposed as such; with `compare_sensitive` it is compared nevertheless.
    """
    reading, why = _reading(original, protected, limits)
    problems: list[Problem] = []
    with connected() as con:
        sources = open_all(con, {"original": original, "protected": protected}, reading, problems)
        if problems:
            raise InputError(problems)
        _check_headers(con, sources)
        return _proposal(con, sources, reading, why, compare_sensitive)


def _proposal(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], reading: Reading, why: list[str], compare_sensitive: bool
) -> TablesProposal:
    """Guess the settings for two opened tables."""
    reader = ColumnReader(con, reading, [], [])
    missing = (*USUAL_MISSING, *PERHAPS_MISSING)
    tables = SampledTables(con, reader, sources, missing)
    disclosure = _disclosure(sources)

    def look(original: Rows, released: Rows) -> Spellings:
        return guess_spellings(tables.columns(original, released), sources, missing, reading.delimiter, disclosure)

    truth = guess_truth(con, reader, sources, tables, look, disclosure)
    spelled = truth.spelled
    columns = {name: column.spelled_alike() for name, column in spelled.columns.items()}
    why.extend(spelled.reasons)
    types, gaps = guess_types(columns, disclosure)
    reading = replace(reading, decimal=spelled.decimal, dates=spelled.dates)
    if gaps:
        why.append(gap_reason(columns, types, gaps, disclosure))
        reading = replace(reading, missing=("", *gaps))
    columns = {name: column.without(gaps) for name, column in columns.items()}
    types = {name: with_doubt(column, types[name], disclosure) for name, column in columns.items()}
    guesses = _guesses(sources, columns, types, truth, disclosure, compare_sensitive)
    _add_doubts(guesses, spelled)
    return TablesProposal(guesses, reading, tuple(why), truth, disclosure)


def _disclosure(sources: Sequence[Source]) -> Disclosure:
    """The rounding of an audit with the proposed settings: with fewer than 2 k records counts are exact."""
    rows = [source.rows for source in sources]
    k = SUPPRESS_BELOW if min(rows) >= 2 * SUPPRESS_BELOW else 1
    return Disclosure(k, dict(zip(("originals", "protected"), rows, strict=True)))


def _reading(original: object, protected: object, limits: Limits | None) -> tuple[Reading, list[str]]:
    """Guess delimiter, encoding and stripping for both tables, from the first lines of the CSV files."""
    dialects = [guess_dialect(data, limits) for data in (original, protected)]
    delimiters = {dialect.reading.delimiter for dialect in dialects if dialect.delimited}
    if len(delimiters) > 1:
        where = " and ".join(display_name(data, "") for data in (original, protected))
        cure = "Write one of them again: `reading.delimiter` applies to all tables."
        raise InputError([Problem(where, "the fields are separated in two different ways", cure)])
    strip = any(dialect.reading.strip for dialect in dialects)
    # One encoding for all files that are not UTF-8: Windows-1252 has every letter of Latin-1.
    encoding = max((dialect.reading.encoding for dialect in dialects), key=_ENCODINGS.index)
    reading = Reading(strip=strip, delimiter=min(delimiters, default=","), encoding=encoding, limits=limits or Limits())
    return reading, [reason for dialect in dialects for reason in dialect.reasons]


def _add_doubts(guesses: Mapping[str, ColumnProposal], spelled: Spellings) -> None:
    """Add what to check of the spelling to columns that are compared or left out for it."""
    for name, doubt in spelled.doubts.items():
        if guesses[name].settings["role"] != "id":
            guesses[name].doubt(doubt)


def _check_headers(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    """Reject tables whose first line is not a header: its cells would become keys of the configuration."""
    problems = [
        Problem(source.name, "the first line looks like a record, not a header", "Add a header.")
        for source in sources
        if lacks_header(con, source)
    ]
    if not problems and not set(sources[0].types) & set(sources[1].types):
        where = " and ".join(source.name for source in sources)
        cure = "Check that both have a header with the same spelling."
        problems.append(Problem(where, "the tables have no column in common", cure))
    if problems:
        raise InputError(problems)


def _guesses(
    sources: Sequence[Source],
    columns: Mapping[str, SharedColumn],
    types: Mapping[str, GuessedType],
    truth: ProposedTruth,
    disclosure: Disclosure,
    compare_sensitive: bool,
) -> dict[str, ColumnProposal]:
    guesses: dict[str, ColumnProposal] = {}
    blocked: set[str] = set()
    for name in dict.fromkeys(name for source in sources for name in source.types):
        note = truth.notes.get(name)
        if name not in columns:
            where = next(source for source in sources if name in source.types)
            guesses[name] = ColumnProposal(
                {"role": "ignore"},
                [f"only in {where.name}, so it cannot be compared"],
                declared=where is sources[0] or note is not None,
            )
        elif truth.keys is not None and name == truth.keys.original:
            guesses[name] = ColumnProposal({"role": "id"}, list(truth.reasons))
        elif note is not None:
            guesses[name] = ColumnProposal({"role": "ignore"})
        elif columns[name].unique and named_like_identity(name):
            reason = (
                "every original value is different, and the name suggests an identifier; the release does not repeat it"
            )
            guesses[name] = ColumnProposal({"role": "ignore"}, [reason], [reason])
        else:
            guess = guess_column(columns[name], types[name], disclosure, compare_sensitive=compare_sensitive)
            if guess.unread and truth.keys is not None:
                _add_nesting(guess, columns[name], truth.sample, disclosure)
            guesses[name] = _blocked(guess, columns[name], truth, blocked, disclosure)
        if note is not None:
            guesses[name].reasons.append(note)
    return guesses


def _add_nesting(guess: ColumnProposal, column: SharedColumn, pairs: str, disclosure: Disclosure) -> None:
    """Say that unread labels are groups, as far as the known pairs show it, and how sure that is."""
    share = nested_pairs(column)
    if share is None:
        return
    told = percent(disclosure.with_sizes(sampled=len(column.original.codes)).share(share, "sampled"))
    guess.doubt(
        f"in {told} of the known true pairs{pairs} an original label comes with the same released one, and there are "
        "fewer of these, so they are groups: a `hierarchy` file with a line `label;group` for each label explains them"
    )


def _blocked(
    guess: ColumnProposal, column: SharedColumn, truth: ProposedTruth, blocked: set[str], disclosure: Disclosure
) -> ColumnProposal:
    """Add what depends on the other columns: spellings of missing values, and the blocking key."""
    usual = [side.count(USUAL_MISSING) for side in (column.original, column.released)]
    if max(usual) >= disclosure.k:
        cells = disclosure.counted(sum(usual), "cell", tables=2)
        guess.doubt(
            f"{cells} {'is' if sum(usual) == 1 else 'are'} spelled like a missing value (?, NA, null, ...) and counted "
            "as a label; list the spelling under `reading.missing` if it means missing"
        )
    if guess.settings["role"] != "quasi_identifier":
        return guess
    kin = words(column.name)
    if len(blocked) >= (_MOST_KEYS if truth.keys is not None else _MOST_UNPROVEN_KEYS):
        if truth.keys is not None:
            guess.reasons.append(f"no blocking key: {_MOST_KEYS} columns are keys, and more would separate true pairs")
        else:
            guess.reasons.append(
                "no blocking key: without known true pairs, a second key could separate people from their records "
                "unnoticed. Add `block` if the release leaves this column exact"
            )
    elif any(kin & words(name) for name in blocked):
        guess.reasons.append("no blocking key: a column with a similar name is one already")
    else:
        add_block(guess, column, None if truth.keys is None else truth.sample, disclosure)
        if "block" in guess.settings:
            blocked.add(column.name)
    return guess


def _column_lines(guesses: Mapping[str, ColumnProposal]) -> list[str]:
    lines = []
    if not any(guess.settings["role"] in OBSERVABLE for guess in guesses.values()):
        lines.append("# No column seems comparable: give at least one the role quasi_identifier or attribute.")
    lines.append("columns:")
    width = max(len(_key(name)) for name in guesses) + 1
    for name, guess in guesses.items():
        undeclared = "" if guess.declared else "# "
        lines.append(f"  {undeclared}{_key(name) + ':':<{width}} {_flow(guess.settings)}")
        lines.extend(line for reason in guess.reasons for line in _comment(reason, "    "))
    return lines


def _reading_lines(reading: Reading, why: Sequence[str]) -> list[str]:
    if reading == Reading():
        return []
    lines = ["reading:", *(line for reason in why for line in _comment(reason, "  "))]
    if reading.strip:
        lines.append("  strip: true")
    if reading.delimiter != ",":
        lines.append(f"  delimiter: {_flow(reading.delimiter)}")
    if reading.encoding != "utf-8":
        lines.append(f"  encoding: {reading.encoding}")
    if reading.decimal != ".":
        lines.append(f"  decimal: {_flow(reading.decimal)}")
    if reading.dates != "iso":
        lines.append(f"  dates: {reading.dates}")
    if reading.missing != ("",):
        lines.append(f"  missing: {_flow(list(reading.missing))}")
    if reading.limits != Limits():
        usual = asdict(Limits())
        raised = {name: most for name, most in asdict(reading.limits).items() if most != usual[name]}
        lines.append(f"  limits: {_flow(raised)}")
    return lines


def _truth_lines(truth: ProposedTruth, same_order: str | None) -> list[str]:
    lines = []
    if same_order is not None:
        cure = "Anyone with the original in its order can match the people: shuffle the release before you publish it."
        lines += _comment(f"{sentence(same_order)} {cure}")
    if truth.keys is None:
        lines.append(
            "# No column identifies people in both tables, so true matches are unknown. If a column or the position "
            "does, write:"
        )
        lines.append(f"# truth: {{original: {ROW_NUMBER}, protected: index}}")
    elif truth.keys.original == ROW_NUMBER:
        lines += [line for reason in truth.reasons for line in _comment(reason)]
        lines.append(f"truth: {_flow({'original': ROW_NUMBER, 'protected': truth.keys.protected})}")
    return lines


def _comment(text: str, indent: str = "") -> list[str]:
    """Return the text as comment lines, without line ends."""
    lines = [""]
    for word in "".join("?" if is_unseen(letter) else letter for letter in text).split(" "):
        if lines[-1] and len(indent) + len(lines[-1]) + len(word) > _WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return [f"{indent}# {line}" for line in lines]


def _key(name: str) -> str:
    """Return a column name as a YAML key, on one line."""
    plain = _flow(name)
    if "\n" not in plain and not any(map(is_unseen, plain)):
        return plain
    return yaml.safe_dump(name, default_style='"', width=10**6).strip()


def _flow(value: Any, *, allow_unicode: bool = True) -> str:
    """A value as YAML on one line, beyond ASCII escaped if there is a sign in it that a reader would not see."""
    written = (
        yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=allow_unicode, width=10**6)
        .strip()
        .removesuffix("\n...")
    )
    return _flow(value, allow_unicode=False) if allow_unicode and any(map(is_unseen, written)) else written


_MANY = 4


def lacks_header(con: duckdb.DuckDBPyConnection, source: Source) -> bool:
    """Whether most of the column names look like cells; half of them are enough if there are four or more.

    A name looks like a cell if it is a number, a time, an e-mail address or a telephone number, or if its own column
    has it as a value.
    """
    names = list(source.types)
    repeated = ", ".join(
        f"coalesce(bool_or(trim(CAST({source.field(name)} AS VARCHAR)) = {literal(name.strip())}), false)"
        for name in names
    )
    found = con.execute(f"SELECT {repeated} FROM {quoted(source.table)}").fetchall()[0]
    like_cells = sum(_is_value(name.strip()) or bool(value) for name, value in zip(names, found, strict=True))
    return 2 * like_cells >= (len(names) if len(names) >= _MANY else len(names) + 1)


def _is_value(name: str) -> bool:
    return is_plain(name) or is_time(name) or is_email(name) or could_be_dialled(name)
