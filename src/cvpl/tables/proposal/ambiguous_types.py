"""Types that hinge on a few cells: one text among numbers, one interval in the release, one value more than ten.

Such a cell may be an error or a spelling of a missing value, and another type changes what attackers compare. So it is
a doubt that the user should check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cvpl.result.published import Disclosure
from cvpl.tables.meaning.local_spellings import is_comma_number, possible_orders
from cvpl.tables.meaning.protected_values import is_gone
from cvpl.tables.proposal.column import GuessedType, guess_type, is_plain, is_time
from cvpl.tables.proposal.facts import Facts, SharedColumn

FEW_CELLS = 0.05
"""A type hinges on cells if they are at most this share of those that are not missing, or one cell."""


@dataclass(frozen=True)
class _Odd:
    """Labels that may decide a type: of which table, what they are, and the type without them if it is not guessed."""

    labels: frozenset[str]
    facts: Facts
    what: str
    otherwise: str | None = None


def with_doubt(column: SharedColumn, guessed: GuessedType, disclosure: Disclosure) -> GuessedType:
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
    return disclosure.counted(facts.count(labels), "cell") if facts.complete else "some cells"


def _odd_labels(column: SharedColumn) -> Iterator[_Odd]:
    original, released = column.original, column.released
    known = set(original.labels)

    def ours(is_odd: Callable[[str], bool]) -> frozenset[str]:
        return frozenset(label for label in original.labels if is_odd(label))

    yield _Odd(ours(partial(_is_no, is_plain)), original, "of the original that are not numbers")
    yield _Odd(ours(partial(_is_no, is_time)), original, "of the original that are not times")
    if any("," in label for label in original.labels):
        commas = ours(partial(_is_no, is_comma_number))
        yield _Odd(commas, original, "of the original that are not numbers with a decimal comma", "numeric")
    yield _Odd(ours(partial(_is_no, possible_orders)), original, "of the original that are not days", "datetime")
    yield _Odd(ours(lambda label: re.fullmatch(r"0\d+", label) is not None), original, "with leading zeros")
    yield _Odd(ours(lambda label: not label.lstrip("-").isdecimal()), original, "with decimals")
    spelled = frozenset(label for label in released.labels if not is_plain(label) and not is_gone(label, known))
    yield _Odd(spelled, released, "of the release that are not plain numbers")
    once = frozenset(label for label, count in zip(original.labels, original.counts, strict=True) if count == 1)
    yield _Odd(once, original, "of the original whose values occur once")


def _is_no(form: Callable[[str], object], label: str) -> bool:
    return not form(label)
