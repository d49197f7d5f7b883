"""The formal criteria of the release of an audit."""

from __future__ import annotations

import numpy as np

from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.criteria.criteria import KnownPopulation, ReleaseCriteria, release_criteria
from cvpl.evaluation.population import population_size
from cvpl.tables.pair import Inputs


def formal_criteria(resolved: ResolvedConfig, inputs: Inputs) -> ReleaseCriteria | None:
    """The criteria by the columns with the role quasi_identifier; None if the release has none.

    The population is known if the originals and the control together have as many people as the setting `population`
    states; otherwise its size gives estimates.
    """
    pair, setting = inputs.pair, resolved.config.population
    names = [spec.name for spec in pair.protected.specs if spec.role == "quasi_identifier"]
    released = dict(inputs.evaluation.released)
    column = None if resolved.weights is None else released.pop(resolved.weights.name, None)
    weights = None if column is None else np.nan_to_num(column.ordinal(), nan=1.0)
    size = None if setting is None else population_size(setting, pair.original.rows)
    everybody = None
    if pair.control is not None and size == pair.original.rows + pair.control.rows:
        everybody = KnownPopulation(pair.original, pair.control)
    more = {spec.name: released.pop(spec.name) for spec in resolved.specs if spec.name in released}
    return release_criteria(
        pair.protected,
        names,
        released,
        population=size,
        weights=weights,
        everybody=everybody,
        more=more,
        originals=pair.original,
    )
