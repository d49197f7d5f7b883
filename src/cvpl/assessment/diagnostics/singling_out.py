"""Singling out in an audit: unique records, sets of columns, exact rows, and predicates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from cvpl.assessment.background_worker import BackgroundWorker
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.singling_out.column_sets import ColumnSets, column_sets
from cvpl.evaluation.singling_out.exact_rows import ExactRows, exact_rows
from cvpl.evaluation.singling_out.predicate_rates import PredicateRate, predicate_rates
from cvpl.evaluation.singling_out.shared_codes import SharedCodes, Uniques, uniques
from cvpl.randomness import stream
from cvpl.tables.pair import Inputs


@dataclass(frozen=True, eq=False)
class SinglingOut:
    """What singles people out. `names` are the compared columns, `keys` the quasi-identifiers among them.

    `exact` is None if no declared column is in both tables, and `exact_control` if the control lacks one of them.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]
    whole: Uniques
    by_keys: Uniques | None
    sets: ColumnSets
    exact: ExactRows | None
    exact_control: ExactRows | None
    predicates: tuple[PredicateRate, ...]


def singling_out(resolved: ResolvedConfig, inputs: Inputs) -> SinglingOut:
    """Try every set of up to three columns, and predicates from the release, on originals and control."""
    pair = inputs.pair
    codes = SharedCodes.of(pair.original, pair.protected)
    keys = tuple(spec.name for spec in pair.original.specs if spec.role == "quasi_identifier")
    rows = inputs.whole.equal_rows
    rng, groups = stream(resolved.config.seed, "predicates"), inputs.evaluation.unit.codes
    units = None if groups is None else groups["original"]
    with BackgroundWorker(resolved.budget.workers) as background:
        asking = background.start(
            partial(predicate_rates, pair.original, pair.protected, pair.control, rng, units=units)
        )
        return SinglingOut(
            names=codes.names,
            keys=keys,
            whole=uniques(codes),
            by_keys=uniques(codes.only(keys)) if keys else None,
            sets=column_sets(codes, keys, resolved.budget.workers),
            exact=exact_rows(rows["original"], rows["protected"]) if rows else None,
            exact_control=exact_rows(rows["control"], rows["protected"]) if "control" in rows else None,
            predicates=tuple(asking()),
        )
