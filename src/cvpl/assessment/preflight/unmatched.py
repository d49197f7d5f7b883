"""Columns of the release whose values match nothing in the original: no attacker can read them.

A risk that is low because columns were not read is no protection, so the finding closes the gate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cvpl import result as out
from cvpl.attack.shared_words import text_columns
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.operators.recoding.estimate import SHARED_WORDS
from cvpl.operators.words import shared_words, words_of
from cvpl.result.publishing import Disclosure
from cvpl.tables.columns import ColumnData, Pair
from cvpl.tables.meaning.matched_values import MatchedValues, matched_values
from cvpl.tables.pair import Inputs

UNMATCHED = "unmatched_columns"


def unmatched_findings(inputs: Inputs, disclosure: Disclosure) -> list[out.Finding]:
    """One finding that names every such column; empty if there is none.

    A column with fewer released values than an interval needs, or fewer than k, is not named.
    """
    pair, fewest = inputs.pair, max(FEWEST_RECORDS, disclosure.k)
    found = [
        column
        for column in matched_values(pair)
        if column.known >= fewest and column.unmatched and not _read_by_words(pair, column.column)
    ]
    columns = [*(item.column for item in found), *inputs.whole.unmatched]
    if not columns:
        return []
    one = len(columns) == 1
    names = ", ".join(f"'{name}'" for name in columns)
    message = (
        f"the column{'' if one else 's'} {names} of the release hold{'s' if one else ''} values that match nothing in "
        "the original"
    )
    finding = out.Finding(
        check=UNMATCHED,
        closes_gate=True,
        message=message,
        column=columns[0] if one else None,
        count=len(columns),
        advice=_advice(found, labels=bool(inputs.whole.unmatched)),
    )
    return [finding]


def _read_by_words(pair: Pair, column: str) -> bool:
    """Whether the column holds texts of the originals' words, as texts in another order or redacted ones are.

    Numbers in a text are no words here: a day has the same in every spelling, and says little without their order.
    """
    if not text_columns(pair.original, pair.protected, [column]):
        return False
    return shared_words(*(_texts(table.columns[column]) for table in (pair.original, pair.protected))) >= SHARED_WORDS


def _texts(column: ColumnData) -> list[str]:
    texts = column.label_texts()
    used = (words_of(texts[code]) for code in np.flatnonzero(column.counts()))
    return [" ".join(word for word in words if not word.isdecimal()) for words in used]


def _advice(found: Sequence[MatchedValues], *, labels: bool) -> str:
    """What to do, for labels and for numbers."""
    advice = []
    if labels or any(not item.ordered for item in found):
        advice.append(
            "labels need a `hierarchy` file with a line for each original label and its groups, or the same spelling "
            "in both tables, and days as 2024-12-31"
        )
    if any(item.ordered for item in found):
        advice.append("numbers and times need the same unit and scale in both tables")
    return (
        "; ".join(advice) + ". If its values were replaced by a table of codes, give that, or leave the column out of "
        "the release: whoever has the table reads it"
    )
