"""Formal criteria in plain loops over rows, from their definitions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction


def classes(rows):
    """The rows of each equivalence class; `rows` are tuples of quasi-identifiers."""
    found = defaultdict(list)
    for at, row in enumerate(rows):
        found[row].append(at)
    return list(found.values())


def k(rows):
    """The size of the smallest class."""
    return min(len(members) for members in classes(rows))


def distinct_l(rows, secrets):
    """The least number of different secrets in a class."""
    return min(len({secrets[at] for at in members}) for members in classes(rows))


def entropy_l(rows, secrets):
    """The exponential of the least entropy of a class."""
    least = math.inf
    for members in classes(rows):
        counts = Counter(secrets[at] for at in members)
        shares = [count / len(members) for count in counts.values()]
        least = min(least, -sum(share * math.log(share) for share in shares))
    return math.exp(least)


def is_recursive(rows, secrets, c, level):
    """Whether r_1 < c (r_l + ... + r_m) in every class, the counts in descending order."""
    for members in classes(rows):
        counts = sorted(Counter(secrets[at] for at in members).values(), reverse=True)
        if not counts[0] < c * sum(counts[level - 1 :]):
            return False
    return True


def equal_t(rows, secrets):
    """The largest total variation between a class and the whole."""
    whole, worst = Counter(secrets), 0.0
    for members in classes(rows):
        own = Counter(secrets[at] for at in members)
        gaps = [abs(own[value] / len(members) - whole[value] / len(rows)) for value in whole]
        worst = max(worst, sum(gaps) / 2)
    return worst


def ordered_t(rows, secrets):
    """The largest earth mover's distance between a class and the whole, with neighbouring values 1 / (m - 1) apart."""
    whole, worst = Counter(secrets), 0.0
    values = sorted(whole)
    if len(values) == 1:
        return 0.0
    for members in classes(rows):
        own = Counter(secrets[at] for at in members)
        moved, total = 0.0, 0.0
        for value in values:
            moved += own[value] / len(members) - whole[value] / len(rows)
            total += abs(moved)
        worst = max(worst, total / (len(values) - 1))
    return worst


def compatible_sizes(rows):
    """For each row, how many rows agree with it where both have a value; None is suppressed."""
    return [
        sum(all(a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)) for theirs in rows)
        for mine in rows
    ]


def risks(rows, population=None):
    """Prosecutor maximum and average, journalist maximum and average, marketer; `population` counts rows by value."""
    inside = Counter(rows)
    whole = {row: max(inside[row], population[row]) for row in inside} if population is not None else inside
    links = sum(1 / whole[row] for row in rows) / len(rows)
    return (
        1 / min(inside.values()),
        sum(1 / inside[row] for row in rows) / len(rows),
        1 / min(whole.values()),
        max(len(inside) / sum(whole.values()), links),
        links,
    )


def presence(people, others):
    """The least and the largest share of a class who are among the people."""
    mine, rest = Counter(people), Counter(others)
    shares = [mine[row] / (mine[row] + rest[row]) for row in mine | rest]
    return min(shares), max(shares)


def negative_binomial_risk(size, share, terms=200_000):
    """Σ over F >= f of 1/F times the probability of F - f failures before f successes."""
    total, probability = 0.0, share**size
    for failures in range(terms):
        people = size + failures
        total += probability / people
        probability *= (people / (failures + 1)) * (1 - share)
    return total


def zayatz(sizes, population):
    """The estimate with exact fractions."""
    records = sum(sizes)
    counts = Counter(sizes)

    def one(size):
        return Fraction(size * math.comb(population - size, records - 1), math.comb(population, records))

    below = sum(Fraction(number, len(sizes)) * one(size) for size, number in counts.items())
    given = Fraction(counts[1], len(sizes)) * one(1) / below if counts[1] else Fraction(0)
    return float(counts[1] * given * Fraction(population, records))


def pitman_score(sizes, theta, alpha):
    """The two derivatives of the log likelihood, term by term; both are 0 at the estimate."""
    number, records = len(sizes), sum(sizes)
    by_theta = sum(1 / (theta + i * alpha) for i in range(1, number)) - sum(1 / (theta + i) for i in range(1, records))
    by_alpha = sum(i / (theta + i * alpha) for i in range(1, number))
    by_alpha -= sum(1 / (i - alpha) for size in sizes for i in range(1, size))
    return by_theta, by_alpha
