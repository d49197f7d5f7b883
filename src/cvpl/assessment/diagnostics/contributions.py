"""Each column's contribution: to the space, to the links, and to rate and power if it is removed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.power_drop import MOST_COLUMNS, PowerDrops
from cvpl.assessment.diagnostics.self_linkage import sampled_originals
from cvpl.attack.attack import Attack
from cvpl.attack.embedding import linear
from cvpl.attack.representation import fit_representation
from cvpl.evaluation.columns import link, structural, structural_spread
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import linkage_rate
from cvpl.operators.vectorization import ColumnChoice
from cvpl.randomness import stream
from cvpl.result import Contribution, Contributions


def column_contributions(
    measured: Measurement, drops: PowerDrops | None, progress: Callable[[float], None] | None = None
) -> Contributions:
    """The contribution of every compared column; `drops` are the power drops, if they were computed.

    Rate and hits without a column are measured for the first 40 columns.

    `progress` is called with the share of the columns.
    """
    done, threshold = measured.attack, measured.threshold
    space, fitted = done.representation.space, linear(done.representation.projection)
    shares: dict[str, float] = {}
    bounds: dict[str, tuple[float, float]] = {}
    if fitted is not None and fitted.variances is not None:
        shares = structural(space, fitted.loadings, fitted.variances)
        bounds = structural_spread(done, stream(done.seed, "structural"))
    linked = measured.linked
    links = None if linked is None else link(done, np.flatnonzero(linked[0] > 0), stream(done.seed, "links"))
    columns = dict.fromkeys([*done.attacker.vectorization.compared(done.original), *space.owners])
    removals: dict[str, float] = {}
    asked = None
    # A map of both tables at once would have to be refitted, and a saved one is not fitted at all.
    refitted = done.representation.maps_others and done.attacker.projection_operator.saved_file is None
    if threshold is not None and len(columns) > 1 and refitted:
        tried = list(columns)[:MOST_COLUMNS]
        for number, column in enumerate(tried):
            if progress is not None:
                progress(number / len(tried))
            removals[column], rows = removal(done, column, threshold, stream(done.seed, "removal"))
            asked = len(rows)
    roles = {spec.name: spec.role for spec in done.original.specs}
    found = []
    for column in columns:
        low, high = bounds.get(column, (None, None))
        drop = None if drops is None else drops.by_column.get(column)
        hits = None if drops is None else drops.hits.get(column)
        found.append(
            Contribution(
                column=column,
                role=roles[column],
                structural=shares.get(column),
                structural_low=low,
                structural_high=high,
                link=None if links is None else links.get(column),
                removal=removals.get(column),
                power_drop=None if drop is None else drop.drop,
                power_drop_low=None if drop is None else drop.low,
                power_drop_high=None if drop is None else drop.high,
                top1_drop=None if hits is None else hits.drop,
                top1_drop_low=None if hits is None else hits.low,
                top1_drop_high=None if hits is None else hits.high,
            )
        )
    return Contributions(
        columns=found,
        removal_asked=asked,
        power_asked=None if drops is None else drops.asked,
        top1_asked=None if drops is None else drops.matched,
    )


def removal(attack: Attack, column: str, threshold: float, rng: np.random.Generator) -> tuple[float, NDArray[np.int64]]:
    """The drop of the rate without `column`: rate with it - rate without it, over the same (sampled) originals.

    The blocks stay the same, so that every record keeps its candidates and the drop measures only the column's part in
    the similarity; a column used only for blocking has no part in it. Returns the drop and the rows that were searched.
    """
    rows = sampled_originals(attack, rng)
    vectorization = attack.attacker.vectorization
    choices = {**vectorization.columns, column: ColumnChoice(vectorize=False)}
    without = attack.attacker.model_copy(
        update={"vectorization": vectorization.model_copy(update={"columns": choices})}
    )
    representation = attack.representation.without(column) or fit_representation(
        attack.original, attack.protected, without, attack.seed, engine=attack.engine
    )
    scorer = representation.scorer(attack.original, attack.protected, rows)
    found = attack.find(scorer, attack.searched.partitions("original", "protected", rows))
    return linkage_rate(attack.found.best[rows], threshold) - linkage_rate(found.best, threshold), rows
