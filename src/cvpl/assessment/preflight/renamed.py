"""Columns of the release that seem to hold another column's values, or that nobody compares.

An attacker compares columns of the same name. If the values of two columns were exchanged, or a column has another name
in the release, every attacker looks in the wrong place, and a low risk means nothing. What seems to belong together is
proposed, not assumed: only the people who made the release know.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.tables.columns import ColumnData, Labels, Table
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]

FAR, NEAR = 0.3, 0.1
"""A released column seems to hold another one's values if its Kolmogorov-Smirnov distance to the column of its name is
more than the first, and that to the other at most the second and what two samples of one population differ by, and at
most half of the former."""
STRANGE, FAMILIAR = 0.5, 0.9
"""A released column of labels seems to hold another one's values if fewer than the first of its records have a label
that the original's column has, and at least the second have one of the other column."""
MOST_ROWS = 20_000
FEWEST_DISTINCT = 3
"""How unlike two columns are is unknown if one of them has fewer different numbers."""
_LISTED_PAIRS = 3


def renamed_findings(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """Findings on exchanged columns, columns under another name, and texts that no attacker reads."""
    return [*_exchanged_columns_findings(inputs), *_other_names(resolved, inputs), *_unread_texts(inputs)]


def _exchanged_columns_findings(inputs: Inputs) -> list[out.Finding]:
    original, released = (_sample_rows(table) for table in (inputs.pair.original, inputs.pair.protected))
    found = exchanged_columns(original, released)
    if not found:
        return []
    pairs = [f"'{column}' seems to hold the values of '{other}'" for column, other in found.items()]
    more = f" (and {len(pairs) - _LISTED_PAIRS} more)" if len(pairs) > _LISTED_PAIRS else ""
    message = f"in the release column {', '.join(pairs[:_LISTED_PAIRS])}{more}: give it its name back, and audit again"
    return [out.Finding(check="renamed_columns", closes_gate=True, message=message, count=len(found))]


def exchanged_columns(original: Table, released: Table) -> Mapping[str, str]:
    """For each released column that is unlike the original's column of its name, another column that it is like."""
    found = {}
    for spec in released.specs:
        there = released.columns[spec.name]
        apart = {
            other.name: distance
            for other in original.specs
            if type(original.columns[other.name]) is type(there)
            and (distance := _column_distance(original.columns[other.name], there)) is not None
        }
        if spec.name not in apart:
            continue
        unlike = apart[spec.name]
        by_chance = float(np.sqrt(1 / max(1, original.rows) + 1 / max(1, released.rows)))
        limit = (1 - STRANGE, 1 - FAMILIAR) if isinstance(there, Labels) else (FAR, min(NEAR + by_chance, unlike / 2))
        if unlike <= limit[0]:
            continue
        best = min(apart, key=lambda name: apart[name])
        if apart[best] <= limit[1] and best != spec.name:
            found[spec.name] = best
    return found


def _column_distance(own: ColumnData, released: ColumnData) -> float | None:
    """How unlike two columns are: 1 less the share of familiar labels, or the Kolmogorov-Smirnov distance.

    None if it is unknown: of two values, 0 and 1, nothing tells whose they are.
    """
    if isinstance(own, Labels) and isinstance(released, Labels):
        used = {own.labels[code] for code in np.flatnonzero(own.counts())}
        counts = released.counts()
        known = sum(int(counts[code]) for code in np.flatnonzero(counts) if released.labels[code] in used)
        return 1 - known / max(1, int(counts.sum()))
    values: list[Floats] = [np.sort(column.ordinal()[column.known()]) for column in (own, released)]
    if min(len(np.unique(part)) for part in values) < FEWEST_DISTINCT:
        return None
    at = np.concatenate(values)
    shares = [np.searchsorted(part, at, side="right") / len(part) for part in values]
    return float(np.abs(shares[0] - shares[1]).max())


def _other_names(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """Columns that only the original has beside columns that only the release has, and such that tell records apart."""
    whole, declared = inputs.whole, set(resolved.declared)
    lacking = [name for name in whole.lacking.get("protected", ()) if name not in whole.lacking.get("original", ())]
    there = set(whole.present.get("original", ()))
    new = [name for name in whole.present.get("protected", ()) if name not in there and name not in declared]
    if not lacking or not new:
        return _new(resolved, inputs)
    gone, come = (_columns_in_words(names) for names in (lacking, new))
    message = f"the release lacks {gone} and has {come}, which the original lacks: perhaps the same under other names"
    return [out.Finding(check="renamed_columns", closes_gate=True, message=message, count=len(lacking))]


def _new(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """Columns that only the release has and that tell records apart, unless they are declared as not compared."""
    specs = {spec.name for spec in resolved.specs}
    new = [name for name in inputs.whole.new if name in specs or name not in resolved.declared]
    if not new:
        return []
    own = "a value of its own" if len(new) == 1 else "values of their own"
    message = (
        f"the release has {_columns_in_words(new)}, which the original lacks, with {own} for half of the records or "
        "more: nobody has compared what is in it"
    )
    advice = (
        "Add the same column to the original and the control, or leave it out of the release. Give it the role "
        "`ignore` only if it was made without the people's values, as a random number is"
    )
    return [out.Finding(check="renamed_columns", closes_gate=True, message=message, count=len(new), advice=advice)]


def _columns_in_words(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_LISTED_PAIRS])
    more = f" and {len(names) - _LISTED_PAIRS} more" if len(names) > _LISTED_PAIRS else ""
    return f"column {shown}" if len(names) == 1 else f"columns {shown}{more}"


def _unread_texts(inputs: Inputs) -> list[out.Finding]:
    """Free text in the release that is in no compared column."""
    compared = {spec.name for spec in inputs.pair.protected.specs}
    texts = [one.column for one in inputs.whole.identifying if one.kind == "free_text" and one.column not in compared]
    if not texts:
        return []
    message = (
        f"no attacker has read the free text in {_columns_in_words(texts)} of the release; declare it as a category"
    )
    return [out.Finding(check="unread_texts", closes_gate=True, message=message, count=len(texts))]


def _sample_rows(table: Table) -> Table:
    if table.rows <= MOST_ROWS:
        return table
    return table.take(np.linspace(0, table.rows - 1, MOST_ROWS).astype(np.intp))
