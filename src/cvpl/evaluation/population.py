"""Precision at the true prior: of the people whom an attacker links, how many are in the table.

Power and false-positive rate are rates among people who are in the table, and among people who are not. How often a
link is right also depends on how many people there are of each kind. In a result the precision is made of the published
power: it must not tell more than the power does.
"""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.result import Membership, Population, Power, Precision


def population_size(setting: float, people: int) -> int:
    """The number of people in the population: the setting itself or, if it is below 1, `people` / setting.

    A setting below 1 is a sampling fraction: the share of the population that is in the table.
    """
    return round(people / setting) if setting < 1 else int(setting)


def precision_at_prior(power: float, false_rate: float, people: int, population: int) -> float | None:
    """The share of the linked who are in the table, if everybody in the population is looked for.

        n power / (n power + (N - n) α)        n: people in the table, N: people in the population

    α is the false-positive rate, and so the share of the N - n people outside the table that are linked. With N = n
    everybody is in the table, and the precision is 1. None if nobody is linked.
    """
    right, wrong = people * power, (population - people) * false_rate
    return None if right + wrong <= 0 else right / (right + wrong)


def population(setting: float | None, people: int, powers: Sequence[Power] | None, k: int = 1) -> Population | None:
    """The precision at every false-positive rate with a power; None if the population is not given.

    A published power of 0 stands for fewer than k people, so it has no precision, unless k is 1.
    """
    if setting is None:
        return None
    size = population_size(setting, people)
    return Population(
        size=size,
        people=people,
        share=people / size,
        precision=[precision_of(power, people, size, k) for power in powers or ()],
    )


def precision_of(power: Power, people: int, size: int, k: int) -> Precision:
    """The precision at one false-positive rate, from the published power and its interval."""
    ends = None if power.low is None or power.high is None else (power.low, power.high)
    low, high = (None, None) if ends is None else (_at(end, power.false_rate, people, size) for end in ends)
    untold = k > 1 and power.power <= 0
    found = None if untold else _at(power.power, power.false_rate, people, size)
    return Precision(false_rate=power.false_rate, precision=found, low=low, high=high)


def _at(power: float, false_rate: float, people: int, size: int) -> float | None:
    return precision_at_prior(min(1.0, max(0.0, power)), false_rate, people, size)


def with_precision(found: Membership | None, population: Population | None, k: int = 1) -> Membership | None:
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
