"""Guess a column's type, role, levels and features, each with the reason.

A wrong guess must not make a release look safer than it is. A sensitive column is left out of the attack, so one is
proposed only for the user to confirm; an audit without a configuration compares it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cvpl.result.published import Disclosure
from cvpl.tables.meaning.protected_values import Span, is_gone, read_number, read_pair, read_time
from cvpl.tables.proposal.facts import SharedColumn
from cvpl.tables.proposal.groups import ReadGroups, cut_length, read_groups
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
_FEW = 10
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
    many = disclosure.counted(column.original.distinct, "different label")
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
        cells = disclosure.counted(column.released.count(unread), "cell")
        if not column.released.complete:
            cells = "some cells"
        why = (
            f"numbers in the original, other text in {cells} of the release. If it means missing, list its spelling "
            "under `reading.missing`"
        )
        return GuessedType("category", why, doubtful=True)
    few = len(values) <= _FEW and all(value.lstrip("-").isdecimal() for value in values)
    if few and len(values) <= _YES_OR_NO and not spelled:
        return GuessedType("category", "two whole numbers" if len(values) == _YES_OR_NO else "one whole number")
    if few and not spelled and not words(column.name) & _AMOUNTS:
        why = f"at most {_FEW} different whole numbers: codes, most likely. If they are amounts, set `type: numeric`"
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
            disclosure.counted(count, "cell") for count in (column.original.missing, column.released.missing, gone)
        )
        more = f", {stars} suppressed" if gone >= disclosure.k else ""
        guess.reasons.append(f"missing: {ours} of the original, {theirs} of the release{more}")
    (guess.doubt if guessed.doubtful else guess.reasons.append)(why)
    distinct, rows = column.original.distinct, column.original.rows
    different = disclosure.counted(distinct, "different value")
    read = read_groups(column) if kind == "category" else None
    if kind == "category" and distinct > max(50, rows // 2) and not (read and read.labels):
        guess.doubt(f"{different} in {rows:,} rows: an identifier or free text?")
        if column.shared >= disclosure.k:
            shared = disclosure.counted(column.shared, "value")
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
            f"{different} in {rows:,} rows, and the release keeps {disclosure.counted(column.shared, 'value')} "
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
