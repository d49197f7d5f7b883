"""The formal criteria of the release of an audit."""

from __future__ import annotations

import numpy as np

from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.criteria import SIZES, AttributeCriteria, KnownPopulation, ReleaseCriteria, release_criteria
from cvpl.evaluation.truth import population_size
from cvpl.result import (
    ClassRisk,
    ClassSizeShare,
    Criteria,
    PopulationUniques,
    Presence,
    SensitiveCriteria,
)
from cvpl.tables.pair import Inputs


def formal_criteria(resolved: ResolvedConfig, inputs: Inputs) -> Criteria | None:
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
    found = release_criteria(
        pair.protected,
        names,
        released,
        population=size,
        weights=weights,
        everybody=everybody,
        more=more,
        originals=pair.original,
    )
    return None if found is None else _document(found)


def _document(found: ReleaseCriteria) -> Criteria:
    """The criteria as a result has them."""
    classes, risks = found.classes, found.risks
    return Criteria(
        quasi_identifiers=list(found.names),
        records=classes.records,
        k=classes.k or 0,
        k_suppressed_as_any=found.k_as_any,
        suppressed_cells=found.suppressed,
        classes=classes.count,
        average_class=classes.average_size or 0.0,
        largest_class=classes.largest or 0,
        unique=classes.share_in_sizes(1, 1) or 0.0,
        class_sizes=[
            ClassSizeShare(first=first, last=last, share=classes.share_in_sizes(first, last) or 0.0)
            for first, last in SIZES
        ],
        risk=ClassRisk(basis=found.basis, **vars(risks)),
        sensitive=[_secret(name, secret) for name, secret in found.secrets.items()],
        population_uniques=_uniques(found),
        original_unique=None if found.before is None else found.before.share_in_sizes(1, 1),
        original_average=None if found.before is None else found.before.count / found.before.records,
        presence=None if found.presence is None else Presence(low=found.presence[0], high=found.presence[1]),
    )


def _secret(name: str, found: AttributeCriteria) -> SensitiveCriteria:
    return SensitiveCriteria(
        column=name,
        distinct_l=found.diversity.distinct,
        entropy_l=found.diversity.entropy,
        recursive_c=found.diversity.recursive_c,
        t_equal=found.equal,
        t_ordered=found.ordered,
    )


def _uniques(found: ReleaseCriteria) -> PopulationUniques | None:
    if found.estimates is None:
        return None
    return PopulationUniques(
        population=found.estimates.size,
        zayatz=found.estimates.zayatz,
        pitman=found.estimates.pitman,
        expected_links=None if found.individual is None else found.individual.expected,
    )
