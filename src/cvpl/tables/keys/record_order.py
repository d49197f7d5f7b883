"""The order in which records are kept: by a hash of the whole record.

Samples, splits and sums follow the order of records. Kept in an order of their own content, the same records give the
same figures, in whatever order a file lists them. Only equal records can change places, which changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cvpl.tables.evaluation_only.evaluation_only import EvaluationOnly
from cvpl.tables.pair import Inputs


def in_record_order(inputs: Inputs) -> Inputs:
    """Return the same tables with their records in the order of their keys."""
    order = {table: np.argsort(keys, kind="stable") for table, keys in inputs.whole.records.items()}
    pair, evaluation = inputs.pair, inputs.evaluation
    columns = {
        name: (mine.take(order["original"]), None if other is None else other.take(order["control"]))
        for name, (mine, other) in evaluation.columns.items()
    }
    released = {name: column.take(order["protected"]) for name, column in evaluation.released.items()}
    sensitive = {name: column.ordered(order) for name, column in evaluation.sensitive.items()}
    matches = None if evaluation.matches is None else evaluation.matches.kept_in(order)
    return replace(
        inputs,
        pair=replace(
            pair,
            original=pair.original.kept(order["original"]),
            protected=pair.protected.kept(order["protected"]),
            control=None if pair.control is None else pair.control.kept(order["control"]),
        ),
        evaluation=EvaluationOnly(matches, evaluation.unit.ordered(order), columns, released, sensitive),
        whole=inputs.whole.ordered(order),
        order=order if inputs.rows_have_order else {},
    )
