"""The section on formal criteria."""

from __future__ import annotations

from cvpl import result as out
from cvpl.evaluation.criteria.criteria import SIZES, ReleaseCriteria, SecretCriteria


def criteria(found: ReleaseCriteria | None) -> out.Criteria | None:
    """The formal criteria of the release; null if they were not computed."""
    if found is None:
        return None
    classes, risks = found.classes, found.risks
    return out.Criteria(
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
            out.ClassSizeShare(first=first, last=last, share=classes.share_in_sizes(first, last) or 0.0)
            for first, last in SIZES
        ],
        risk=out.ClassRisk(basis=found.basis, **vars(risks)),
        sensitive=[_secret(name, secret) for name, secret in found.secrets.items()],
        population_uniques=_uniques(found),
        original_unique=None if found.before is None else found.before.share_in_sizes(1, 1),
        original_average=None if found.before is None else found.before.count / found.before.records,
        presence=None if found.presence is None else out.Presence(low=found.presence[0], high=found.presence[1]),
    )


def _secret(name: str, found: SecretCriteria) -> out.SensitiveCriteria:
    return out.SensitiveCriteria(
        column=name,
        distinct_l=found.diversity.distinct,
        entropy_l=found.diversity.entropy,
        recursive_c=found.diversity.recursive_c,
        t_equal=found.equal,
        t_ordered=found.ordered,
    )


def _uniques(found: ReleaseCriteria) -> out.PopulationUniques | None:
    if found.estimates is None:
        return None
    return out.PopulationUniques(
        population=found.estimates.size,
        zayatz=found.estimates.zayatz,
        pitman=found.estimates.pitman,
        expected_links=None if found.individual is None else found.individual.expected,
    )
