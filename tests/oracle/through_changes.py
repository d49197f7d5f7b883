"""Members that see through a change: ranks, differences, points between people, words and single values.

Docs: concepts/attackers.md, "Through a change", and concepts/sight.md, "How a change is estimated". Tables are handed
over at the granularity of the release. Columns become ranks, or differences; what compares ranks then is the oracle's
own attack.

Choices where the pages are silent:
- Of renamings of the same cost the first counts, in the order of the labels.
- A record is nearer than the other end only if it is so by more than a hundred-thousandth.
"""

import itertools
import math
import re
import statistics
from dataclasses import dataclass, field
from operator import mul

from .rarity import amount
from .vectors import length

ALIKE, KNOWN_LABELS, UNSURE, MOST_UNSURE, FAR = 0.3, 0.5, 0.02, 7, 4.0
MOST_LABELS, SHARED_LABELS, EXCHANGED = 400, 40, 30.0
OVERLAP, MOST_COMPARED = 0.7, 6
ROUNDS, CLEAREST, FEWEST_PAIRS, WINDOW = 6, 0.25, 60, 15
NOISE = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
EXACT = 1e-5
UNSEEN = 0.05
USUAL, OWN_TEXT, FEWEST_WORDS = 0.2, 0.5, 2
ORDERED = ("numeric", "datetime")


def together(original, control):
    """Originals and controls as one table: what is estimated, is estimated from both."""
    return {name: values + (control[name] if control else []) for name, values in original.items()}


def place(value):
    """A number, a time, or the middle of a range."""
    return (value[0] + value[1]) / 2 if isinstance(value, tuple) else amount(value)


def rank(value, values, direction=1):
    """The share of the values below, and half of those equal, about 0 and with a spread of 1."""
    below = sum(1 for other in values if other < value)
    equal = sum(1 for other in values if other == value)
    return direction * math.sqrt(12) * ((2 * below + equal) / (2 * len(values)) - 0.5)


def known(values):
    return [place(value) for value in values if value is not None]


def distance(one, other):
    """Kolmogorov-Smirnov."""
    at = one + other
    return max(abs(sum(x <= t for x in one) / len(one) - sum(x <= t for x in other) / len(other)) for t in at)


def same_scale(own, released):
    """Whether two distributions are alike, or noise makes them so."""
    by_chance, apart = math.sqrt(1 / len(own) + 1 / len(released)), distance(own, released)
    if apart <= ALIKE:
        return True
    spread = statistics.pstdev(own)
    values, at = ([quantile(sorted(part), (i + 0.5) / 400) for i in range(400)] for part in (own, released))

    def unlike(level):
        normal = statistics.NormalDist(0, level * spread)
        found = []
        for t in sorted(set(at)):
            noised = mean([normal.cdf(t - x) for x in values])
            found.append(noised - sum(x <= t for x in released) / len(released))
            found.append(sum(x < t for x in released) / len(released) - noised)
        return max(found)

    return min(unlike(level) for level in NOISE) <= 0.03 + by_chance


def quantile(values, share):
    """The value at a share of sorted values: between two of them where most differ, otherwise the nearest."""
    place = min(max(share * len(values) - 0.5, 0), len(values) - 1)
    if len(set(values)) < len(values) / 2:
        return values[round(place)]
    before = int(place)
    after = min(before + 1, len(values) - 1)
    return values[before] + (values[after] - values[before]) * (place - before)


@dataclass
class Change:
    """How the release writes columns: the direction of ordered ones, and the new names of labels."""

    direction: dict
    names: dict = field(default_factory=dict)  # column -> label of a person -> label of the release
    shift: dict = field(default_factory=dict)  # column -> what is added to a rank, at some ranks


def ranked(original, protected, control, columns, change):
    """The tables as ranks, labels named as in the release, and the columns, which are numbers now."""
    people = together(original, control)
    tables = {"original": original, "protected": protected} | ({"control": control} if control else {})
    made = {table: dict(values) for table, values in tables.items()}
    kinds = {name: dict(column) for name, column in columns.items()}
    for name, direction in change.direction.items():
        kinds[name]["type"] = "numeric"
        for table, values in tables.items():
            among, turned = (known(protected[name]), 1) if table == "protected" else (known(people[name]), direction)
            made[table][name] = [None if v is None else rank(place(v), among, turned) for v in values[name]]
            if table != "protected":
                made[table][name] = [None if v is None else v + added(change.shift[name], v) for v in made[table][name]]
    for name, names in change.names.items():
        for table in tables:
            if table != "protected":
                made[table][name] = [None if v is None else names.get(v, v) for v in tables[table][name]]
    return made, kinds


def estimate(original, protected, control, columns):
    """The direction of every ordered column that varies in both tables, and the names of labels."""
    return _Estimate(together(original, control), protected, columns).change()


class _Estimate:
    def __init__(self, people, released, columns):
        self.people, self.released = people, released
        self.rows = length(people), length(released)
        self.ordered = [
            name
            for name, column in columns.items()
            if column["type"] in ORDERED and min(len(set(known(table[name]))) for table in (people, released)) > 1
        ]
        self.on_scale = [same_scale(known(people[n]), known(released[n])) for n in self.ordered]
        self.ranks = [
            [[0.0 if v is None else rank(place(v), known(table[n])) for v in table[n]] for n in self.ordered]
            for table in (people, released)
        ]
        self.labels = [
            name
            for name, column in columns.items()
            if column["type"] == "category" and not any(are_texts(table[name]) for table in (people, released))
        ]
        self.familiar = {name: self._familiar(name) for name in self.labels}
        self.at = [1] * len(self.ordered)
        self.names = {}

    def change(self):
        strange = [n for n in self.labels if not self.familiar[n] and self._can_be_named(n)]
        self._turn()
        for name in sorted(strange, key=lambda n: len(set(self.people[n]) - {None})):
            self.names[name] = self._named(name)[0]
        if strange:
            self._turn()
            for name in strange:
                self.names[name] = self._named(name)[0]
        for name in self.labels:
            if self.familiar[name] and self._can_be_named(name):
                self._exchange(name)
        shift = dict(zip(self.ordered, self._shifts(), strict=True))
        return Change(dict(zip(self.ordered, self.at, strict=True)), self.names, shift)

    def _shifts(self):
        """What ranks among all people are off by in the release, by local medians of the clearest pairs."""
        count = len(self.ordered)
        own, there = self._features(None)
        shifts, moved = [[] for _ in range(count)], own
        for _ in range(ROUNDS if count else 0):
            found = []
            for j in range(self.rows[1]):
                squares = [
                    round(sum((mine[i] - other[j]) ** 2 for mine, other in zip(moved, there, strict=True)), 9)
                    for i in range(self.rows[0])
                ]
                i = squares.index(min(squares))
                best = squares.pop(i)
                found.append((best / max(min(squares), 1e-12), i, j))
            clearest = sorted(found, key=lambda pair: pair[0])[: max(FEWEST_PAIRS, int(CLEAREST * self.rows[1]))]
            for c, name in enumerate(self.ordered):
                pairs = [
                    (own[c][i], there[c][j] - own[c][i])
                    for _, i, j in clearest
                    if self.people[name][i] is not None and self.released[name][j] is not None
                ]
                shifts[c] = local_medians(sorted(pairs, key=lambda pair: pair[0]))
            moved = [
                [x if v is None else x + added(shift, x) for x, v in zip(column, self.people[name], strict=True)]
                for name, column, shift in zip(self.ordered, own, shifts, strict=False)
            ] + own[count:]
        return shifts

    def _familiar(self, name):
        own, there = set(self.people[name]), [v for v in self.released[name] if v is not None]
        return not there or sum(v in own for v in there) / len(there) >= KNOWN_LABELS

    def _can_be_named(self, name):
        return all(1 < len(set(table[name]) - {None}) <= MOST_LABELS for table in (self.people, self.released))

    def _understood(self):
        """The label columns whose meaning is known, as both tables write them."""
        found = {}
        for name in self.labels:
            if name in self.names or self.familiar[name]:
                names = self.names.get(name, {})
                found[name] = [names.get(v, v) for v in self.people[name]], self.released[name]
        return found

    def _turn(self):
        if not self.ordered:
            return
        count = range(len(self.ordered))
        own, there = self.ranks

        def both(change, c, d):
            means = [mean([change(x) * y for x, y in zip(side[c], side[d], strict=True)]) for side in (own, there)]
            return means[0] * means[1]

        pairs = [[0.0 if c == d else both(lambda x: x, c, d) for d in count] for c in count]
        single = [sum(both(lambda x: x**2 - 1, c, d) for c in count if c != d) + 1e-6 for d in count]
        for mine, theirs in self._understood().values():
            for label in set(mine) & set(theirs) - {None}:
                rows = [r for r, v in enumerate(mine) if v == label], [r for r, v in enumerate(theirs) if v == label]
                sizes = [sum(v is not None for v in side) for side in (mine, theirs)]
                share = min(len(part) / size for part, size in zip(rows, sizes, strict=True))
                for d in count:
                    means = [mean([side[d][r] for r in part]) for side, part in zip(self.ranks, rows, strict=True)]
                    single[d] += share * means[0] * means[1]

        def agreement(at, kept):
            total = sum(pairs[c][d] * at[c] * at[d] for c in count for d in count if c < d)
            return total + sum((single[d] + kept[d]) * at[d] for d in count)

        unturned = [0.05 if same else 0.0 for same in self.on_scale]
        self.at = list(max(itertools.product((1, -1), repeat=len(count)), key=lambda at: agreement(at, unturned)))
        nothing = [0.0] * len(count)
        change = [abs(agreement(turned(self.at, [c]), nothing) - agreement(self.at, nothing)) for c in count]
        unsure = sorted(sorted((c for c in count if change[c] < UNSURE), key=lambda c: change[c])[:MOST_UNSURE])
        flips = connected(pairs)[:MOST_UNSURE]
        flips += [list(some) for size in range(1, len(unsure) + 1) for some in itertools.combinations(unsure, size)]
        self._try_on_records(flips)

    def _try_on_records(self, flips):
        differing = [[0.0] * self.rows[1] for _ in range(self.rows[0])]
        for mine, theirs in self._understood().values():
            for i, label in enumerate(mine):
                for j, other in enumerate(theirs):
                    differing[i][j] += 2.0 * (label != other)

        def reached(at):
            found = []
            for i in range(self.rows[0]):
                person = [s * column[i] for s, column in zip(at, self.ranks[0], strict=True)]
                squares = min(
                    sum((x - column[j]) ** 2 for x, column in zip(person, self.ranks[1], strict=True)) + differing[i][j]
                    for j in range(self.rows[1])
                )
                found.append(math.log(max(squares, 1e-6)) / 2)
            return found

        near = reached(self.at)
        for columns in flips:
            other = turned(self.at, columns)
            nearer = reached(other)
            gain = [a - b for a, b in zip(near, nearer, strict=True)]
            if mean(gain) > FAR * max(statistics.pstdev(gain) / math.sqrt(len(gain)), 1e-12):
                self.at, near = other, nearer

    def _features(self, without):
        """What labels of a column are known by: the ranks of their records, and the labels of other columns."""
        own = [[s * x for x in column] for s, column in zip(self.at, self.ranks[0], strict=True)]
        there = list(self.ranks[1])
        for name, (mine, theirs) in self._understood().items():
            found = sorted(set(theirs) - {None})
            if name != without and len(found) <= SHARED_LABELS:
                for label in found:
                    own.append([float(v == label) for v in mine])
                    there.append([float(v == label) for v in theirs])
        return own, there

    def _costs(self, name):
        """The cost of taking each label of the people for each of the release, with and without that of the shares."""
        sides = []
        for table, features in zip((self.people, self.released), self._features(name), strict=True):
            values = table[name]
            rows = [r for r, v in enumerate(values) if v is not None]
            spread = [statistics.pvariance([feature[r] for r in rows]) for feature in features]
            profiles = {}
            for label in sorted({values[r] for r in rows}):
                mine = [r for r in rows if values[r] == label]
                means = [mean([feature[r] for r in mine]) for feature in features]
                profiles[label] = len(mine), means, [s / len(mine) + 1e-9 for s in spread]
            sides.append((len(rows), profiles))
        (people, own), (records, there) = sides
        costs, without = {}, {}
        for a, (n, means, errors) in own.items():
            for b, (m, others, others_errors) in there.items():
                four = zip(means, others, errors, others_errors, strict=True)
                without[a, b] = sum((x - y) ** 2 / (e + f) for x, y, e, f in four)
                pooled = min(1.0, max(1e-9, (n + m) / (people + records)))
                costs[a, b] = without[a, b] + (n / people - m / records) ** 2 / (pooled * (1 / people + 1 / records))
        return list(own), list(there), costs, without

    def _named(self, name):
        """The cheapest renaming, and its cost. Labels that have no partner of their own share the nearest."""
        own, there, costs, without = self._costs(name)
        if len(own) <= len(there):
            tried = (list(zip(own, some, strict=True)) for some in itertools.permutations(there, len(own)))
        else:
            tried = (list(zip(some, there, strict=True)) for some in itertools.permutations(own, len(there)))
        best = dict(min(tried, key=lambda pairs: sum(costs[pair] for pair in pairs)))
        for label in own:
            if label not in best:
                best[label] = min(there, key=lambda other: without[label, other])
        return best, sum(costs[pair] for pair in best.items()), costs

    def _exchange(self, name):
        """Labels that both tables have are taken for exchanged if that explains far more."""
        if set(self.people[name]) - {None} != set(self.released[name]) - {None}:
            return
        names, cost, costs = self._named(name)
        same = sum(costs[label, label] for label in names)
        if same - cost > EXCHANGED and cost < same / 2:
            self.names[name] = names


def local_medians(pairs):
    """The medians of the values of every 15 neighbouring pairs, at the medians of their places; one for each place."""
    windows = [pairs[start : start + WINDOW] for start in range(len(pairs) - WINDOW + 1)]
    found = {}
    for window in windows:
        at, by = (statistics.median(part) for part in zip(*window, strict=True))
        found.setdefault(at, []).append(by)
    return sorted((at, mean(values)) for at, values in found.items())


def added(shift, x):
    """A straight line between neighbouring places, constant beyond the first and the last."""
    if not shift:
        return 0.0
    before, after = [pair for pair in shift if pair[0] <= x], [pair for pair in shift if pair[0] >= x]
    if not before or not after:
        return (before or after)[-1 if before else 0][1]
    (a, low), (b, high) = before[-1], after[0]
    return low if a == b else low + (high - low) * (x - a) / (b - a)


def mean(values):
    return sum(values) / len(values)


def turned(at, columns):
    return [-s if c in columns else s for c, s in enumerate(at)]


def connected(pairs):
    """Groups of columns that go together, the one with the first column first."""
    groups, left = [], set(range(len(pairs)))
    while left:
        group, new = set(), {min(left)}
        while new:
            group |= new
            new = {d for c in new for d in left if abs(pairs[c][d]) >= UNSURE} - group
        left -= group
        groups.append(sorted(group))
    return groups


def subtracted(original, protected, control, columns):
    """Differences of the first six times, and of those of the first six numbers that have one unit, in their place."""
    people = together(original, control)
    times = [name for name, column in columns.items() if column["type"] == "datetime"][:MOST_COMPARED]
    numbers = [name for name, column in columns.items() if column["type"] == "numeric"][:MOST_COMPARED]
    pairs = list(itertools.combinations(times, 2))
    pairs += [pair for pair in itertools.combinations(numbers, 2) if one_unit(*(known(people[n]) for n in pair))]
    days = {n for n in times if all(v is None or whole_day(v) for v in people[n])}
    gone = {name for pair in pairs for name in pair}
    kinds = {name: column for name, column in columns.items() if name not in gone}
    tables = {"original": original, "protected": protected} | ({"control": control} if control else {})
    made = {table: {name: values[name] for name in kinds} for table, values in tables.items()}
    for one, other in pairs:
        name = f"{one} - {other}"
        kinds[name] = {"role": columns[one]["role"], "type": "numeric"}
        for table, values in tables.items():
            made[table][name] = [
                difference(x, y, {one, other} <= days) for x, y in zip(values[one], values[other], strict=True)
            ]
    return made, kinds, pairs


def log_ratios(tables, columns):
    """Logarithms of the ratios of the first six numbers that vary and are above 0 for everybody; None where unknown."""
    people = together(tables["original"], tables["control"])
    numbers = [name for name, column in columns.items() if column["type"] == "numeric"]
    above = [n for n in numbers if min(known(people[n]), default=0) > 0 and len(set(known(people[n]))) > 1][
        :MOST_COMPARED
    ]
    pairs = list(itertools.combinations(above, 2)) if len(above) >= 3 else []
    kinds = {f"{one} / {other}": {"role": columns[one]["role"], "type": "numeric"} for one, other in pairs}
    made = {
        table: {
            f"{one} / {other}": [log_ratio(x, y) for x, y in zip(values[one], values[other], strict=True)]
            for one, other in pairs
        }
        for table, values in tables.items()
    }
    return made, kinds


def log_ratio(x, y):
    """The logarithm of x / y; None unless both are above 0."""
    if x is None or y is None or x <= 0 or y <= 0:
        return None
    return math.log(x) - math.log(y)


def one_unit(one, other):
    return all(len(set(values)) > 1 for values in (one, other)) and distance(one, other) <= OVERLAP


def whole_day(value):
    return (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)


def difference(x, y, whole):
    """Days between two times, rounded if both columns hold whole days; a difference of numbers to nine decimals."""
    if x is None or y is None:
        return None
    if hasattr(x, "timestamp"):
        days = (x - y).total_seconds() / 86400
        return float(round(days)) if whole else days
    return round(x - y, 9)


def rare_agreement(people, protected, names):
    """For each of the people, the best sum of log(1 / frequency) over the columns with equal values."""
    counts = {name: [v for v in protected[name] if v is not None] for name in names}

    def score(i, j):
        equal = [(name, people[name][i]) for name in names if people[name][i] == protected[name][j]]
        logs = [(len(counts[name]) + 1) / (counts[name].count(v) + 1) for name, v in equal if v is not None]
        return sum(math.log(ratio) for ratio in logs)

    return [max(score(i, j) for j in range(length(protected))) for i in range(length(people))]


def between(people, released):
    """For each of the people, minus the logarithm of the least sine; rows are lists of scaled numbers."""
    found = []
    for x in people:
        records, others = (
            [(math.dist(x, y), [b - a for a, b in zip(x, y, strict=True)]) for y in ys] for ys in (released, people)
        )
        most = 0.0
        for near, to_record in records:
            for far, to_other in others:
                if near > 0 and far > 0:
                    cosine = sum(map(mul, to_record, to_other)) / near / far
                    if cosine * near < far * (1 - EXACT):
                        most = max(most, cosine)
        found.append(-math.log(max(EXACT, math.sqrt(max(0.0, 1 - most**2)))) if most else 0.0)
    return found


def words_of(text):
    return [word.casefold() for word in re.findall(r"[^\W_]+", text)]


def are_texts(values):
    """Whether most labels of a column are different, with two words or more that have a letter, as names have."""
    texts = [value for value in values if value is not None]
    used = set(texts)
    lengths = [sum(bool(re.search(r"[^\W\d_]", part)) for part in text.split()) for text in used]
    return bool(used) and len(used) >= OWN_TEXT * len(texts) and mean(lengths) >= FEWEST_WORDS


def fitting_words(people, protected, names):
    """For each of the people, the largest score of a released record, over the columns of texts together."""
    weights = {}
    for name in names:
        texts = [words_of(text) for text in protected[name] if text is not None]
        having = {word: sum(word in text for text in texts) for text in texts for word in text}
        weights[name] = {word: math.log(len(texts) / n) for word, n in having.items() if n <= USUAL * len(texts)}
    return [
        max(
            sum(fit(people[name][i], protected[name][j], weights[name]) for name in names)
            for j in range(length(protected))
        )
        for i in range(length(people))
    ]


def fit(own, released, weights):
    """How well the words of a released text fit a person's; a word counts once, at its first place."""
    own, theirs = (words_of(text) if text is not None else [] for text in (own, released))
    total = 0.0
    for word in set(theirs) & set(weights):
        at = theirs.index(word)
        times = 2 if own[at : at + 1] == [word] else 1 if word in own else -1
        total += times * weights[word]
    return total


def single_values(original, protected, control, names):
    """How much more often the release has each person's values than other people: originals, then controls."""
    people = together(original, control)
    n, rows = length(people), length(protected)
    found = []
    for i in range(n):
        total = 0.0
        for name in names:
            value = people[name][i]
            if value is not None:
                others = sum(v == value for at, v in enumerate(people[name]) if at != i)
                there = (sum(v == value for v in protected[name]) + UNSEEN) / rows
                total += math.log(there) - math.log((others + 1) / n)
        found.append(total)
    return found
