"""Columns of the release whose values match nothing in the original: no attacker can read them.

A risk that is low because columns were not read is no protection, so the finding closes the gate.
"""

from __future__ import annotations

from cvpl import result as out
from cvpl.evaluation.intervals.coverage import FEWEST_RECORDS
from cvpl.result.published import Disclosure
from cvpl.tables.columns import Pair
from cvpl.tables.matched_values import MatchedValues, matched_values

UNMATCHED = "unmatched_columns"


def unmatched_findings(pair: Pair, disclosure: Disclosure) -> list[out.Finding]:
    """One finding that names every such column; empty if there is none.

    A column with fewer released values than an interval needs, or fewer than k, is not named.
    """
    fewest = max(FEWEST_RECORDS, disclosure.k)
    found = [column for column in matched_values(pair) if column.known >= fewest and column.unmatched]
    if not found:
        return []
    one = len(found) == 1
    names = ", ".join(f"'{item.column}'" for item in found)
    message = (
        f"the column{'' if one else 's'} {names} of the release hold{'s' if one else ''} values that match nothing in "
        "the original"
    )
    finding = out.Finding(
        check=UNMATCHED,
        closes_gate=True,
        message=message,
        column=found[0].column if one else None,
        count=len(found),
        advice=_advice(found),
    )
    return [finding]


def _advice(found: list[MatchedValues]) -> str:
    """What to do, for labels and for numbers."""
    advice = []
    if any(not item.ordered for item in found):
        advice.append(
            "labels need a `hierarchy` file with a line for each original label and its groups, or the same spelling "
            "in both tables"
        )
    if any(item.ordered for item in found):
        advice.append("numbers and times need the same unit and scale in both tables")
    return "; ".join(advice) + ". If a column was replaced by other values on purpose, give it the role `ignore`"
