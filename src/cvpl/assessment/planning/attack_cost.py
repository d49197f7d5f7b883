"""The cost of one attack, from counts that are known before it, and how fast this machine is.

The counts are records, columns, features (the width of the vectors), people who are searched, and their candidates.
An attack is a few searches, and evidence beyond the best candidates; attackers share their searches as the attack does
(`shared_work`). The constants are seconds of the reference core (`Speed`), fitted to the processor seconds of audits of
tables of many kinds (`benchmarks/plan.py`). A plan should be right within a factor of two, so what takes a small part
of every audit has no constant of its own. Some work is done by one core, some is spread over all workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import comb, inf, sqrt
from typing import NamedTuple

import numpy as np

from cvpl.assessment.diagnostics.validity import SCREENED
from cvpl.attack import interpolation, tolerances
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.attack.table_blocks import assign_blocks
from cvpl.config.resolved import ResolvedConfig
from cvpl.operators.alignment import detect
from cvpl.operators.similarity.match_agreement import compared_originals
from cvpl.search.exact import INDEX_ALL_PAIRS, TREE_PAIRS, TREE_RECORDS
from cvpl.search.machine import one_blas_thread
from cvpl.tables.columns import Table
from cvpl.tables.pair import Inputs

ATTACK, PERSON = 0.02, 5e-6
"""An attack without any records, and the evaluation of a person."""
FEATURE, DECOMPOSITION = 30e-9, 1e-9
"""A feature of a record, and the covariance and components of n features, over n cubed."""
PAIR, PAIR_FEATURE, PAIR_CELL = 2e-9, 0.06e-9, 2e-9
"""A pair of vectors, each of the products that it takes, and a column of a pair that is compared by its values."""
INDEX = 0.2e-6
"""A cell in an index of values, and a feature of a record in a tree."""
INDEX_QUERY, CELL_QUERY = 0.2e-6, 0.08e-6
"""A query in an index of values, and a column of a query in one of cells, over the square root of its records."""
DENSITY_CELL, MATCHED_CELL = 0.7e-9, 20e-9
"""A column of a pair in a density, and of one that tells how often matches agree."""
LINE, NEAREST = 0.15e-6, 22e-6
"""A line between two people, and a feature of a person if only the nearest lines are tried."""
CHANGE, CHANGED_PAIR = 0.25, 1.6e-3
"""The estimate of how the release writes its columns, and a pair of columns in it."""

SAMPLE = 1_000
"""The records of a table in which the pairs of a blocking are counted."""
COMPONENTS = 0.3
"""Principal components over features, but at least one a column."""
ANOTHER_CORE = 0.8
"""What each further core adds to the first: threads wait for each other."""


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


class Records(NamedTuple):
    """So many originals, controls and released records, or those of them that are searched, and reference people."""

    original: float
    control: float
    released: float
    reference: float = 0


EVERYTHING = Records(inf, inf, inf)
"""No limit to any of them."""


class Compared(NamedTuple):
    """What one attacker compares: columns, features, the numbers of a record, and candidates as a share of all."""

    columns: int
    features: int
    width: int
    share: float


class AttackCosts:
    """The costs of attacks on one pair of tables, or on parts of them with `most` records.

    They are those of the reference core for plain work; matrix products take `products` times as long as there.
    """

    def __init__(
        self, resolved: ResolvedConfig, inputs: Inputs, products: float = 1.0, most: Records = EVERYTHING
    ) -> None:
        self._resolved, self._pair, self._products = resolved, inputs.pair, products
        tables = self._pair.original, self._pair.control, self._pair.protected
        self.records = Records(*map(min, (0 if table is None else table.rows for table in tables), most))
        self._numbers = sum(spec.type != "category" for spec in self._pair.original.specs)
        self._compared: dict[Hashable, Compared] = {}

    def searched(self, attacker: Attacker, most: float | None = None, released: float = inf) -> Records:
        """Whom an attack searches, at most `most` of each kind, in at most `released` records."""
        limit = self._resolved.max_queries(attacker, int(self.records.released)) if most is None else most
        limit = inf if limit is None else limit
        asked = max(1, round(self.records.original * attacker.knows_people))
        reference = self.records.control // 2 if attacker.needs_reference else 0
        control = min(self.records.control - reference, limit)
        return Records(min(asked, limit), control, min(self.records.released, released), reference)

    def attack(self, attacker: Attacker, them: Records, done: set[Hashable]) -> tuple[Cost, Cost, Cost]:
        """The search, that of the control and the evaluation, without steps that are `done`; adds its own to these."""
        keys = WorkKeys.of(attacker, int(them.original))
        search = control = Cost()
        evaluation = Cost(ATTACK + PERSON * (them.original + them.control)) + self._evidence(attacker, them)
        if attacker.alignment == "ranks" and _is_new(done, "change", keys.tables):
            search += self.change()
        if attacker.projects and _is_new(done, "fit", keys.projection):
            search += self._fit(attacker)
        if attacker.estimates_matches and _is_new(done, "agreement", keys.measure):
            search += self._agreement(attacker, them)
        if _is_new(done, "search", keys.search):
            search += self.search(attacker, them.original, them.released)
            evaluation += self.search(attacker, min(them.original, SCREENED), them.original)
        if them.control and _is_new(done, "control", keys.control):
            control += self.search(attacker, them.control, them.released)
        return search, control, evaluation

    def repeated(self, attacker: Attacker, most: float) -> Cost:
        """Another attack on few people, with its base, by what an earlier one estimated."""
        them = self.searched(attacker, most)
        search = self.search(attacker, them.original + (them.control or them.original), them.released)
        return Cost(ATTACK) + search + self._fit(attacker) + self._evidence(attacker, them)

    def search(self, attacker: Attacker, asked: float, there: float) -> Cost:
        """A search of so many people in so many records."""
        it = self._counted(attacker)
        candidates, made = it.share * there, Cost(FEATURE * it.width * (asked + there))
        pairs = asked * candidates
        if attacker.compares_values:
            # In large tables the index is compiled by the first search, and then used for few people too.
            if max(pairs, self.records.original * self.records.released) < INDEX_ALL_PAIRS:
                return made + Cost(0, PAIR_CELL * it.columns * pairs)
            query = CELL_QUERY * it.columns if attacker.alignment == "cells" else INDEX_QUERY
            return made + Cost(INDEX * it.columns * there, query * sqrt(candidates) * asked)
        if attacker.similarity_operator.unit and pairs >= TREE_PAIRS and candidates >= TREE_RECORDS:
            return made + Cost(0, INDEX * it.width * (asked + there))
        return made + Cost(0, (PAIR + PAIR_FEATURE * it.width * self._products) * pairs)

    def change(self) -> Cost:
        """The estimate of how the release writes each column."""
        return Cost(CHANGE + CHANGED_PAIR * comb(len(self._pair.original.specs), 2))

    def _fit(self, attacker: Attacker) -> Cost:
        """The principal components of the features, if there are any."""
        fits = attacker.projects and attacker.projection_operator.principal is not None
        return Cost(DECOMPOSITION * self._products * self._counted(attacker).features ** 3 * fits)

    def _agreement(self, attacker: Attacker, them: Records) -> Cost:
        """How often matches agree, and the tolerance of each number and time: a search by the other columns."""
        compared = compared_originals(int(them.original), int(them.released)) * them.released
        search = self.search(attacker, min(them.original, tolerances.SEARCHED_ORIGINALS), them.released)
        return Cost(MATCHED_CELL * self._counted(attacker).columns * compared + search.processor * self._numbers)

    def _evidence(self, attacker: Attacker, them: Records) -> Cost:
        """What evidence takes beyond the best candidates."""
        everybody = them.original + them.control
        if attacker.evidence == "density":
            summed = everybody * (them.released + them.reference)
            return Cost(0, DENSITY_CELL * self._counted(attacker).columns * summed)
        if attacker.evidence == "between":
            every_line = everybody**2 * interpolation.FEWEST_RECORDS <= interpolation.MOST_LINES
            return Cost((LINE * everybody if every_line else NEAREST * self._numbers) * everybody)
        return self.search(attacker, everybody, them.reference) if them.reference else Cost()

    def _counted(self, attacker: Attacker) -> Compared:
        """What an attacker compares, counted once for attackers that agree on it."""
        key = WorkKeys.of(attacker, None).search
        if key not in self._compared:
            original, released = attacker.view(self._pair.original), attacker.view(self._pair.protected)
            columns = len(attacker.vectorization.compared(original))
            shown = released if attacker.alignment == "release" else None
            features = attacker.vectorization.width([original, released], shown)
            width = columns if attacker.compares_values else features
            if attacker.projects:
                operator = attacker.projection_operator
                width = operator.most_components(features)
                if operator.principal is not None:
                    width = min(width, max(columns, round(COMPONENTS * features)))
            share = self._share_of_pairs(attacker, _sampled(original), _sampled(released))
            self._compared[key] = Compared(columns, features, width, share)
        return self._compared[key]

    def _share_of_pairs(self, attacker: Attacker, original: Table, released: Table) -> float:
        """The pairs of two tables that share a block, over all."""
        if attacker.blocking.compares_everybody:
            return 1.0
        if attacker.alignment == "release":
            original = detect(original, released).apply(original)
        space = attacker.vectorization.fit([original, released])
        blocks = assign_blocks(attacker.blocking, [original, released], space, self._resolved.config.seed)
        return min(1.0, blocks.pairs / max(1, original.rows * released.rows))


def _is_new(done: set[Hashable], step: str, key: Hashable) -> bool:
    """Whether a step was not done before; now it is."""
    before = len(done)
    done.add((step, key))
    return len(done) > before


def _sampled(table: Table) -> Table:
    """The table, or records spread evenly over it."""
    if table.rows <= SAMPLE:
        return table
    return table.take(np.linspace(0, table.rows - 1, SAMPLE).astype(np.intp))


_PRODUCT_SECONDS, _SORT_SECONDS = 1.0e-3, 1.25e-3
"""The times of a product of matrices and of a sort on the reference core."""


class Speed(NamedTuple):
    """How many times as long as the reference core one core takes for matrix products, and for plain work.

    Products use wide registers; a stable sort stands for plain work. `share` is the part of a core that other programs
    leave to a thread.
    """

    product: float = 1.0
    plain: float = 1.0
    share: float = 1.0


REFERENCE = Speed()


def measure_speed() -> Speed:
    """Measure this machine in some tens of milliseconds: of short works that are repeated, the fastest counts."""
    rng = np.random.default_rng(0)
    matrix, numbers = rng.random((256, 256), dtype=np.float32), rng.random(20_000)
    with one_blas_thread():
        began, used = time.perf_counter(), time.thread_time()
        product, sort = _fastest(lambda: matrix @ matrix), _fastest(lambda: np.sort(numbers, kind="stable"))
        share = (time.thread_time() - used) / max(time.perf_counter() - began, 1e-9)
    return Speed(product / _PRODUCT_SECONDS, sort / _SORT_SECONDS, min(1.0, max(0.1, share)))


def _fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(25):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
