"""Checks of the tables: the same table twice, swapped tables, a release that is too small."""

from __future__ import annotations

import numpy as np

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.tables.columns import Table
from cvpl.tables.evaluation_only import ROW_NUMBER
from cvpl.tables.keys import row_keys
from cvpl.tables.pair import Inputs
from cvpl.wording import count_phrase


def table_findings(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """Findings on original and release as a pair."""
    return [*_same(inputs), *_swapped_tables_findings(resolved, inputs), *_small(inputs)]


def _same(inputs: Inputs) -> list[out.Finding]:
    pair, described = inputs.pair, inputs.descriptions
    prints = [described[role].sha256 for role in ("original", "protected")]
    if prints[0] is not None and prints[0] == prints[1]:
        message = "original and release are the same file"
        return [out.Finding(check="same_file", closes_gate=True, message=message)]
    if pair.original.rows != pair.protected.rows:
        return []
    if np.array_equal(np.sort(row_keys(pair.original)), np.sort(row_keys(pair.protected))):
        message = "the release has exactly the rows of the original, in all compared columns"
        return [out.Finding(check="same_rows", closes_gate=True, message=message)]
    return []


def _swapped_tables_findings(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    """Signs of swapped tables: the original has generalized cells, or lacks the ids."""
    reasons = []
    coarse = [_generalized_columns(table) for table in (inputs.pair.original, inputs.pair.protected)]
    if coarse[0] and not coarse[1]:
        columns = ", ".join(f"'{name}'" for name in sorted(coarse[0])[:3])
        reasons.append(f"the original has generalized values ({columns}) and the release has none")
    key = resolved.identity
    if key is not None and ROW_NUMBER not in (key.original, key.protected):
        there = inputs.whole.present
        if key.original not in there.get("original", ()) and key.protected in there.get("protected", ()):
            reasons.append(f"the id column '{key.protected}' is in the release and not in the original")
    if not reasons:
        return []
    message = f"original and release may be swapped: {'; '.join(reasons)}"
    return [out.Finding(check="swapped", closes_gate=True, message=message)]


def _generalized_columns(table: Table) -> set[str]:
    """The columns in which some value covers several: an interval, a time span, a mask."""
    return {spec.name for spec in table.specs if table.columns[spec.name].generalized()}


def _small(inputs: Inputs) -> list[out.Finding]:
    rows = inputs.pair.protected.rows
    if rows >= FEWEST_RECORDS:
        return []
    message = f"the release has {count_phrase(rows, 'record')}, and an interval needs at least {FEWEST_RECORDS}"
    return [out.Finding(check="few_released_rows", closes_gate=True, message=message, count=rows)]
