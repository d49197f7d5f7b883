"""Who can be singled out: unique records, sets of columns, exact rows, and predicates from the release alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.singling_out.codes import SharedCodes, Uniques, uniques
from cvpl.evaluation.singling_out.column_sets import LARGEST, ExactRowCounts, column_sets, exact_rows
from cvpl.evaluation.singling_out.predicates import PredicateRate, predicate_rates
from cvpl.randomness import stream
from cvpl.result import (
    ExactRows,
    PredicateRow,
    SingledOutRate,
    SinglingOut,
    SmallestSets,
    SudaScores,
    UniqueRecords,
)
from cvpl.search.machine import BackgroundWorker
from cvpl.tables.pair import Inputs

SHOWN = 10
"""The sets of columns of each size that are told."""


def singling_out(resolved: ResolvedConfig, inputs: Inputs) -> SinglingOut:
    """Try every set of up to three columns, and predicates from the release, on originals and control.

    `exact_rows` is None if no declared column is in both tables, and its `control_released` if the control lacks one.
    """
    pair = inputs.pair
    originals, released = pair.original.rows, pair.protected.rows
    controls = originals if pair.control is None else pair.control.rows or originals
    codes = SharedCodes.of(pair.original, pair.protected)
    keys = tuple(spec.name for spec in pair.original.specs if spec.role == "quasi_identifier")
    equal = inputs.whole.equal_rows
    rng, groups = stream(resolved.config.seed, "predicates"), inputs.evaluation.unit.codes
    units = None if groups is None else groups["original"]

    def shares(columns: Sequence[str], counts: Uniques) -> UniqueRecords:
        return UniqueRecords(
            columns=list(columns),
            original=counts.original / max(1, originals),
            released=counts.released / max(1, released),
            both=counts.both / max(1, originals),
        )

    with BackgroundWorker(resolved.budget.workers) as background:
        asking = background.start(
            partial(predicate_rates, pair.original, pair.protected, pair.control, rng, units=units)
        )
        whole, by_keys = uniques(codes), uniques(codes.only(keys)) if keys else None
        found = column_sets(codes, keys, resolved.budget.workers)
        exact = exact_rows(equal["original"], equal["protected"]) if equal else None
        exact_control = exact_rows(equal["control"], equal["protected"]) if "control" in equal else None
        rates = asking()
    rows = [_predicates(rate, min(rate.predicates, originals, controls)) for rate in rates]
    smallest = np.bincount(found.smallest, minlength=LARGEST + 1)
    sizes = range(1, LARGEST + 1)
    strongest = [item for size in sizes for item in found.sets.strongest(size, SHOWN)]
    return SinglingOut(
        rate=singled_out_rate(rows),
        predicates=rows,
        all_columns=shares(codes.names, whole),
        quasi_identifiers=None if by_keys is None else shares(keys, by_keys),
        exact_rows=_exact(exact, exact_control),
        sets=[shares([codes.names[at] for at in item.columns], item.found) for item in strongest],
        sets_searched=len(found.sets),
        sets_left_out=found.left_out,
        smallest=[SmallestSets(columns=size, share=int(smallest[size]) / max(1, originals)) for size in sizes],
        suda=_suda(found.scores),
    )


def singled_out_rate(rows: Sequence[PredicateRow]) -> SingledOutRate | None:
    """The largest rate over the numbers of columns, attributable if there is a control; null without predicates."""
    basis = "control" if any(row.attributable is not None for row in rows) else "none"
    known = [row for row in rows if basis == "none" or row.attributable is not None]
    if not known:
        return None

    def figures(row: PredicateRow) -> tuple[float, float | None, float | None]:
        if basis == "none":
            return row.rate, row.low, row.high
        return row.attributable or 0.0, row.attributable_low, row.attributable_high

    best = max(known, key=lambda row: figures(row)[0])
    estimate, low, _ = figures(best)
    highs = [figures(row)[2] for row in known]
    unknown = len(known) < len(rows) or any(high is None for high in highs)
    return SingledOutRate(
        estimate=estimate,
        low=low,
        high=None if unknown else max(high for high in highs if high is not None),
        columns=best.columns,
        people=min(row.people for row in known),
        basis=basis,
    )


def _predicates(rate: PredicateRate, people: int) -> PredicateRow:
    low, high = rate.interval or (None, None)
    attributable_low, attributable_high = rate.attributable_interval or (None, None)
    return PredicateRow(
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


def _exact(found: ExactRowCounts | None, control: ExactRowCounts | None) -> ExactRows | None:
    if found is None:
        return None
    return ExactRows(
        unique_people=found.unique,
        unique=found.unique / max(1, found.originals),
        released=found.share,
        control_released=None if control is None else control.share,
    )


def _suda(scores: NDArray[np.int64] | None) -> SudaScores | None:
    if scores is None or not len(scores):
        return None
    return SudaScores(
        scored=float((scores > 0).mean()),
        mean=float(scores.mean()),
        percentile_99=float(np.percentile(scores, 99)),
    )
