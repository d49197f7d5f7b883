"""Precision at the true prior: of the people whom an attacker links, how many are in the table.

Power and false-positive rate are rates among people who are in the table, and among people who are not. How often a
link is right also depends on how many people there are of each kind.
"""

from __future__ import annotations


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
