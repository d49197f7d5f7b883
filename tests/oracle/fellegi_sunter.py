"""The Fellegi-Sunter weight (docs/concepts/similarity.md, "Agreement"), with m estimated by EM.

Choices where the page is silent:
- Chance agreement counts pairs within the tolerance, among known values; it is 0.5 where a table has none.
- The frequency of a value is kept within 1e-6 of 0 and 1. For an original without a value it does not matter.
- Probabilities stay within 1e-12 of 0 and 1 during EM.
- Where u is the frequency of the value and a column has a tolerance, there are three levels: equal, near, neither. EM
  compares for equality where values are near; without an estimate, matches are equal as often as the tolerance says.
"""

import math
from dataclasses import dataclass, field
from functools import partial

from . import rarity

START, START_SHARE, ADDED = 0.9, 0.5, 0.5
NEAR, MOST_STEPS, FEWEST = 1e-4, 500, 10.0


@dataclass
class Weights:
    names: list
    m: dict  # column -> the probability that a match agrees
    u: dict  # column -> the probability that another pair agrees
    within: rarity.Weights  # whether two values agree, and how frequent a value is
    values: bool  # whether u of an agreement is the frequency of the value
    kept: dict = field(default_factory=dict)

    def score(self, a, i, b, j):
        """The weight of record i of table a with record j of table b."""
        total = 0.0
        for name in self.names:
            x, y = a[name][i], b[name][j]
            if x is None or y is None:
                continue
            differ = math.log((1 - self.m[name]) / (1 - self.u[name]))
            if not self.within.agree(name, x, y):
                total += differ
                continue
            agree = math.log(self.m[name] / min(self.chance(name, x), self.m[name] if self.values else 1.0))
            total += self.within.level(name, x, y, agree, differ) if self.has_levels(name) else agree
        return total

    def has_levels(self, name):
        return self.values and name in self.within.equal

    def chance_of_equal(self, name, x):
        """Of the people within the tolerance of x, how many have x itself."""
        same = math.exp(self.within.weight(name, x) - self.within.weight(name, x, equal=True))
        return min(1 - 1e-6, max(1e-6, same))

    def chance(self, name, x):
        """U of an agreement on the value x."""
        if not self.values:
            return self.u[name]
        return min(1 - 1e-6, max(1e-6, math.exp(-self.within.weight(name, x))))

    def largest(self):
        """Agreement on values that nobody has, or disagreement if that is larger."""
        total = 0.0
        for name in self.names:
            agree = math.log(self.m[name] / self.u[name])
            if self.values:
                agree = math.log(self.m[name] * (len(self.within.known[name]) + 1))
            total += max(agree, math.log((1 - self.m[name]) / (1 - self.u[name])))
        return total


def fit(tables, names, columns, settings):
    """Tolerances as under rarity, u from both tables, and m as set or from the release."""
    within = rarity.fit(tables, names, columns, [])
    if settings.get("tolerance", 0.0) != "release":
        within = rarity.Weights(names, within.known, dict.fromkeys(names, 0.0))
    u = settings["u"] if isinstance(settings.get("u"), dict) else None
    u = u or {
        name: chance(tables["original"][name], tables["protected"][name], partial(within.agree, name)) for name in names
    }
    first = START if settings["m"] == "release" else settings["m"]
    m = first if isinstance(first, dict) else dict.fromkeys(names, first)
    found = Weights(names, m, u, within, settings.get("u") == "values")
    if settings["m"] == "release":
        estimated = estimate(tables["original"], tables["protected"], found)
        if estimated is not None:
            found.m = {name: estimated[name] for name in names}
            found.within.equal = {name: estimated[name, "equal"] for name in names if found.has_levels(name)}
    return found


def equal(x, y):
    return x == y


def chance(one, other, agree=equal):
    """How often a record of one table agrees with one of the other."""
    one, other = ([value for value in values if value is not None] for values in (one, other))
    if not one or not other:
        return 0.5
    agreeing = sum(1 for x in one for y in other if agree(x, y))
    return min(1 - 1e-6, max(1e-6, agreeing / (len(one) * len(other))))


def estimate(original, released, weights):
    """EM where an original has at most one match: m of every column, None if there is no answer."""
    names = weights.names
    rows, count = len(original[names[0]]), len(released[names[0]])
    if not rows or not count:
        return None
    levels = [name for name in names if weights.has_levels(name)]
    chances = [
        {name: 0.5 if original[name][i] is None else weights.chance(name, original[name][i]) for name in names}
        | {
            (name, "equal"): 0.5 if original[name][i] is None else weights.chance_of_equal(name, original[name][i])
            for name in levels
        }
        for i in range(rows)
    ]
    patterns = [counted(original, i, released, count, weights) for i in range(rows)]
    mean = {name: mean_chance(chances, original, name) for name in names}
    mean |= {(name, "equal"): mean_chance(chances, original, name, (name, "equal")) for name in levels}
    names = [*names, *((name, "equal") for name in levels)]
    m, share = {name: max(START, (1 + mean[name]) / 2) for name in names}, START_SHARE
    for _ in range(MOST_STEPS):
        agreeing, known, found = dict.fromkeys(names, ADDED), dict.fromkeys(names, 2 * ADDED), 0.0
        for own, patterned in zip(chances, patterns, strict=True):
            ratios = {}
            for pattern in patterned:
                logs = 0.0
                for name, agrees in zip(names, pattern, strict=True):
                    if agrees is not None:
                        logs += math.log(m[name] / own[name] if agrees else (1 - m[name]) / (1 - own[name]))
                ratios[pattern] = math.exp(logs)
            total = (1 - share) + share * sum(ratios[p] * n for p, n in patterned.items()) / count
            for pattern, times in patterned.items():
                weight = times * share * ratios[pattern] / count / total
                found += weight
                for name, agrees in zip(names, pattern, strict=True):
                    if agrees is not None:
                        known[name] += weight
                        agreeing[name] += weight * agrees
        moved = {name: inside(agreeing[name] / known[name]) for name in names}
        moved_share = inside(found / rows)
        step = max(abs(moved_share - share), *(abs(moved[name] - m[name]) for name in names))
        m, share = moved, moved_share
        if step < NEAR:
            return {name: max(m[name], mean[name]) for name in names} if share * rows >= FEWEST else None
    return None


def mean_chance(chances, original, name, of=None):
    """The mean of u over the originals with a value."""
    own = [row[of or name] for value, row in zip(original[name], chances, strict=True) if value is not None]
    return sum(own) / len(own) if own else 0.5


def counted(original, i, released, count, weights):
    """How often each pattern occurs among the pairs of an original: True, False, or None where a value is missing."""
    found = {}
    for j in range(count):
        pattern = tuple(
            None
            if original[name][i] is None or released[name][j] is None
            else weights.within.agree(name, original[name][i], released[name][j])
            for name in weights.names
        )
        pattern += tuple(
            rarity.amount(original[name][i]) == rarity.amount(released[name][j]) if near else None
            for name, near in zip(weights.names, pattern, strict=True)
            if weights.has_levels(name)
        )
        found[pattern] = found.get(pattern, 0) + 1
    return found


def inside(value):
    return min(1 - 1e-12, max(1e-12, value))
