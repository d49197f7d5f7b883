"""The section on singling out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cvpl import result as out
from cvpl.assessment.diagnostics.singling_out import SinglingOut
from cvpl.evaluation.singling_out.column_sets import LARGEST
from cvpl.evaluation.singling_out.exact_rows import ExactRows
from cvpl.evaluation.singling_out.predicate_rates import PredicateRate
from cvpl.evaluation.singling_out.shared_codes import Uniques
from cvpl.tables.pair import Inputs

SHOWN = 10
"""The sets of columns of each size that are told."""


def singling_out(found: SinglingOut | None, inputs: Inputs) -> out.SinglingOut | None:
    """Who can be singled out; null if it was not tried."""
    if found is None:
        return None
    originals, released = inputs.pair.original.rows, inputs.pair.protected.rows
    controls = None if inputs.pair.control is None else inputs.pair.control.rows

    def shares(columns: Sequence[str], counts: Uniques) -> out.UniqueRecords:
        return out.UniqueRecords(
            columns=list(columns),
            original=counts.original / max(1, originals),
            released=counts.released / max(1, released),
            both=counts.both / max(1, originals),
        )

    rows = [_predicates(rate, min(rate.predicates, originals, controls or originals)) for rate in found.predicates]
    smallest = np.bincount(found.sets.smallest, minlength=LARGEST + 1)
    told = []
    for size in range(1, LARGEST + 1):
        sets = found.sets.sets.strongest(size, SHOWN)
        told += [shares([found.names[at] for at in item.columns], item.found) for item in sets]
    return out.SinglingOut(
        rate=singled_out_rate(rows),
        predicates=rows,
        all_columns=shares(found.names, found.whole),
        quasi_identifiers=None if found.by_keys is None else shares(found.keys, found.by_keys),
        exact_rows=_exact(found.exact, found.exact_control),
        sets=told,
        sets_searched=len(found.sets.sets),
        sets_left_out=found.sets.left_out,
        smallest=[
            out.SmallestSets(columns=size, share=int(smallest[size]) / max(1, originals))
            for size in range(1, LARGEST + 1)
        ],
        suda=_suda(found),
    )


def singled_out_rate(rows: Sequence[out.PredicateRow]) -> out.SingledOutRate | None:
    """The largest rate over the numbers of columns, attributable if there is a control; null without predicates."""
    basis = "control" if any(row.attributable is not None for row in rows) else "none"
    known = [row for row in rows if basis == "none" or row.attributable is not None]
    if not known:
        return None

    def figures(row: out.PredicateRow) -> tuple[float, float | None, float | None]:
        if basis == "none":
            return row.rate, row.low, row.high
        return row.attributable or 0.0, row.attributable_low, row.attributable_high

    best = max(known, key=lambda row: figures(row)[0])
    estimate, low, _ = figures(best)
    highs = [figures(row)[2] for row in known]
    unknown = len(known) < len(rows) or any(high is None for high in highs)
    return out.SingledOutRate(
        estimate=estimate,
        low=low,
        high=None if unknown else max(high for high in highs if high is not None),
        columns=best.columns,
        people=min(row.people for row in known),
        basis=basis,
    )


def _predicates(rate: PredicateRate, people: int) -> out.PredicateRow:
    low, high = rate.interval or (None, None)
    attributable_low, attributable_high = rate.attributable_interval or (None, None)
    return out.PredicateRow(
        columns=rate.columns,
        predicates=rate.predicates,
        people=people,
        rate=rate.rate,
        low=low,
        high=high,
        control_rate=rate.control,
        attributable=rate.attributable,
        attributable_low=attributable_low,
        attributable_high=attributable_high,
    )


def _exact(found: ExactRows | None, control: ExactRows | None) -> out.ExactRows | None:
    if found is None:
        return None
    return out.ExactRows(
        unique_people=found.unique,
        unique=found.unique / max(1, found.originals),
        released=found.share,
        control_released=None if control is None else control.share,
    )


def _suda(found: SinglingOut) -> out.SudaScores | None:
    scores = found.sets.scores
    if scores is None or not len(scores):
        return None
    return out.SudaScores(
        scored=float((scores > 0).mean()),
        mean=float(scores.mean()),
        percentile_99=float(np.percentile(scores, 99)),
    )
