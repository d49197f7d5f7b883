"""The section on the population, from the published power: a precision must not tell more than the power does."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl import result as out
from cvpl.evaluation.population import population_size, precision_at_prior


def population(
    setting: float | None, people: int, powers: Sequence[out.Power] | None, k: int = 1
) -> out.Population | None:
    """The precision at every false-positive rate with a power; None if the population is not given.

    A published power of 0 stands for fewer than k people, so it has no precision, unless k is 1.
    """
    if setting is None:
        return None
    size = population_size(setting, people)
    return out.Population(
        size=size,
        people=people,
        share=people / size,
        precision=[precision_of(power, people, size, k) for power in powers or ()],
    )


def precision_of(power: out.Power, people: int, size: int, k: int) -> out.Precision:
    """The precision at one false-positive rate, from the published power and its interval."""
    ends = None if power.low is None or power.high is None else (power.low, power.high)
    low, high = (None, None) if ends is None else (_at(end, power.false_rate, people, size) for end in ends)
    untold = k > 1 and power.power <= 0
    found = None if untold else _at(power.power, power.false_rate, people, size)
    return out.Precision(false_rate=power.false_rate, precision=found, low=low, high=high)


def _at(power: float, false_rate: float, people: int, size: int) -> float | None:
    return precision_at_prior(min(1.0, max(0.0, power)), false_rate, people, size)


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
