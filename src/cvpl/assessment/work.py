"""The work of an audit, step by step: how long each step takes, from counts that are known before the attack.

The counts are records, columns, features (the width of the vectors), people who are searched, and their candidates;
candidates and features are counted in a sample of the tables. The costs below are seconds of the reference core
(`speed`), measured on tables of many kinds (`benchmarks/plan.py`). Some work is done by one core, some is spread over
all workers. Attackers share work as the attack itself does (`shared_work`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np

from cvpl.assessment import screening
from cvpl.assessment.diagnostics import canaries, power_drop, self_linkage, sensitivity
from cvpl.assessment.progress import QUICK_LOOK, SCREENING, Phase, Step, labelled
from cvpl.assessment.speed import REFERENCE, Speed
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.attack.table_blocks import assign_blocks
from cvpl.config.resolved import QUICK_PEOPLE, ResolvedConfig
from cvpl.evaluation.contribution import STABILITY_FEATURES, STABILITY_REPLICATES
from cvpl.operators.alignment import detect
from cvpl.operators.vectorization import FeatureSpace
from cvpl.search.exact import INDEX_ALL_PAIRS, TREE_PAIRS, TREE_RECORDS
from cvpl.search.rare_values.log_means import COMPILED_PAIRS
from cvpl.tables.columns import Table
from cvpl.tables.pair import Inputs

SAMPLE = 1_000
"""The records of a table in which candidates are counted."""

# Seconds of the reference core.
_START = 2.1
"""Python, its libraries, and the first use of them."""
_READ_CELL = 1e-6
_CHECK_CELL, _LIKENESS = 0.4e-6, 0.25
"""A cell in the checks before the attack, and the comparison of the control with the originals."""
_ATTACK = 0.004
"""An attack without any records, ..."""
_EVALUATION, _EVALUATED = 0.02, 3e-6
"""... its evaluation, and that of a person."""
_VECTOR_CELL = 0.1e-6
"""A cell made into features."""
_MOMENT = 4e-9
"""A record in the covariance of two columns."""
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
_AGREEMENT = 8e-9
"""A column of a pair, compared by its values."""
_INDEX_CELL = 0.1e-6
"""A cell put into the index on rare values, ..."""
_INDEX_QUERY = 0.2e-6
"""... and a query in it, over the square root of its records."""
_COMPILER = 0.8
"""Loading what was compiled."""
_DENSITY, _DENSITY_COMPILED = 8e-9, 0.7e-9
"""A column of a pair in a density, in tiles and by compiled loops."""
_SUBGROUPS, _SUBGROUP_PERSON = 0.2, 15e-6
"""Subgroups, and writing the result."""
_PAGE = 2.0
"""Drawing the charts of the page."""
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
class _Shared:
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


class Work:
    """The work of one audit. `speed` is that of the machine; without it the steps are right in proportion only."""

    def __init__(self, resolved: ResolvedConfig, inputs: Inputs, speed: Speed = REFERENCE) -> None:
        self._resolved, self._inputs, self._speed = resolved, inputs, speed
        pair = inputs.pair
        self._rows = pair.original.rows
        self._control = 0 if pair.control is None else pair.control.rows
        self._released = pair.protected.rows
        self._columns = len(pair.original.specs)
        self._workers = resolved.budget.workers
        self._compared: dict[Hashable, Compared] = {}
        self._spaces: dict[Hashable, _Space] = {}
        self._sampled = tuple(_sampled(table) for table in (pair.original, pair.protected))
        self._compiled = False

    def audit(self, *, first_answer: bool = False) -> list[Step]:
        """The steps after reading; with `first_answer` a quick look comes first."""
        if self._resolved.quick:
            look = self._quick_look()
            return [self._checks_beside(look), *look, *self.diagnostics()]
        if not first_answer:
            return [self.checks(), *self.attackers(), *self.diagnostics()]
        quick = copy(self)
        quick._resolved = self._resolved.quickly()
        look = [replace(step, phase=f"{QUICK_LOOK}: {step.phase}") for step in quick._quick_look()]
        return [self._checks_beside(look), *look, *self.attackers(), *self.diagnostics()]

    def _quick_look(self) -> list[Step]:
        """The attackers of a quick look: all of them or, in a large release, a trial of all and then the strongest."""
        if not screening.screens(self._resolved, self._inputs):
            return self.attackers()
        part = copy(self)
        part._rows = min(self._rows, QUICK_PEOPLE)
        part._released = min(self._released, screening.RECORDS + QUICK_PEOPLE)
        part._control = min(self._control, screening.RECORDS)
        tried = [replace(step, phase=f"{SCREENING}: {step.phase}") for step in part.attackers()]
        share = screening.FINALISTS / len(self._resolved.able(self._control))
        chosen = [Step(step.phase, share * step.seconds, share * step.processor) for step in self.attackers()]
        return [*tried, *chosen]

    def _checks_beside(self, look: Sequence[Step]) -> Step:
        """The checks while a quick look runs: they take what is left of them when it is done."""
        checks, seconds = self.checks(), sum(step.seconds for step in look)
        if self._workers == 1:
            return checks
        together = (checks.processor + sum(step.processor for step in look)) / cores(self._workers) / self._speed.share
        return replace(checks, seconds=max(checks.seconds - seconds, together - seconds, 0.0))

    def reading(self) -> Step:
        """Reading the tables, with the start of the program."""
        cells = self._columns * (self._rows + self._released + self._control)
        return self._step(Phase.READING, Cost((_START + _READ_CELL * cells) * self._speed.plain))

    def page(self) -> Step:
        """Writing the page of the result."""
        return self._step(Phase.WRITING, Cost(_PAGE * self._speed.plain))

    def checks(self) -> Step:
        """The checks before the attack."""
        likeness = _LIKENESS if self._control else 0.0
        cells = self._columns * (self._rows + self._released + self._control)
        return self._step(Phase.CHECKING, Cost((_CHECK_CELL * cells + likeness) * self._speed.plain))

    def attackers(self, attackers: Mapping[str, Attacker] | None = None) -> list[Step]:
        """The steps of all attackers that can be run, or of some, with canaries beside them."""
        running = self._resolved.able(self._control) if attackers is None else attackers
        shared, steps, attacks = _Shared(), [], Cost()
        for name, attacker in running.items():
            label, cost = labelled(name, running), self._attack(attacker, self._searched(attacker), shared)
            steps.append(self._step(f"{Phase.SEARCHING}{label}", cost.search))
            steps.append(self._step(f"{Phase.CONTROL}{label}", cost.control))
            steps.append(self._step(f"{Phase.EVALUATING}{label}", cost.evaluation))
            attacks += cost.whole
        if attackers is not None:
            return steps
        beside = self._canaries(running.values()) if self._resolved.runs_canaries else Cost()
        steps.append(self._beside(Phase.CANARIES, attacks, beside))
        if len(running) > 1 and not self._resolved.quick:
            most = min(self_linkage.SAMPLE, self._rows)
            checked = self._mean(running.values(), lambda item: self._search(item, most, self._rows))
            steps.append(self._step(Phase.HEADLINE, checked))
        return steps

    def diagnostics(self) -> list[Step]:
        """The steps after the attackers."""
        running = list(self._resolved.able(self._control).values())
        most = min(self_linkage.SCREENED if self._resolved.quick else self_linkage.SAMPLE, self._rows, self._released)
        linkage = self._mean(
            running, lambda item: self._search(item, most, self._rows) + self._search(item, most, self._released)
        )
        drops, contributions = self._drops(running), self._mean(running, self._contribution)
        varied = self._varied(running)
        asked = max(self._searched(attacker).asked for attacker in running)
        people = (_SUBGROUPS + _SUBGROUP_PERSON * asked) * self._speed.plain
        return [
            self._step(Phase.SELF_LINKAGE, linkage),
            self._step(Phase.POWER_DROPS, drops),
            self._step(Phase.CONTRIBUTIONS, contributions),
            self._beside(Phase.SENSITIVITY, drops + contributions, varied),
            self._step(Phase.LADDER, self._mean(running, self._ladder)),
            self._step(Phase.SUBGROUPS, Cost(people)),
        ]

    def compared(self) -> list[Step]:
        """The steps of one of several releases that are compared."""
        running = list(self._resolved.able(self._control).values())
        checks = self.checks()
        return [
            *self.attackers(),
            self._step(Phase.POWER_DROPS, self._drops(running)),
            self._step(Phase.CONTRIBUTIONS, self._mean(running, self._contribution)),
            Step(Phase.UTILITY, 2 * checks.seconds),
        ]

    def _step(self, phase: str, cost: Cost) -> Step:
        return Step(phase, cost.seconds(self._workers) / self._speed.share, cost.processor)

    def _beside(self, phase: str, main: Cost, beside: Cost) -> Step:
        """A step that runs beside others: it takes what is left of it when they are done."""
        if self._workers == 1:
            return self._step(phase, beside)
        alone, together = main.seconds(self._workers), (main.processor + beside.processor) / cores(self._workers)
        left = max(beside.seconds(self._workers) - alone, together - alone, 0.0)
        return Step(phase, left / self._speed.share, beside.processor)

    def _mean(self, attackers: Iterable[Attacker], cost: Callable[[Compared], Cost]) -> Cost:
        """The mean over attackers that may be the strongest: usually, those that compare values."""
        known = list(attackers)
        likely = [attacker for attacker in known if attacker.compares_values] or known
        costs = [cost(self._counted(attacker)) for attacker in likely]
        return sum(costs, Cost()) * (1 / max(1, len(costs)))

    def _searched(self, attacker: Attacker, most: int | None = None, released: int | None = None) -> Searched:
        """How many people an attack searches, at most `most` of each kind."""
        limit = self._resolved.most_asked(attacker, self._released) if most is None else most
        asked = max(1, round(self._rows * attacker.knows_people))
        reference = self._control // 2 if attacker.needs_reference else 0
        control = self._control - reference
        if limit is not None:
            asked, control = min(asked, limit), min(control, limit)
        return Searched(asked, control, reference, self._released if released is None else released)

    def _counted(self, attacker: Attacker) -> Compared:
        """What an attacker compares, counted once for attackers that agree on it."""
        keys = WorkKeys.of(attacker, None)
        if keys.search not in self._compared:
            self._compared[keys.search] = self._count(attacker)
        found = self._compared[keys.search]
        return replace(found, attacker=attacker)

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
        """The labels with a feature of their own that are in the tables, but not in the sample."""
        pair, missed = self._inputs.pair, 0
        tables = [pair.protected] if attacker.alignment == "release" else [pair.original, pair.protected]
        for part in space.category_features:
            if part.encoding == "one_hot":
                counts = np.sum([table.columns[part.spec.name].counts() for table in tables], axis=0)
                missed += max(0, int(np.count_nonzero(counts)) - part.width)
        return missed

    def _attack(self, attacker: Attacker, people: Searched, shared: _Shared, most: int | None = None) -> AttackCost:
        """An attack with its evaluation, without what an earlier attack did already."""
        limit = self._resolved.most_asked(attacker, self._released) if most is None else most
        keys, it = WorkKeys.of(attacker, limit), self._counted(attacker)
        plain = self._speed.plain
        records = people.asked + people.released
        search = Cost(_ATTACK * plain)
        search += shared.once("space", keys.space, lambda: Cost(_VECTOR_CELL * plain * it.columns * records))
        if it.fits:
            search += shared.once("projection", keys.projection, lambda: self._fit(it, records))
        search += shared.once("found", keys.search, lambda: self._search(it, people.asked, people.released))
        control = Cost()
        if people.control:
            control = shared.once("control", keys.control, lambda: self._search(it, people.control, people.released))
        evaluation = Cost((_EVALUATION + _EVALUATED * (people.asked + people.control)) * plain)
        evaluation += self._evidence(it, people)
        few = min(people.asked, self_linkage.SCREENED)
        evaluation += shared.once("copy", keys.search, lambda: self._search(it, few, people.asked))
        evaluation += shared.once("summary", keys.projection, lambda: self._embedding(it, records))
        evaluation += shared.once("covariances", keys.space, lambda: Cost(_COVARIANCE * it.features**2 * plain))
        return AttackCost(search, control, evaluation)

    def _fit(self, it: Compared, records: int) -> Cost:
        """Principal components: the covariance and its eigenvectors."""
        moments = _MOMENT * it.columns**2 * records * self._speed.plain
        return Cost(moments + _EIGEN * it.features**3 * self._speed.product)

    def _embedding(self, it: Compared, records: int) -> Cost:
        """The numbers that are compared, for so many records."""
        if it.attacker.compares_values:
            return Cost(_VECTOR_CELL * it.columns * records * self._speed.plain)
        each = _EMBEDDED * it.columns * it.width if it.fits else _FEATURE * it.width
        return Cost(each * records * self._speed.plain)

    def _search(self, it: Compared, asked: int, there: int) -> Cost:
        """A search of so many people in so many records."""
        plain, product = self._speed.plain, self._speed.product
        candidates = it.share * there
        pairs = asked * candidates
        made = self._embedding(it, asked + there)
        if it.attacker.compares_values:
            if not (self._compiled or pairs >= INDEX_ALL_PAIRS):
                return made + Cost(0, _AGREEMENT * it.columns * pairs * plain)
            load = Cost(0 if self._compiled else _COMPILER * plain)
            self._compiled = True
            queries = Cost(_INDEX_CELL * it.columns * there * plain, _INDEX_QUERY * sqrt(candidates) * asked * plain)
            return made + load + queries
        if it.attacker.similarity_operator.unit and pairs >= TREE_PAIRS and candidates >= TREE_RECORDS:
            return made + Cost(_COMPILER * plain, _TREE_QUERY * it.width * (asked + there) * plain)
        return made + Cost(0, (_PAIR * plain + _PAIR_FEATURE * it.width * product) * pairs)

    def _evidence(self, it: Compared, people: Searched) -> Cost:
        """What evidence takes beyond the best candidates."""
        everybody = people.asked + people.control
        if it.attacker.evidence == "density":
            pairs = everybody * (people.released + people.reference)
            each = _DENSITY if pairs < COMPILED_PAIRS else _DENSITY_COMPILED
            return Cost(0, each * it.columns * pairs * self._speed.plain)
        return self._search(it, everybody, people.reference) if it.attacker.needs_reference else Cost()

    def _canaries(self, running: Iterable[Attacker]) -> Cost:
        """Both canaries of all attackers: the originals themselves, and independent columns."""
        total = Cost()
        for released in (min(rows, canaries.RELEASED) for rows in (self._rows, self._released)):
            shared = _Shared()
            for attacker in running:
                people = self._searched(attacker, canaries.ASKED, released)
                total += self._attack(attacker, people, shared, canaries.ASKED).whole
        return total

    def _drops(self, running: list[Attacker]) -> Cost:
        """The attack without each column, if there is a control or the truth to measure power by."""
        matches = self._inputs.evaluation.matches
        measured = self._control or (matches is not None and matches.complete)
        if not self._resolved.runs_sensitivity or not measured:
            return Cost()
        times = 1 + min(self._columns, power_drop.MOST_COLUMNS)
        return self._mean(running, lambda it: self._again(it, power_drop.ASKED)) * times

    def _again(self, it: Compared, most: int) -> Cost:
        """An attack of few people that shares nothing, with its base."""
        people = self._searched(it.attacker, most)
        base = people.control or people.asked
        cost = Cost((_ATTACK + _VECTOR_CELL * it.columns * (people.asked + people.released)) * self._speed.plain)
        if it.fits:
            cost += self._fit(it, people.asked + people.released)
        cost += self._search(it, people.asked + base, people.released) + self._evidence(it, people)
        return cost

    def _contribution(self, it: Compared) -> Cost:
        """The shares of columns in the space and in the links, and the search without each column."""
        if not it.fits or not it.attacker.on_scale:
            return Cost()
        total = Cost()
        if it.features <= STABILITY_FEATURES:
            spread = STABILITY_REPLICATES * _EIGEN * it.features**3 * self._speed.product
            total += Cost(spread + self._fit(it, 2 * self_linkage.SAMPLE).alone)
        asked = min(self._rows, self_linkage.SAMPLE)
        fit = Cost(_EIGEN * it.features**3 * self._speed.product)
        return total + (fit + self._search(it, asked, self._released)) * it.columns

    def _varied(self, running: list[Attacker]) -> Cost:
        """The variations of the first attacker whose score is on the scale."""
        able = [attacker for attacker in running if attacker.on_scale]
        if not self._resolved.runs_sensitivity or not able:
            return Cost()
        total, before = Cost(), None
        for choice, _, other in sensitivity.variations(self._inputs.pair, able[0]):
            it = self._counted(other if choice == "blocking" else able[0])
            if other.vectorization.encode == "frequency":
                it = replace(it, features=it.columns, width=it.columns)
            key = WorkKeys.of(other, sensitivity.ASKED).search
            total += Cost() if key == before else self._again(it, sensitivity.ASKED)
            before = key
        return total

    def _ladder(self, it: Compared) -> Cost:
        """One search for each rung."""
        ladder = it.attacker.ladder
        return Cost() if ladder is None else self._search(it, self._rows, self._released) * len(ladder.rungs)


def _sampled(table: Table) -> Table:
    """The table, or records spread evenly over it."""
    if table.rows <= SAMPLE:
        return table
    return table.take(np.linspace(0, table.rows - 1, SAMPLE).astype(np.intp))
