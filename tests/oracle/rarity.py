"""The rarity score (docs/concepts/attackers.md, "The rarity score").

    score(x, y) = sum of log(1 / frequency(x_c)) over the columns c on which x and y agree

where a tolerance that was found in the release has two levels: with e, how often values of a match within it are
equal, and u, the share of the people within it who have the very value, equal values add log(e / u) and others
log((1 - e) / (1 - u)), with u at most e, and near values never weigh less than values that differ.

Choices where the page is silent:
- The standard deviation is that of the population, over the values that are known.
- A column in which originals or release do not vary agrees exactly, and so does a column with ranges.
- While the tolerance of a column is searched, frequencies too are counted with the tolerance of a tenth, and in the
  release alone.
- "The best" is single if no other candidate is within 1e-6 of it.
"""

import math
import statistics
from dataclasses import dataclass, field

CUTS = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]


@dataclass
class Weights:
    names: list
    known: dict  # column -> the values of the counted people
    tolerance: dict  # column -> within which its values agree, 0 for labels
    equal: dict = field(default_factory=dict)  # column -> how often values of a match within it are equal

    def score(self, a, i, b, j, without=None):
        """The score of record i of table a with record j of table b, over all columns but `without`."""
        total = 0.0
        for name in self.names:
            x, y = a[name][i], b[name][j]
            if name != without and x is not None and y is not None and self.agree(name, x, y):
                total += self.level(name, x, y, self.weight(name, x), 0.0)
        return total

    def level(self, name, x, y, agree, differ):
        """What agreement weighs: more for equal values than for near ones, if there are two levels."""
        if name not in self.equal:
            return agree
        e = min(1 - 1e-6, max(1e-6, self.equal[name]))
        same = math.exp(self.weight(name, x) - self.weight(name, x, equal=True))
        u = min(e, 1 - 1e-6, max(1e-6, same))
        if amount(x) == amount(y):
            return agree + math.log(e / u)
        return max(agree + math.log((1 - e) / (1 - u)), min(agree, differ))

    def agree(self, name, x, y):
        within = self.tolerance[name]
        return abs(amount(x) - amount(y)) <= within if within else x == y

    def weight(self, name, x, equal=False):
        """Log(1 / frequency) of what agrees with x, or of what equals it; kept for each value."""
        if (name, x, equal) not in self.kept:
            agreeing = sum(1 for y in self.known[name] if (amount(x) == amount(y) if equal else self.agree(name, x, y)))
            self.kept[name, x, equal] = math.log((len(self.known[name]) + 1) / (agreeing + 1))
        return self.kept[name, x, equal]

    def largest(self):
        """Agreement on values that nobody counted has."""
        return sum(math.log(len(self.known[name]) + 1) for name in self.names)

    def __post_init__(self):
        self.kept = {}


def amount(value):
    """A number or a time as a number."""
    return value.timestamp() if hasattr(value, "timestamp") else value


def fit(tables, names, columns, reference):
    """Frequencies in the release and among the `reference` rows of the control; tolerances from the release."""
    known = {}
    for name in names:
        counted = tables["protected"][name] + [tables["control"][name][r] for r in reference]
        known[name] = [value for value in counted if value is not None]
    exact = dict.fromkeys(names, 0.0)
    spreads = {name: min_spread(tables, name, columns[name]) for name in names}
    released = {name: [value for value in tables["protected"][name] if value is not None] for name in names}
    meanwhile = Weights(names, released, {name: 0.1 * spreads[name] for name in names})
    found, equal = dict(exact), {}
    if len(names) > 1:
        for name in names:
            if spreads[name] > 0:
                found[name], same = tolerance(tables["original"], tables["protected"], name, meanwhile, spreads[name])
                equal |= {name: same} if found[name] else {}
    return Weights(names, known, found, equal)


def min_spread(tables, name, column):
    """The originals' standard deviation; 0 for labels and ranges, and where either table does not vary."""
    spreads = []
    for table in ("original", "protected"):
        values = [value for value in tables[table][name] if value is not None]
        if column["type"] == "category" or not values or any(isinstance(value, tuple) for value in values):
            return 0.0
        spreads.append(statistics.pstdev([amount(value) for value in values]))
    return spreads[0] if min(spreads) > 0 else 0.0


def tolerance(original, released, name, meanwhile, spread):
    """The cut that best separates matches from random pairs, and how many of the matches within it are equal."""
    near, asked = [], []
    for i, mine in enumerate(original[name]):
        scores = [meanwhile.score(original, i, released, j, without=name) for j in range(len(released[name]))]
        best = max(scores)
        ties = [j for j, score in enumerate(scores) if best - score <= 1e-6]
        if len(ties) == 1 and mine is not None and released[name][ties[0]] is not None:
            asked.append(amount(mine))
            near.append(abs(amount(mine) - amount(released[name][ties[0]])))
    if not near:
        return 0.0, 1.0
    there = [amount(value) for value in released[name] if value is not None]
    shares, chances = [], []
    for cut in CUTS:
        within = cut * spread
        pairs = sum(1 for x in asked for y in there if abs(x - y) <= within)
        # Half a pair is added to each count, and one to each total, so that no share is 0 or 1.
        shares.append((sum(1 for d in near if d <= within) + 0.5) / (len(near) + 1))
        chances.append((pairs + 0.5) / (len(asked) * len(there) + 1))
    # The share of the pairs that are matches: at the cut where it is largest, all matches are within.
    matches = max((share - chance) / (1 - chance) for share, chance in zip(shares, chances, strict=True))
    if matches <= 0:
        return 0.0, 1.0
    own = [
        min(1.0, max(chance, (share - (1 - matches) * chance) / matches))
        for share, chance in zip(shares, chances, strict=True)
    ]
    own = [max(own[: place + 1]) for place in range(len(own))]
    information = [
        divergence([own[0], share - own[0], 1 - share], [chances[0], chance - chances[0], 1 - chance])
        for share, chance in zip(own, chances, strict=True)
    ]
    best = information.index(max(information))
    apart = divergence([shares[best], 1 - shares[best]], [chances[best], 1 - chances[best]])
    if apart > 0.05 and (information[best] - information[0]) * apart > 0.8 * information[0]:
        return CUTS[best] * spread, own[0] / own[best]
    return 0.0, 1.0


def divergence(found, by_chance):
    """Kullback-Leibler divergence, in nats; levels that never occur on either side say nothing."""
    return sum(p * math.log(p / q) for p, q in zip(found, by_chance, strict=True) if p > 0 and q > 0)
