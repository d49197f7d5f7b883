"""Proposal of a blocking key that keeps the records of one person together, as far as the tables show.

A key that separates them makes a release look safer than it is, so without evidence none is proposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cvpl.result.published import Disclosure
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning.protected_values import is_gone, read_number, read_pair, read_time
from cvpl.tables.proposal.column import ColumnProposal
from cvpl.tables.proposal.facts import SharedColumn
from cvpl.wording import percent

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
        share_in_words = _share_in_words(best, column, disclosure)
        guess.reasons.append(f"no blocking key: only {share_in_words} of the known true pairs{pairs} would share it")
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
        return [_truncated(ours, theirs, unit, length) for unit, length in (("month", 7), ("year", 4))]
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


def _truncated(ours: Sequence[str], theirs: Sequence[str], unit: str, length: int) -> _Key:
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
