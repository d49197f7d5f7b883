"""The cost of one attack, from counts that are known before it, and how fast this machine is.

The counts are records, columns, features (the width of the vectors), people who are searched, and their candidates;
candidates and features are counted in a sample of the tables. The constants below are seconds of the reference core
(`speed`), fitted to the times of audits of tables of many kinds (`benchmarks/plan.py`). A plan should be right within a
factor of two, so what takes a small part of every audit has no constant of its own. Some work is done by one core, some
is spread over all workers. Attackers share work as the attack itself does (`shared_work`).

How fast this machine is, measured in some tens of milliseconds. Two measurements tell apart what processors differ in:
a matrix product in single precision, which uses wide registers, and a stable sort, which stands for all plain work;
other sorts use wide registers where there are any. Both are short and repeated, and the fastest counts. How much of the
time this process had a core to itself tells how busy the machine is with other programs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, field, replace
from math import comb, sqrt
from typing import NamedTuple

import numpy as np

from cvpl.assessment.diagnostics.validity import SCREENED
from cvpl.attack import interpolation, tolerances
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.attack.table_blocks import assign_blocks
from cvpl.config.resolved import ResolvedConfig
from cvpl.operators.alignment import detect
from cvpl.operators.similarity.match_agreement import asked_originals
from cvpl.operators.vectorization import FeatureSpace, with_a_feature_each
from cvpl.search.exact import INDEX_ALL_PAIRS, TREE_PAIRS, TREE_RECORDS
from cvpl.search.machine import one_blas_thread
from cvpl.tables.columns import Table
from cvpl.tables.pair import Inputs

_REPEATS = 25
_SIDE = 256
_SORTED = 20_000
_PRODUCT_SECONDS = 1.0e-3
"""The time of the product on the reference core, ..."""
_SORT_SECONDS = 1.25e-3
"""... and that of the sort."""
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Speed:
    """How many times as long as the reference core one core takes for matrix products, and for plain work.

    `share` is the part of a core that other programs leave to a thread.
    """

    product: float = 1.0
    plain: float = 1.0
    share: float = 1.0


REFERENCE = Speed()


def measure_speed() -> Speed:
    """Measure this machine."""
    rng = np.random.default_rng(0)
    matrix, numbers = rng.random((_SIDE, _SIDE), dtype=np.float32), rng.random(_SORTED)
    with one_blas_thread():
        began, used = time.perf_counter(), time.thread_time()
        product, sort = _fastest(lambda: matrix @ matrix), _fastest(lambda: np.sort(numbers, kind="stable"))
        share = (time.thread_time() - used) / max(time.perf_counter() - began, 1e-9)
    return Speed(product / _PRODUCT_SECONDS, sort / _SORT_SECONDS, min(1.0, max(_LEAST_SHARE, share)))


def _fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


SAMPLE = 1_000
"""The records of a table in which candidates are counted."""
COMPONENTS = 0.3
"""Principal components over features, but at least one a column."""
ANOTHER_CORE = 0.8
"""What each further core adds to the first: threads wait for each other."""

# Seconds of the reference core.
ATTACK, PERSON = 0.02, 5e-6
"""An attack without any records, and the evaluation of a person."""
FEATURE, COVARIANCE, COMPONENT = 30e-9, 0.75e-6, 0.6e-9
"""A feature of a record, two features in a covariance, and the components of n features, over n cubed."""
PAIR, PAIR_FEATURE = 2e-9, 0.06e-9
"""A pair of vectors, and each of the products that it takes."""
PAIR_CELL, DENSITY_CELL = 3e-9, 0.7e-9
"""A column of a pair that is compared by its values, and of one in a density."""
TREE, INDEX, INDEX_QUERY, CELL_QUERY = 0.3e-6, 0.15e-6, 0.2e-6, 0.08e-6
"""A feature of a record in a tree; a cell in an index; a query in one of values, and a column of a query in one of
generalized cells, over the square root of its records."""
COMPILER = 0.8
"""Loading what was compiled."""
MATCHED_CELL = 20e-9
"""A column of a pair from which it is estimated how often matches agree."""
LINE, NEAREST = 3e-9, 22e-6
"""A released record tried on the line between two people, and a feature of a person if the nearest alone are tried."""
ENDS = 40
"""So many records take as long as finding the ends of a line."""
WORDS, TEXT = 25e-9, 40e-6
"""A pair of texts that are compared by their words, and a text."""
CHANGE, CHANGED_PAIR = 0.25, 1.6e-3
"""The estimate of how the release writes its columns, and a pair of columns in it."""


def cores(workers: int) -> float:
    """How many times faster so many workers are than one."""
    return 1 + ANOTHER_CORE * (workers - 1)


@dataclass(frozen=True)
class Cost:
    """Seconds of work that one core does alone, and of work that is spread over the workers."""

    alone: float = 0.0
    spread: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.alone + other.alone, self.spread + other.spread)

    def __mul__(self, times: float) -> Cost:
        return Cost(times * self.alone, times * self.spread)

    @property
    def processor(self) -> float:
        """The seconds of all cores together."""
        return self.alone + self.spread

    def seconds(self, workers: int) -> float:
        """The time that it takes."""
        return self.alone + self.spread / cores(workers)


@dataclass(frozen=True)
class Compared:
    """What one attacker compares: the columns, the numbers of a record, and candidates as a share of the release."""

    attacker: Attacker
    columns: int
    features: int
    width: int
    share: float

    @property
    def fits(self) -> bool:
        """Whether principal components are fitted."""
        return self.attacker.projects and self.attacker.projection_operator.principal is not None


@dataclass(frozen=True)
class Searched:
    """The people searched, the control and the reference people, and the records of the release."""

    asked: int
    control: int
    reference: int
    released: int


@dataclass
class SharedCosts:
    """The steps that were done for an earlier attacker."""

    seen: set[tuple[str, Hashable]] = field(default_factory=set)

    def get_or_compute(self, step: str, key: Hashable, cost: Callable[[], Cost]) -> Cost:
        """The cost of a step the first time, nothing after."""
        if (step, key) in self.seen:
            return Cost()
        self.seen.add((step, key))
        return cost()


class AttackCost(NamedTuple):
    """An attack in its three phases."""

    search: Cost
    control: Cost
    evaluation: Cost

    @property
    def whole(self) -> Cost:
        """All three."""
        return self.search + self.control + self.evaluation


class AttackCosts:
    """The costs of attacks on one pair of tables, with the sizes of the tables; a copy may have other sizes.

    All costs are those of the reference core for plain work. On a machine whose matrix products are `products` times as
    slow beside its plain work, they take that much longer.
    """

    def __init__(self, resolved: ResolvedConfig, inputs: Inputs, speed: Speed = REFERENCE) -> None:
        self._resolved, self._inputs, self._products = resolved, inputs, speed.product / speed.plain
        pair = inputs.pair
        self.rows = pair.original.rows
        self.control = 0 if pair.control is None else pair.control.rows
        self.released = pair.protected.rows
        self._compared: dict[Hashable, Compared] = {}
        self._spaces: dict[Hashable, tuple[list[Table], FeatureSpace, int]] = {}
        self._sampled = tuple(_sampled(table) for table in (pair.original, pair.protected))
        self._kinds = Counter(spec.type for spec in pair.original.specs)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The records of the original, the control and the release."""
        return self.rows, self.control, self.released

    def resized(self, resolved: ResolvedConfig, rows: int, control: int, released: int) -> AttackCosts:
        """The costs for another configuration, and parts of the tables with so many records."""
        found = copy(self)
        found._resolved, found.rows, found.control, found.released = resolved, rows, control, released
        return found

    def searched(self, attacker: Attacker, most: int | None = None, released: int | None = None) -> Searched:
        """How many people an attack searches, at most `most` of each kind."""
        limit = self._resolved.max_queries(attacker, self.released) if most is None else most
        asked = max(1, round(self.rows * attacker.knows_people))
        reference = self.control // 2 if attacker.needs_reference else 0
        control = self.control - reference
        if limit is not None:
            asked, control = min(asked, limit), min(control, limit)
        return Searched(asked, control, reference, self.released if released is None else released)

    def attack(self, attacker: Attacker, people: Searched, shared: SharedCosts, most: int | None = None) -> AttackCost:
        """An attack with its evaluation, without what an earlier attack did already."""
        limit = self._resolved.max_queries(attacker, self.released) if most is None else most
        keys, it = WorkKeys.of(attacker, limit), self.counted(attacker)
        asked, released = people.asked, people.released
        search = Cost()
        if attacker.alignment == "ranks":
            search += shared.get_or_compute("tables", keys.tables, lambda: self.change(it))
        if it.fits:
            search += shared.get_or_compute("projection", keys.projection, lambda: self.fit(it, asked + released))
        if attacker.estimates_matches:
            search += shared.get_or_compute("match agreement", keys.measure, lambda: self._estimates(it, people))
        search += shared.get_or_compute("found", keys.search, lambda: self.search(it, asked, released))
        control = Cost()
        if people.control:
            control = shared.get_or_compute("control", keys.control, lambda: self.search(it, people.control, released))
        evaluation = Cost(ATTACK + PERSON * (asked + people.control)) + self._evidence(it, people)
        evaluation += shared.get_or_compute("copy", keys.search, lambda: self.search(it, min(asked, SCREENED), asked))
        evaluation += shared.get_or_compute("covariances", keys.space, lambda: Cost(COVARIANCE * it.features**2))
        return AttackCost(search, control, evaluation)

    def counted(self, attacker: Attacker) -> Compared:
        """What an attacker compares, counted once for attackers that agree on it."""
        key = WorkKeys.of(attacker, None).search
        if key not in self._compared:
            self._compared[key] = self._count(attacker)
        return replace(self._compared[key], attacker=attacker)

    def repeated_attack(self, it: Compared, most: int) -> Cost:
        """An attack of few people that shares nothing, with its base."""
        people = self.searched(it.attacker, most)
        cost = self.search(it, people.asked + (people.control or people.asked), people.released)
        cost += Cost(ATTACK) + self._evidence(it, people)
        return cost + self.fit(it, people.asked + people.released) if it.fits else cost

    def change(self, it: Compared) -> Cost:
        """The estimate of how the release writes each column."""
        return Cost(CHANGE + CHANGED_PAIR * comb(it.columns, 2))

    def fit(self, it: Compared, records: int) -> Cost:
        """Principal components: the covariance and its eigenvectors."""
        return Cost(FEATURE * it.columns * records) + self.components(it)

    def components(self, it: Compared) -> Cost:
        """The principal components of a covariance that is known."""
        return Cost(COMPONENT * it.features**3 * self._products)

    def search(self, it: Compared, asked: int, there: int) -> Cost:
        """A search of so many people in so many records."""
        candidates = it.share * there
        pairs = asked * candidates
        made = Cost(FEATURE * it.width * (asked + there))
        if it.attacker.compares_values:
            # In large tables the index is compiled by the first search, and then used for few people too.
            if max(pairs, self.rows * self.released) < INDEX_ALL_PAIRS:
                return made + Cost(0, PAIR_CELL * it.columns * pairs)
            query = CELL_QUERY * it.columns if it.attacker.alignment == "cells" else INDEX_QUERY
            return made + Cost(INDEX * it.columns * there, query * sqrt(candidates) * asked)
        if it.attacker.similarity_operator.unit and pairs >= TREE_PAIRS and candidates >= TREE_RECORDS:
            return made + Cost(0, TREE * it.width * (asked + there))
        return made + Cost(0, (PAIR + PAIR_FEATURE * it.width * self._products) * pairs)

    def _estimates(self, it: Compared, people: Searched) -> Cost:
        """How often matches agree, and the tolerance of each number and time: a search by the other columns."""
        pairs = asked_originals(people.asked, people.released) * people.released
        search = self.search(it, min(people.asked, tolerances.ASKED), people.released)
        return Cost(MATCHED_CELL * it.columns * pairs + search.processor * (it.columns - self._kinds["category"]))

    def _evidence(self, it: Compared, people: Searched) -> Cost:
        """What evidence takes beyond the best candidates."""
        everybody, released, kind = people.asked + people.control, people.released, it.attacker.evidence
        if kind == "density":
            return Cost(0, DENSITY_CELL * it.columns * everybody * (released + people.reference))
        if kind == "between":
            return Cost(self._lines(everybody, released))
        if kind == "words":
            return Cost(WORDS * everybody * released + TEXT * (everybody + released))
        return self.search(it, everybody, people.reference) if it.attacker.needs_reference else Cost()

    def _lines(self, everybody: int, released: int) -> float:
        """Trying the lines between people."""
        affordable = interpolation.MOST_LINES // max(1, everybody**2)
        if affordable >= interpolation.FEWEST_RECORDS:
            return everybody**2 * LINE * (ENDS + min(affordable, released))
        return NEAREST * (self._kinds["numeric"] + self._kinds["datetime"]) * everybody

    def _count(self, attacker: Attacker) -> Compared:
        key = WorkKeys.of(attacker, None).space
        if key not in self._spaces:
            self._spaces[key] = self._space(attacker)
        tables, space, features = self._spaces[key]
        columns = len(attacker.vectorization.compared(tables[0]))
        width = columns if attacker.compares_values else features
        if attacker.projects and not attacker.compares_values:
            operator = attacker.projection_operator
            width = operator.most_components(features)
            if operator.principal is not None:
                width = min(width, max(columns, round(COMPONENTS * features)))
        share = 1.0
        if not attacker.blocking.compares_everybody:
            blocks = assign_blocks(attacker.blocking, tables, space, self._resolved.config.seed)
            share = min(1.0, blocks.pairs / max(1, tables[0].rows * tables[1].rows))
        return Compared(attacker, columns, features, width, share)

    def _space(self, attacker: Attacker) -> tuple[list[Table], FeatureSpace, int]:
        """The sample as an attacker sees it, its feature space, and the number of features in the whole tables."""
        original, protected = (attacker.view(table) for table in self._sampled)
        if attacker.alignment == "release":
            original = detect(original, protected).apply(original)
        space = attacker.vectorization.fit([original, protected])
        return [original, protected], space, space.width + self._missed_labels(attacker, space)

    def _missed_labels(self, attacker: Attacker, space: FeatureSpace) -> int:
        """The labels with a feature of their own that are in the tables, but not in the sample.

        Below 0 if there are too many in the tables, so that the column has one feature.
        """
        pair = self._inputs.pair
        tables = [pair.protected] if attacker.alignment == "release" else [pair.original, pair.protected]
        widths = {part.spec.name: part.width for part in space.category_features if part.encoding == "one_hot"}
        found = {
            name: int(np.count_nonzero(np.sum([table.columns[name].counts() for table in tables], axis=0)))
            for name in widths
        }
        each = with_a_feature_each(found)
        return sum(max(0, found[name] - width) if name in each else 1 - width for name, width in widths.items())


def _sampled(table: Table) -> Table:
    """The table, or records spread evenly over it."""
    if table.rows <= SAMPLE:
        return table
    return table.take(np.linspace(0, table.rows - 1, SAMPLE).astype(np.intp))
