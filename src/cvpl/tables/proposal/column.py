"""Guess a column's type, role, levels, groups and missing values, each with the reason.

A wrong guess must not make a release look safer than it is. A sensitive column is left out of the attack, so one is
proposed only for the user to confirm; an audit without a configuration compares it.

Guess which texts mean that a value is missing. A usual spelling such as NA or ? counts as missing wherever it occurs,
because `reading.missing` applies to all columns. It stays a label if it is one: only one column has it, and there it
fills more than a fifth of the cells, or the other labels are codes of the same form (NA among the countries). Rarer
spellings such as N or X count only if they keep numbers or times from being read, and no category has them.

Types that hinge on a few cells: one text among numbers, one interval in the release, one value more than ten. Such a
cell may be an error or a spelling of a missing value, and another type changes what attackers compare. So it is a doubt
that the user should check.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from cvpl.result.publishing import Disclosure
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.labels import find_covers
from cvpl.tables.meaning.protected_values import (
    Span,
    is_comma_number,
    is_gone,
    possible_orders,
    read_number,
    read_pair,
    read_time,
)
from cvpl.tables.proposal.facts import Facts, SharedColumn
from cvpl.wording import percent


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_QUASI = _set(
    "age agep sex gender race racp rac1p ethnic ethnicity hisp hispanic zip zipcode postcode postal plz region "
    "district state province country county city town municipality puma nationality native citizen citizenship "
    "language birth birthday birthdate birthplace dob born marital married msp education edu degree occupation "
    "profession job workclass employment industry indp household relationship family children residence housing"
)
_CODES = _set("zip zipcode postcode postal plz puma indp code")
_AMOUNTS = _set("age agep year years income salary amount price hours days height")
_PROTECTED = _set(
    "income salary wage pincp diagnosis disease illness religion political orientation hiv cancer stroke debt outcome "
    "status health condition treatment verdict"
)
_OUTCOMES = _set("class target label outcome result y")
"""Names of a column that a model is usually trained to predict, if it has two or three values."""
_MOST_OUTCOMES = 3
_IDENTITY = _set("id ids uuid guid key index number nr no pid")

_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_OTHER_DATE = re.compile(r"\d{1,4}[./]\d{1,2}[./]\d{1,4}.*")
_FEW_CODES = 10
_YES_OR_NO = 2
_MOST_ONE_HOT = 500
_FEWEST_WORDS = 3
_LOOKED_AT = 2_000
_MOST_TIMES = 10_000


@dataclass(frozen=True)
class ColumnProposal:
    """A column's settings, the reasons for them, and those of the reasons that the user should check.

    `unread` says which released labels nothing explains, if any. A column that is not `declared` is left to the user:
    only one who knows what is in it can say that it is to be ignored.
    """

    settings: dict[str, Any]
    reasons: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    main: str | None = None
    unread: list[str] = field(default_factory=list)
    declared: bool = True

    @property
    def reason(self) -> str:
        """The main reason: the one for the type, if there is one, else the first."""
        return self.main or next(iter(self.reasons), "")

    def doubt(self, reason: str) -> None:
        """Add a reason that the user should check."""
        self.reasons.append(reason)
        self.doubts.append(reason)


def words(name: str) -> set[str]:
    """Split a column name into words: "birthDate", "native-country", "PINCP_DECILE"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]+\d+[A-Z]*|\d+", name)
    return {part.lower() for part in parts} | {part.lower() for part in re.split(r"[\W_]+", name) if part}


def named_like_identity(name: str) -> bool:
    """Whether the name suggests that the column numbers records."""
    return bool(words(name) & _IDENTITY)


def is_plain(label: str) -> bool:
    """Whether the label is a plain, finite number."""
    return _PLAIN.fullmatch(label) is not None and math.isfinite(float(label))


def is_time(label: str) -> bool:
    """Whether the label is a day or a time."""
    span = read_time(label) if len(label) > 7 else None
    return span is not None and span.first == span.last


@dataclass(frozen=True)
class GuessedType:
    """A column's type and the reason for it; `doubtful` if the user should check it."""

    kind: str
    why: str
    doubtful: bool = False


def guess_type(column: SharedColumn, disclosure: Disclosure) -> GuessedType:
    """Guess the type, and give the reason."""
    values = column.original.labels
    known = set(values)
    released = [label for label in column.released.labels if not is_gone(label, known)]
    if values and all(is_plain(value) for value in values):
        return _type_of_numbers(column, released, disclosure)
    if values and all(is_time(value) for value in values):
        if all(label in known or read_time(label) is not None for label in released):
            return GuessedType("datetime", "times in both tables")
        return GuessedType("category", "times in the original, other text in the release", doubtful=True)
    if values and all(_OTHER_DATE.fullmatch(value) for value in values):
        why = "dates in another format? write them as 2024-05-01 so that they are read as times"
        return GuessedType("category", why, doubtful=True)
    many = disclosure.count_phrase(column.original.distinct, "different label")
    return GuessedType("category", many if len(values) != 1 else "one label")


def _type_of_numbers(column: SharedColumn, released: Sequence[str], disclosure: Disclosure) -> GuessedType:
    values = column.original.labels
    if any(re.fullmatch(r"0\d+", value) for value in values):
        return GuessedType("category", "numbers with leading zeros are codes")
    if words(column.name) & _CODES:
        return GuessedType("category", "codes, by the name")
    cut = cut_length(column, released)
    if cut is not None:
        digits = "digit" if cut == 1 else f"{cut} digits"
        why = f"codes whose first {digits} the release keeps, most likely. If they are amounts, set `type: numeric`"
        return GuessedType("category", why, doubtful=True)
    spelled = [label for label in released if not is_plain(label)]
    numbers = [float(value) for value in values]
    known: dict[str, Any] = {
        "whole": all(number.is_integer() for number in numbers),
        "smallest": min(numbers),
        "largest": max(numbers),
    }
    read = (read_number(label, **known) or read_pair(label, **known) for label in spelled)
    unread = [label for label, found in zip(spelled, read, strict=True) if found is None]
    if unread:
        cells = disclosure.count_phrase(column.released.count(unread), "cell")
        if not column.released.complete:
            cells = "some cells"
        why = (
            f"numbers in the original, other text in {cells} of the release. If it means missing, list its spelling "
            "under `reading.missing`"
        )
        return GuessedType("category", why, doubtful=True)
    few = len(values) <= _FEW_CODES and all(value.lstrip("-").isdecimal() for value in values)
    if few and len(values) <= _YES_OR_NO and not spelled:
        return GuessedType("category", "two whole numbers" if len(values) == _YES_OR_NO else "one whole number")
    if few and not spelled and not words(column.name) & _AMOUNTS:
        why = f"at most {_FEW_CODES} different whole numbers: codes, most likely."
        why += " If they are amounts, set `type: numeric`"
        return GuessedType("category", why, doubtful=True)
    return GuessedType("numeric", f"numbers in both tables{', and intervals in the release' if spelled else ''}")


def guess_column(
    column: SharedColumn, guessed: GuessedType, disclosure: Disclosure, *, compare_sensitive: bool = False
) -> ColumnProposal:
    """Guess every setting except the blocking key. With `compare_sensitive`, no column is left out as sensitive."""
    kind, why = guessed.kind, guessed.why
    guess = ColumnProposal({"role": "attribute", "type": kind}, main=why)
    known = set(column.original.labels)
    gone = column.released.count([label for label in column.released.labels if is_gone(label, known)])
    if max(column.original.missing, column.released.missing, gone) >= disclosure.k:
        ours, theirs, stars = (
            disclosure.count_phrase(count, "cell") for count in (column.original.missing, column.released.missing, gone)
        )
        more = f", {stars} suppressed" if gone >= disclosure.k else ""
        guess.reasons.append(f"missing: {ours} of the original, {theirs} of the release{more}")
    (guess.doubt if guessed.doubtful else guess.reasons.append)(why)
    distinct, rows = column.original.distinct, column.original.rows
    different = disclosure.count_phrase(distinct, "different value")
    read = read_groups(column) if kind == "category" else None
    if kind == "category" and distinct > max(50, rows // 2) and not (read and read.labels):
        guess.doubt(f"{different} in {rows:,} rows: an identifier or free text?")
        if column.shared >= disclosure.k:
            shared = disclosure.count_phrase(column.shared, "value")
            guess.reasons.append(f"the release has {shared} too. If they identify people, do not release them")
        if not _is_written_otherwise(column):
            guess.reasons.append("left out; make it a category if an attacker could compare it")
            return ColumnProposal({"role": "ignore"}, guess.reasons, guess.doubts)
        if not _has_words(column):
            guess.settings["vectorize"] = False
        guess.reasons.append(
            "the release writes most of it otherwise: compared, so that an audit says if nobody reads it"
        )
    if kind == "numeric" and distinct > rows / 2 and column.shared > column.released.distinct / 2:
        guess.doubt(
            f"{different} in {rows:,} rows, and the release keeps {disclosure.count_phrase(column.shared, 'value')} "
            "unchanged: nearly an identifier"
        )
    if words(column.name) & _QUASI:
        guess.settings["role"] = "quasi_identifier"
        guess.reasons.append("a quasi-identifier by its name")
    elif _looks_sensitive(column, kind) and compare_sensitive:
        guess.doubt("sensitive by its name; compared, because an outsider might know it")
    elif _looks_sensitive(column, kind):
        guess.doubt("sensitive by its name, so no attacker compares it. If an outsider may know it: role attribute")
        return ColumnProposal({"role": "sensitive", "type": kind}, guess.reasons, guess.doubts)
    if kind == "category":
        _add_levels(guess, column, disclosure)
    if kind == "datetime":
        guess.settings["features"] = _features(column)
    return guess


def _is_written_otherwise(column: SharedColumn) -> bool:
    """Whether the release has values in the column, and most are not the original's: left out, none would miss them."""
    known = set(column.original.labels)
    others = any(label not in known and not is_gone(label, known) for label in column.released.labels)
    return others and column.shared <= column.released.distinct / 2


def _has_words(column: SharedColumn) -> bool:
    """Whether the original's labels are texts of several words, numbers apart: they are compared by their words."""
    some = column.original.labels[:: 1 + len(column.original.labels) // _LOOKED_AT]
    found = [sum(any(sign.isalpha() for sign in part) for part in label.split()) for label in some]
    return sum(found) >= _FEWEST_WORDS * max(1, len(found)) and column.original.distinct > column.original.rows // 2


def _looks_sensitive(column: SharedColumn, kind: str) -> bool:
    """Whether the name, or the name of an outcome with few values, suggests that the column is to be protected."""
    named = words(column.name)
    outcome = kind == "category" and len(column.original.labels) <= _MOST_OUTCOMES and bool(named & _OUTCOMES)
    return bool(named & _PROTECTED) or outcome


def _add_levels(guess: ColumnProposal, column: SharedColumn, disclosure: Disclosure) -> None:
    """Add a separator if every original label has it, and another encoding if one-hot is not suitable."""
    labels = column.original.labels
    for separator in ("/", "|", ">"):
        if labels and all(separator in label.strip(separator) for label in labels):
            guess.settings["separator"] = separator
            guess.reasons.append(f"every label has levels, separated by '{separator}'")
            break
    known = set(labels)
    unknown = [label for label in column.released.labels if label not in known and not is_gone(label)]
    read = read_groups(column, guess.settings.get("separator"))
    _add_reading(guess, column, read, disclosure)
    if unknown and "separator" in guess.settings:
        guess.settings["encode"] = "hierarchical"
        guess.reasons.append("the release has labels that the original lacks, so labels are compared level by level")
    elif unread := [label for label in unknown if label not in read.labels]:
        share = disclosure.share_of_records(column.released.count(unread), column.released.rows)
        least = "" if column.released.complete else "at least "
        if share is not None:
            told = f"the labels of {least}{percent(share)} of the release's records"
            guess.unread.append(told)
            guess.doubt(
                f"{told} are not in the original, so no original label matches: generalized? give a `hierarchy` file"
            )
    number = max(len(known.union(unknown)), column.original.distinct)
    if number > _MOST_ONE_HOT and guess.settings.get("vectorize", True) and not _has_words(column):
        guess.settings["encode"] = "frequency"
        guess.reasons.append(f"more than {_MOST_ONE_HOT} labels; `encode: one_hot` would compare them, but slowly")


def _add_reading(guess: ColumnProposal, column: SharedColumn, read: ReadGroups, disclosure: Disclosure) -> None:
    """Say which labels are read as groups of original ones by their spelling, without any label."""
    share = disclosure.share_of_records(column.released.count(read.labels), column.released.rows)
    if not read.labels or share is None:
        return
    least = "" if column.released.complete else "at least "
    guess.doubt(
        f"the labels of {least}{percent(share)} of the release's records are read as groups of original labels, by "
        f"their spelling ({', '.join(read.kinds)}); if they mean something else, give a `hierarchy` file"
    )


def _features(column: SharedColumn) -> list[str]:
    """List the time features: elapsed days, and the parts of a time that vary in both tables."""
    parts: dict[str, Callable[[datetime], int]] = {
        "hour": lambda time: time.hour,
        "day_of_week": lambda time: time.weekday(),
        "month": lambda time: time.month,
    }
    spans = [
        [
            span
            for label in facts.labels[:: 1 + len(facts.labels) // _MOST_TIMES]
            if (span := read_time(label)) is not None
        ]
        for facts in (column.original, column.released)
    ]
    found = ["elapsed_days"]
    for name, part in parts.items():
        if all(_varies(side, part) for side in spans):
            found.append(name)
    # If every time was rounded down to the first of its month, the weekday says nothing about the person.
    if "day_of_week" in found and not all(_varies(side, lambda time: time.day) for side in spans):
        found.remove("day_of_week")
    return found


def _varies(spans: Sequence[Span], part: Callable[[datetime], int]) -> bool:
    return len({part(span.first) for span in spans if part(span.first) == part(span.last)}) > 1


SHORTEST_CODE = 3
"""Numbers with fewer digits are not taken for codes that the release cut."""
CUT_SHARE = 0.95
"""Codes were cut if at least this share of the released cells begin an original code."""


@dataclass(frozen=True)
class ReadGroups:
    """The released labels that stand for original ones by their spelling, and the kinds of these spellings."""

    labels: frozenset[str]
    kinds: tuple[str, ...]


def read_groups(column: SharedColumn, separator: str | None = None) -> ReadGroups:
    """The released labels that cover labels of the original, read as an attack reads them."""
    own, released = set(column.original.labels), set(column.released.labels)
    labels = sorted(own | released)
    here, there = (np.array([label in side for label in labels], dtype=bool) for side in (own, released))
    spec = ColumnSpec(column.name, "attribute", "category", separator)
    found = [
        cover
        for cover in find_covers(spec, labels, here, there)
        if labels[cover.code] not in own and any(here[member] for member in cover.members)
    ]
    return ReadGroups(
        frozenset(labels[cover.code] for cover in found), tuple(dict.fromkeys(cover.kind for cover in found))
    )


def cut_length(column: SharedColumn, released: Sequence[str]) -> int | None:
    """To how many digits the release cut the original's codes; None if it did not.

    All original numbers have the same number of digits, at least three, and all released ones the same smaller number.
    """
    whole, cut = (_one_length(labels) for labels in (column.original.labels, released))
    if whole is None or cut is None or whole < SHORTEST_CODE or cut >= whole:
        return None
    beginnings = {label[:cut] for label in column.original.labels}
    cells = column.released.count(released)
    known = column.released.count([label for label in released if label in beginnings])
    return cut if cells and known >= CUT_SHARE * cells else None


def _one_length(labels: Collection[str]) -> int | None:
    """The length of all labels, if they have one length and only digits."""
    lengths = {len(label) for label in labels}
    return lengths.pop() if len(lengths) == 1 and all(label.isdecimal() for label in labels) else None


def nested_pairs(column: SharedColumn) -> float | None:
    """The share of known pairs of rows that nest: the released label is the one that the original's has most often.

    Only released labels that the original lacks count. None without such a pair, if there are not fewer of them than of
    their original labels, and if fewer than `CUT_SHARE` of the pairs nest: the column was not grouped label by label.
    """
    own = set(column.original.labels)
    foreign = np.array([*(label not in own for label in column.released.labels), False])
    ours, theirs = column.original.codes, column.released.codes
    used = (ours >= 0) & foreign[theirs]
    if not used.any():
        return None
    counts = np.zeros((len(column.original.labels), len(column.released.labels)), dtype=np.int64)
    np.add.at(counts, (ours[used], theirs[used]), 1)
    labels, groups = (int((counts.sum(axis=axis) > 0).sum()) for axis in (1, 0))
    share = float(counts.max(axis=1).sum() / counts.sum())
    return share if labels > groups and share >= CUT_SHARE else None


USUAL_MISSING = ("?", "-", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None", "nan", "NaN", "NaT")
PERHAPS_MISSING = ("N", "--", ".", "X", "U")
"""Spellings that are just as often labels: they count as missing only if no category has them."""
MOST_CELLS = 0.2
"""A spelling that only one category has, in more than this share of its cells, is a label."""


def guess_types(
    columns: Mapping[str, SharedColumn], disclosure: Disclosure
) -> tuple[dict[str, GuessedType], list[str]]:
    """Guess every column's type with its reason, and the spellings to read as missing."""
    types = {name: guess_type(column, disclosure) for name, column in columns.items()}
    found: dict[str, set[str]] = {}
    for name, column in columns.items():
        gaps = column.labels & {*USUAL_MISSING, *PERHAPS_MISSING}
        bare = guess_type(column.without(sorted(gaps)), disclosure) if gaps else types[name]
        if gaps and bare.kind != "category":
            found[name], types[name] = gaps, bare
    labels = {label for name, column in columns.items() if types[name].kind == "category" for label in column.labels}
    for name, gaps in list(found.items()):
        if gaps & labels & set(PERHAPS_MISSING):
            del found[name]
            types[name] = GuessedType(
                "category",
                "numbers, except for a spelling that is a label in other columns; if it means missing everywhere, list "
                "it under `reading.missing` and make this numeric",
                doubtful=True,
            )
    needed = set().union(*found.values())
    listed = sorted(needed | {text for text in USUAL_MISSING if text not in needed and _is_gap(text, columns)})
    for name, column in columns.items():
        if types[name].kind == "category" and not column.labels.isdisjoint(listed):
            types[name] = guess_type(column.without(listed), disclosure)
    return types, listed


def _is_gap(text: str, columns: Mapping[str, SharedColumn]) -> bool:
    """Whether a usual spelling that only categories have means missing in them."""
    having = [column for column in columns.values() if _has_text(column, text)]
    if len(having) != 1:
        return bool(having)
    column = having[0]
    cells = column.original.count([text]) + column.released.count([text])
    share = cells / max(1, column.original.known + column.released.known)
    others = column.labels - {text}
    codes = text.isalpha() and all(len(label) == len(text) and label.isalpha() for label in others)
    return share <= MOST_CELLS and not (codes and text.isupper() and others)


def _has_text(column: SharedColumn, text: str) -> bool:
    """Whether a cell has the text, other than a released cell that is suppressed by it."""
    return text in column.labels and (not is_gone(text) or text in column.original.labels)


def gap_reason(
    columns: Mapping[str, SharedColumn], types: Mapping[str, GuessedType], gaps: Sequence[str], disclosure: Disclosure
) -> str:
    """Explain why spellings are listed: how many cells of which columns, and what to check."""
    counts = {name: column.original.count(gaps) + column.released.count(gaps) for name, column in columns.items()}
    counts = {name: count for name, count in counts.items() if count}
    cells = ", ".join(
        f"{disclosure.count_phrase(count, 'cell', tables=2)} of {_quote_name(name)}" for name, count in counts.items()
    )
    blocked = [_quote_name(name) for name in counts if types[name].kind != "category"]
    others = [_quote_name(name) for name in counts if types[name].kind == "category"]
    text = f"spellings of a missing value, read as missing: {cells}"
    if blocked:
        text += f". They keep {', '.join(blocked)} from being read as numbers or times"
        text += f"; this empties cells of {', '.join(others)} too: are they labels there?" if others else ""
        return text
    return f"{text}: are they labels there?"


def _quote_name(name: str) -> str:
    return f"'{name}'"


FEW_CELLS = 0.05
"""A type hinges on cells if they are at most this share of those that are not missing, or one cell."""


@dataclass(frozen=True)
class _DecidingLabels:
    """Labels that may decide a type: of which table, what they are, and the type without them if it is not guessed."""

    labels: frozenset[str]
    facts: Facts
    what: str
    otherwise: str | None = None


def add_doubt(column: SharedColumn, guessed: GuessedType, disclosure: Disclosure) -> GuessedType:
    """The guessed type, with a doubt if a few cells decide it: without them it would be another type.

    A type that is in doubt already stays as it is.
    """
    if guessed.doubtful:
        return guessed
    for odd in _odd_labels(column):
        if not few_cells(odd.facts, odd.labels):
            continue
        other = odd.otherwise or guess_type(column.without(odd.labels), disclosure).kind
        if other != guessed.kind:
            cells = describe_cells(odd.facts, odd.labels, disclosure)
            doubt = (
                f"type decided by {cells} {odd.what}: without them it would be {other}. Correct them, or list their "
                "spelling under `reading.missing` if they mean missing"
            )
            return replace(guessed, why=f"{guessed.why}; {doubt}", doubtful=True)
    return guessed


def few_cells(facts: Facts, labels: frozenset[str]) -> bool:
    """Whether cells have these labels, but at most `FEW_CELLS` of the known ones, or one cell.

    If not all labels are looked at, the share is that among the rows looked at.
    """
    cells = facts.count(labels)
    if not cells:
        return False
    if facts.complete:
        return cells <= max(1, FEW_CELLS * facts.known)
    wanted = np.array([label in labels for label in facts.labels], dtype=bool)
    known = facts.codes[facts.codes >= 0]
    return len(known) > 0 and bool(wanted[known].mean() <= FEW_CELLS)


def describe_cells(facts: Facts, labels: frozenset[str], disclosure: Disclosure) -> str:
    """How many cells have these labels, as it may be told."""
    return disclosure.count_phrase(facts.count(labels), "cell") if facts.complete else "some cells"


def _odd_labels(column: SharedColumn) -> Iterator[_DecidingLabels]:
    original, released = column.original, column.released
    known = set(original.labels)

    def ours(is_odd: Callable[[str], bool]) -> frozenset[str]:
        return frozenset(label for label in original.labels if is_odd(label))

    yield _DecidingLabels(ours(partial(_is_no, is_plain)), original, "of the original that are not numbers")
    yield _DecidingLabels(ours(partial(_is_no, is_time)), original, "of the original that are not times")
    if any("," in label for label in original.labels):
        commas = ours(partial(_is_no, is_comma_number))
        yield _DecidingLabels(commas, original, "of the original that are not numbers with a decimal comma", "numeric")
    yield _DecidingLabels(
        ours(partial(_is_no, possible_orders)), original, "of the original that are not days", "datetime"
    )
    yield _DecidingLabels(ours(lambda label: re.fullmatch(r"0\d+", label) is not None), original, "with leading zeros")
    yield _DecidingLabels(ours(lambda label: not label.lstrip("-").isdecimal()), original, "with decimals")
    spelled = frozenset(label for label in released.labels if not is_plain(label) and not is_gone(label, known))
    yield _DecidingLabels(spelled, released, "of the release that are not plain numbers")
    once = frozenset(label for label, count in zip(original.labels, original.counts, strict=True) if count == 1)
    yield _DecidingLabels(once, original, "of the original whose values occur once")


def _is_no(form: Callable[[str], object], label: str) -> bool:
    return not form(label)
