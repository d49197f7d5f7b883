"""The section on membership."""

from __future__ import annotations

from cvpl import result as out
from cvpl.assessment.diagnostics.membership import BestAttacker, MembershipFigures
from cvpl.assessment.sections.intervals import interval_fields
from cvpl.assessment.sections.population import precision_of


def membership(found: MembershipFigures | None) -> out.Membership | None:
    """How well it can be told who is in the release; null without a control."""
    if found is None:
        return None
    area = found.area
    return out.Membership(
        controls=found.controls,
        rates=[_rate(rate, best) for rate, best in found.rates.items()],
        auc=out.MembershipArea(
            estimate=area.estimate,
            low=area.interval.low,
            high=area.interval.high,
            attacker=area.attacker,
            among=area.among,
            confidence=area.confidence,
            method=area.interval.method,
            refused=area.interval.refused,
        ),
    )


def _rate(false_rate: float, best: BestAttacker) -> out.MembershipRate:
    return out.MembershipRate(
        false_rate=false_rate,
        power=best.estimate,
        attacker=best.attacker,
        among=best.among,
        confidence=best.confidence,
        **interval_fields(best.interval),
    )


def with_precision(
    found: out.Membership | None, population: out.Population | None, k: int = 1
) -> out.Membership | None:
    """The published section with the precision at the population's prior, from its published rates."""
    if found is None or population is None:
        return found
    rates = []
    for rate in found.rates:
        told = precision_of(rate, population.people, population.size, k)
        rates.append(
            rate.model_copy(
                update={"precision": told.precision, "precision_low": told.low, "precision_high": told.high}
            )
        )
    return found.model_copy(update={"rates": rates, "prior": population.share})
