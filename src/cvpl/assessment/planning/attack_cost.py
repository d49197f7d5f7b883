"""The cost of one attack, from counts that are known before it.

The counts are records, columns, features (the width of the vectors), people who are searched, and their candidates;
candidates and features are counted in a sample of the tables. The costs below are seconds of the reference core
(`speed`), measured on tables of many kinds (`benchmarks/plan.py`). Some work is done by one core, some is spread over
all workers. Attackers share work as the attack itself does (`shared_work`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import dataclass, field, replace
from math import comb, sqrt

import numpy as np

from cvpl.assessment.diagnostics.self_linkage import SCREENED
from cvpl.assessment.planning.speed import REFERENCE, Speed
from cvpl.attack import interpolation, tolerances
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.attack.table_blocks import assign_blocks
from cvpl.config.resolved import ResolvedConfig
from cvpl.operators.alignment import detect
from cvpl.operators.similarity.agreement import COMPILED_CELLS
from cvpl.operators.similarity.match_agreement import asked_originals
from cvpl.operators.vectorization import FeatureSpace, with_a_feature_each
from cvpl.search.exact import INDEX_ALL_PAIRS, TREE_PAIRS, TREE_RECORDS
from cvpl.search.rare_values.log_means import COMPILED_PAIRS
from cvpl.tables.columns import Table
from cvpl.tables.pair import Inputs

SAMPLE = 1_000
"""The records of a table in which candidates are counted."""

# Seconds of the reference core.
_ATTACK = 0.004
"""An attack without any records, ..."""
_EVALUATION, _EVALUATED = 0.02, 3e-6
"""... its evaluation, and that of a person."""
_VECTOR_CELL = 0.1e-6
"""A cell made into features."""
_MOMENT = 4e-9
"""A record in the covariance of two columns."""
_LABEL_PAIR = 50e-6
"""Two columns of categories in the covariance of a table, however few records it has."""
_EIGEN = 0.6e-9
"""The principal components of the covariance of n features, over n cubed; nearly all of it are products."""
_COVARIANCE = 0.75e-6
"""Two features in the comparison of the tables' covariances."""
_EMBEDDED = 3e-9
"""A column of a record embedded in a dimension, ..."""
_FEATURE = 30e-9
"""... and a feature of a record that is not projected."""
_PAIR = 2e-9
"""A pair of vectors, ..."""
_PAIR_FEATURE = 0.06e-9
"""... and each of the products that it takes."""
_TREE_QUERY = 0.3e-6
"""A dimension of a record in a tree, built or searched."""
_AGREEMENT, _AGREEMENT_COMPILED = 8e-9, 3e-9
"""A column of a pair, compared by its values in array operations and by compiled loops."""
_INDEX_CELL = 0.1e-6
"""A cell put into the index on rare values, ..."""
_INDEX_QUERY = 0.2e-6
"""... and a query in it, over the square root of its records."""
_CELL_RECORD = 0.2e-6
"""A column of a record in the tree of released cells, ..."""
_CELL_QUERY = 0.08e-6
"""... and of a query in it, over the square root of its records."""
_MATCHED_CELL = 20e-9
"""A column of a pair from which it is estimated how often matches agree."""
_COMPILER = 0.8
"""Loading what was compiled."""
_DENSITY, _DENSITY_COMPILED = 8e-9, 0.7e-9
"""A column of a pair in a density, in tiles and by compiled loops."""
_LINE, _LINE_PAIR, _LINE_NEAREST = 3e-9, 0.12e-6, 22e-6
"""A line between two people, a pair of people who may be its ends, and a feature of a person in a large table, where
only the nearest people are tried."""
_WORD_PAIR, _TEXT = 25e-9, 40e-6
"""A pair of texts that are compared by their words, and a text."""
_CHANGE, _CHANGED_PAIR = 0.25, 1.6e-3
"""The estimate of how the release writes its columns, and a pair of columns in it."""
_COMPONENTS = 0.3
"""Principal components over features, but at least one a column."""


_ANOTHER_CORE = 0.8
"""What each further core adds to the first: threads wait for each other."""


def cores(workers: int) -> float:
    """How many times faster so many workers are than one."""
    return 1 + _ANOTHER_CORE * (workers - 1)


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
        operator = self.attacker.projection_operator
        return self.attacker.projects and operator.principal is not None


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

    def once(self, step: str, key: Hashable, cost: Callable[[], Cost]) -> Cost:
        """The cost of a step the first time, nothing after."""
        if (step, key) in self.seen:
            return Cost()
        self.seen.add((step, key))
        return cost()


@dataclass(frozen=True, eq=False)
class _Space:
    """The sample as an attacker sees it, its feature space, and the number of features in the whole tables."""

    original: Table
    protected: Table
    space: FeatureSpace
    features: int


@dataclass(frozen=True)
class AttackCost:
    """An attack in its three phases."""

    search: Cost
    control: Cost
    evaluation: Cost

    @property
    def whole(self) -> Cost:
        """All three."""
        return self.search + self.control + self.evaluation


class AttackCosts:
    """The costs of attacks on one pair of tables, with the sizes of the tables; a copy may have other sizes."""

    def __init__(self, resolved: ResolvedConfig, inputs: Inputs, speed: Speed = REFERENCE) -> None:
        self._resolved, self._inputs, self._speed = resolved, inputs, speed
        pair = inputs.pair
        self.rows = pair.original.rows
        self.control = 0 if pair.control is None else pair.control.rows
        self.released = pair.protected.rows
        self._compared: dict[Hashable, Compared] = {}
        self._spaces: dict[Hashable, _Space] = {}
        self._sampled = tuple(_sampled(table) for table in (pair.original, pair.protected))
        self._kinds = Counter(spec.type for spec in pair.original.specs)
        self._compiled = False

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
        plain = self._speed.plain
        records = people.asked + people.released
        search = Cost(_ATTACK * plain)
        if attacker.alignment == "ranks":
            search += shared.once("tables", keys.tables, lambda: self.change(it))
        search += shared.once("space", keys.space, lambda: Cost(_VECTOR_CELL * plain * it.columns * records))
        if it.fits:
            search += shared.once("projection", keys.projection, lambda: self.fit(it, records))
        if attacker.estimates_matches:
            search += shared.once("match agreement", keys.measure, lambda: self.match_agreement(it, people))
            search += shared.once("tolerances", keys.space, lambda: self.tolerances(it, people))
        search += shared.once("found", keys.search, lambda: self.search(it, people.asked, people.released))
        control = Cost()
        if people.control:
            control = shared.once("control", keys.control, lambda: self.search(it, people.control, people.released))
        evaluation = Cost((_EVALUATION + _EVALUATED * (people.asked + people.control)) * plain)
        evaluation += self.evidence(it, people)
        few = min(people.asked, SCREENED)
        evaluation += shared.once("copy", keys.search, lambda: self.search(it, few, people.asked))
        evaluation += shared.once("summary", keys.projection, lambda: self.embedding(it, records))
        evaluation += shared.once("covariances", keys.space, lambda: Cost(_COVARIANCE * it.features**2 * plain))
        return AttackCost(search, control, evaluation)

    def counted(self, attacker: Attacker) -> Compared:
        """What an attacker compares, counted once for attackers that agree on it."""
        keys = WorkKeys.of(attacker, None)
        if keys.search not in self._compared:
            self._compared[keys.search] = self._count(attacker)
        found = self._compared[keys.search]
        return replace(found, attacker=attacker)

    def again(self, it: Compared, most: int) -> Cost:
        """An attack of few people that shares nothing, with its base."""
        people = self.searched(it.attacker, most)
        base = people.control or people.asked
        cost = Cost((_ATTACK + _VECTOR_CELL * it.columns * (people.asked + people.released)) * self._speed.plain)
        if it.fits:
            cost += self.fit(it, people.asked + people.released)
        cost += self.search(it, people.asked + base, people.released) + self.evidence(it, people)
        return cost

    def change(self, it: Compared) -> Cost:
        """The estimate of how the release writes each column."""
        return Cost((_CHANGE + _CHANGED_PAIR * comb(it.columns, 2)) * self._speed.plain)

    def match_agreement(self, it: Compared, people: Searched) -> Cost:
        """The estimate of how often matches agree."""
        pairs = asked_originals(people.asked, people.released) * people.released
        return Cost(_MATCHED_CELL * it.columns * pairs * self._speed.plain)

    def tolerances(self, it: Compared, people: Searched) -> Cost:
        """The estimate of the tolerance of each number and time: a search by the other columns."""
        some = self.search(it, min(people.asked, tolerances.ASKED), people.released)
        return Cost((some * (it.columns - self._kinds["category"])).processor)

    def fit(self, it: Compared, records: int) -> Cost:
        """Principal components: the covariance and its eigenvectors."""
        pairs = self._kinds["category"] ** 2  # of columns, in two tables
        moments = _MOMENT * it.columns**2 * records + _LABEL_PAIR * pairs
        return Cost(moments * self._speed.plain) + self.eigenvectors(it)

    def eigenvectors(self, it: Compared) -> Cost:
        """The principal components of a covariance that is known."""
        return Cost(_EIGEN * it.features**3 * self._speed.product)

    def embedding(self, it: Compared, records: int) -> Cost:
        """The numbers that are compared, for so many records."""
        if it.attacker.compares_values:
            return Cost(_VECTOR_CELL * it.columns * records * self._speed.plain)
        each = _EMBEDDED * it.columns * it.width if it.fits else _FEATURE * it.width
        return Cost(each * records * self._speed.plain)

    def search(self, it: Compared, asked: int, there: int) -> Cost:
        """A search of so many people in so many records."""
        plain, product = self._speed.plain, self._speed.product
        candidates = it.share * there
        pairs = asked * candidates
        made = self.embedding(it, asked + there)
        if it.attacker.compares_values:
            if not (self._compiled or pairs >= INDEX_ALL_PAIRS):
                each = _AGREEMENT if it.columns * pairs < COMPILED_CELLS else _AGREEMENT_COMPILED
                return made + Cost(0, each * it.columns * pairs * plain)
            load = Cost(0 if self._compiled else _COMPILER * plain)
            self._compiled = True
            if it.attacker.alignment == "cells":
                query = _CELL_QUERY * it.columns * sqrt(candidates) * asked * plain
                return made + load + Cost(_CELL_RECORD * it.columns * there * plain, query)
            queries = Cost(_INDEX_CELL * it.columns * there * plain, _INDEX_QUERY * sqrt(candidates) * asked * plain)
            return made + load + queries
        if it.attacker.similarity_operator.unit and pairs >= TREE_PAIRS and candidates >= TREE_RECORDS:
            return made + Cost(_COMPILER * plain, _TREE_QUERY * it.width * (asked + there) * plain)
        return made + Cost(0, (_PAIR * plain + _PAIR_FEATURE * it.width * product) * pairs)

    def evidence(self, it: Compared, people: Searched) -> Cost:
        """What evidence takes beyond the best candidates."""
        everybody, kind, plain = people.asked + people.control, it.attacker.evidence, self._speed.plain
        if kind == "density":
            pairs = everybody * (people.released + people.reference)
            each = _DENSITY if pairs < COMPILED_PAIRS else _DENSITY_COMPILED
            return Cost(0, each * it.columns * pairs * plain)
        if kind == "between":
            return Cost(self._lines(everybody, people.released) * plain)
        if kind == "words":
            return Cost((_WORD_PAIR * everybody * people.released + _TEXT * (everybody + people.released)) * plain)
        if kind == "values":
            return Cost(_VECTOR_CELL * it.columns * (everybody + people.released) * plain)
        return self.search(it, everybody, people.reference) if it.attacker.needs_reference else Cost()

    def _lines(self, everybody: int, released: int) -> float:
        """Trying the lines between people, in seconds of the reference core."""
        affordable = interpolation.MOST_LINES // max(1, everybody**2)
        if affordable >= interpolation.FEWEST_RECORDS:
            return everybody**2 * (_LINE_PAIR + _LINE * min(affordable, released))
        ordered = self._kinds["numeric"] + self._kinds["datetime"]
        return _LINE_NEAREST * ordered * everybody

    def _count(self, attacker: Attacker) -> Compared:
        key = WorkKeys.of(attacker, None).space
        if key not in self._spaces:
            self._spaces[key] = self._space(attacker)
        known = self._spaces[key]
        columns, features = len(attacker.vectorization.compared(known.original)), known.features
        width = features
        if attacker.compares_values:
            width = columns
        elif attacker.projects:
            operator = attacker.projection_operator
            width = operator.most_components(width)
            if operator.principal is not None:
                width = min(width, max(columns, round(_COMPONENTS * features)))
        share = 1.0
        if not attacker.blocking.compares_everybody:
            tables = [known.original, known.protected]
            blocks = assign_blocks(attacker.blocking, tables, known.space, self._resolved.config.seed)
            share = min(1.0, blocks.pairs / max(1, known.original.rows * known.protected.rows))
        return Compared(attacker, columns, features, width, share)

    def _space(self, attacker: Attacker) -> _Space:
        original, protected = (attacker.view(table) for table in self._sampled)
        if attacker.alignment == "release":
            original = detect(original, protected).apply(original)
        space = attacker.vectorization.fit([original, protected])
        return _Space(original, protected, space, space.width + self._missed_labels(attacker, space))

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
