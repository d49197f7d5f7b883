"""A first `audit.yaml`, guessed from two tables and written with reasons, for the user to correct.

This is the only place where settings are guessed, and none is used before the user has seen it. Comments contain counts
and column names, never a cell.

Proposal of a blocking key that keeps the records of one person together, as far as the tables show. A key that
separates them makes a release look safer than it is, so without evidence none is proposed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from cvpl.errors import InputError, Problem
from cvpl.result.publishing import SUPPRESS_BELOW, Disclosure
from cvpl.tables.columns import OBSERVABLE, ColumnSpec
from cvpl.tables.evaluation_only import ROW_NUMBER
from cvpl.tables.identifiers.values import could_be_dialled, is_email
from cvpl.tables.meaning.protected_values import is_gone, read_number, read_pair, read_time
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import open_all
from cvpl.tables.proposal.column import (
    PERHAPS_MISSING,
    USUAL_MISSING,
    ColumnProposal,
    GuessedType,
    add_doubt,
    gap_reason,
    guess_column,
    guess_types,
    is_plain,
    is_time,
    named_like_identity,
    nested_pairs,
    words,
)
from cvpl.tables.proposal.facts import Rows, SampledTables, SharedColumn
from cvpl.tables.proposal.truth import ProposedTruth, Spellings, guess_spellings, guess_truth
from cvpl.tables.source.connection import connect, identifier, literal, within_memory
from cvpl.tables.source.dialect import guess_dialect
from cvpl.tables.source.reading_settings import Encoding, Limits, Reading
from cvpl.tables.source.source import Source, display_name
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
    with connect() as con:
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
    types = {name: add_doubt(column, types[name], disclosure) for name, column in columns.items()}
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
            guesses[name] = _complete_proposal(guess, columns[name], truth, blocked, disclosure)
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


def _complete_proposal(
    guess: ColumnProposal, column: SharedColumn, truth: ProposedTruth, blocked: set[str], disclosure: Disclosure
) -> ColumnProposal:
    """Add what depends on the other columns: spellings of missing values, and the blocking key."""
    usual = [side.count(USUAL_MISSING) for side in (column.original, column.released)]
    if max(usual) >= disclosure.k:
        cells = disclosure.count_phrase(sum(usual), "cell", tables=2)
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
    found = con.execute(f"SELECT {repeated} FROM {identifier(source.table)}").fetchall()[0]
    like_cells = sum(_is_value(name.strip()) or bool(value) for name, value in zip(names, found, strict=True))
    return 2 * like_cells >= (len(names) if len(names) >= _MANY else len(names) + 1)


def _is_value(name: str) -> bool:
    return is_plain(name) or is_time(name) or is_email(name) or could_be_dialled(name)


_MOST_LABELS = 50
_RECALL = 0.99
"""A key that separates more than 1% of the known true pairs is not proposed."""
_SLACK = 0.001
"""Without known pairs, how much larger the missing share of a key column may be in the release than in the original."""

Keys = list[object]


@dataclass(frozen=True)
class _Key:
    """A rule to try, with the key of every label; `fits` is False if a released label allows values of several keys."""

    rule: dict[str, Any] | str
    ours: Keys
    theirs: Keys
    fits: bool = True


def add_block(guess: ColumnProposal, column: SharedColumn, pairs: str | None, disclosure: Disclosure) -> None:
    """Add a key to the settings, and the reason for or against it to the reasons.

    The rows of `column` are pairs known to belong to one person, and `pairs` says how many of them are looked at;
    None if no pair is known. Then a key is trusted if the release has no key that the
    original lacks, hardly more missing values, and every interval or time span fits into one key.
    """
    spec = ColumnSpec(column.name, "attribute", guess.settings["type"], guess.settings.get("separator"))
    known = set(column.original.labels)
    gone = {
        label for label in column.released.labels if label not in known and (spec.says_nothing(label) or is_gone(label))
    }
    complete = column.original.complete and column.released.complete
    best = 0.0
    for key in _keys(spec, column):
        if pairs is None:
            if not _keeps(key, column, gone):
                continue
            which = "all labels" if complete else "all labels looked at"
            text = f"{which} are consistent with it; but if values were changed, swapped or resampled, remove it"
        else:
            recall = _recall(key, column, gone)
            best = max(best, recall)
            if recall < _RECALL:
                continue
            text = f"{_share_in_words(recall, column, disclosure)} of the known true pairs{pairs} share it"
        guess.settings["block"] = key.rule
        guess.reasons.append(f"blocking key: {text}")
        return
    if best:
        share_words = _share_in_words(best, column, disclosure)
        guess.reasons.append(f"no blocking key: only {share_words} of the known true pairs{pairs} would share it")
    else:
        guess.reasons.append("no blocking key: too many labels, or it would separate true pairs")


def _share_in_words(share: float, column: SharedColumn, disclosure: Disclosure) -> str:
    """A share of the pairs that are looked at, rounded."""
    return percent(disclosure.with_sizes(sampled=len(column.original.codes)).share(share, "sampled"))


def _keys(spec: ColumnSpec, column: SharedColumn) -> list[_Key]:
    """List the rules to try, the finest first."""
    ours, theirs = column.original.labels, column.released.labels
    if spec.type == "numeric":
        return _bins(ours, theirs)
    if spec.type == "datetime":
        return [_truncated_key(ours, theirs, unit, length) for unit, length in (("month", 7), ("year", 4))]
    if spec.separator is not None:
        return [_Key({"level": 1}, [spec.path(label)[0] for label in ours], [spec.path(label)[0] for label in theirs])]
    found = [_Key("exact", list(ours), list(theirs))] if len(ours) <= _MOST_LABELS else []
    shown = [len(label.rstrip("*")) for label in theirs if not spec.says_nothing(label)]
    if any(label.endswith("*") for label in theirs) and min(shown, default=0) > 0:
        length = min(shown)
        found.append(_Key({"prefix": length}, [label[:length] for label in ours], [label[:length] for label in theirs]))
    return found


def _bins(ours: Sequence[str], theirs: Sequence[str]) -> list[_Key]:
    """List bins with widths of 1, 2 or 5 times a power of ten, from an eighth to half of the range."""
    numbers = np.array([float(label) for label in ours])
    smallest, largest = float(numbers.min()), float(numbers.max())
    reach = largest - smallest
    if reach <= 0:
        return []
    whole = bool(np.all(numbers == np.trunc(numbers)))
    released = [
        read_number(label, whole=whole, smallest=smallest, largest=largest)
        or read_pair(label, whole=whole, smallest=smallest, largest=largest)
        for label in theirs
    ]
    power = 10.0 ** math.floor(math.log10(reach / 8))
    found = []
    for width in (round(power * step, 12) for step in (1, 2, 5, 10, 20, 50)):
        if reach / 8 * 0.999 <= width <= reach / 2:
            found.append(
                _Key(
                    {"bin": int(width) if width >= 1 else width},
                    [float(key) for key in numbers // width],
                    [None if value is None else value.middle // width for value in released],
                    all(value is None or value.low // width == value.high // width for value in released),
                )
            )
    return found


def _truncated_key(ours: Sequence[str], theirs: Sequence[str], unit: str, length: int) -> _Key:
    sides = [[read_time(label) for label in labels] for labels in (ours, theirs)]
    keys: list[Keys] = [
        [None if span is None else (span.first + (span.last - span.first) / 2).isoformat()[:length] for span in side]
        for side in sides
    ]
    fits = all(span is None or span.first.isoformat()[:length] == span.last.isoformat()[:length] for span in sides[1])
    return _Key({"truncate": unit}, keys[0], keys[1], fits)


def _recall(key: _Key, column: SharedColumn, gone: set[str]) -> float:
    """Return the share of the pairs whose keys are equal; a missing or suppressed key equals only another such key."""
    numbered: dict[object, int] = {}
    sides = []
    for facts, keys in ((column.original, key.ours), (column.released, key.theirs)):
        codes = [
            -1 if label in gone else numbered.setdefault(value, len(numbered))
            for label, value in zip(facts.labels, keys, strict=True)
        ]
        sides.append(np.array([*codes, -1])[facts.codes])
    return float(np.mean(sides[0] == sides[1]))


def _keeps(key: _Key, column: SharedColumn, gone: set[str]) -> bool:
    shown = {value for label, value in zip(column.released.labels, key.theirs, strict=True) if label not in gone}
    missing = (column.released.missing + column.released.count(list(gone))) / column.released.rows
    allowed = column.original.missing / column.original.rows + _SLACK
    return key.fits and shown <= set(key.ours) and missing <= allowed
