"""Guess which texts mean that a value is missing.

A usual spelling such as NA or ? counts as missing wherever it occurs, because `reading.missing` applies to all columns.
It stays a label if it is one: only one column has it, and there it fills more than a fifth of the cells, or the other
labels are codes of the same form (NA among the countries). Rarer spellings such as N or X count only if they keep
numbers or times from being read, and no category has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cvpl.result.published import Disclosure
from cvpl.tables.meaning.protected_values import is_gone
from cvpl.tables.proposal.column import GuessedType, guess_type
from cvpl.tables.proposal.facts import SharedColumn

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
    having = [column for column in columns.values() if _has(column, text)]
    if len(having) != 1:
        return bool(having)
    column = having[0]
    cells = column.original.count([text]) + column.released.count([text])
    share = cells / max(1, column.original.known + column.released.known)
    others = column.labels - {text}
    codes = text.isalpha() and all(len(label) == len(text) and label.isalpha() for label in others)
    return share <= MOST_CELLS and not (codes and text.isupper() and others)


def _has(column: SharedColumn, text: str) -> bool:
    """Whether a cell has the text, other than a released cell that is suppressed by it."""
    return text in column.labels and (not is_gone(text) or text in column.original.labels)


def gap_reason(
    columns: Mapping[str, SharedColumn], types: Mapping[str, GuessedType], gaps: Sequence[str], disclosure: Disclosure
) -> str:
    """Explain why spellings are listed: how many cells of which columns, and what to check."""
    counts = {name: column.original.count(gaps) + column.released.count(gaps) for name, column in columns.items()}
    counts = {name: count for name, count in counts.items() if count}
    cells = ", ".join(
        f"{disclosure.counted(count, 'cell', tables=2)} of {_quoted(name)}" for name, count in counts.items()
    )
    blocked = [_quoted(name) for name in counts if types[name].kind != "category"]
    others = [_quoted(name) for name in counts if types[name].kind == "category"]
    text = f"spellings of a missing value, read as missing: {cells}"
    if blocked:
        text += f". They keep {', '.join(blocked)} from being read as numbers or times"
        text += f"; this empties cells of {', '.join(others)} too: are they labels there?" if others else ""
        return text
    return f"{text}: are they labels there?"


def _quoted(name: str) -> str:
    return f"'{name}'"
