"""The work of an audit, step by step: how long each step takes, from the costs of its attacks (`attack_cost`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import comb

from cvpl.assessment import screening, sight
from cvpl.assessment.diagnostics import (
    canaries,
    power_drop,
    self_linkage,
    sensitive_searches,
    sensitivity,
    several_attackers,
)
from cvpl.assessment.planning.attack_cost import AttackCosts, Compared, Cost, Searched, SharedCosts, cores
from cvpl.assessment.planning.progress import QUICK_LOOK, SCREENING, Phase, Step, labelled
from cvpl.assessment.planning.speed import REFERENCE, Speed
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.config.query_limits import FIRST_ANSWER_PEOPLE
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.contribution import STABILITY_FEATURES, STABILITY_REPLICATES
from cvpl.evaluation.inference.column_choices import FOLDS
from cvpl.evaluation.inference.column_gains import most_ranking
from cvpl.evaluation.inference.models import MOST_ROWS
from cvpl.evaluation.singling_out.column_sets import LARGEST, MOST_VISITS
from cvpl.tables.pair import Inputs

# Seconds of the reference core.
_START = 2.1
"""Python, its libraries, and the first use of them."""
_READ_CELL, _READ_COLUMN = 1e-6, 40e-3
"""A cell that is read, and a column of all tables, however few cells it has."""
_CHECK_CELL, _CHECK_COLUMN, _LIKENESS = 0.4e-6, 15e-3, 0.25
"""A cell in the checks before the attack, a column, and the comparison of the control with the originals."""
_WEIGHED = 6e-6
"""A score of one person by one member whose evidence is combined."""
_SUBGROUP_PERSON, _RESULT = 15e-6, 0.2
"""A person in the subgroups, and putting the result together."""
_SINGLED, _SET, _SET_RECORD, _ASKED_CELL = 0.5, 10e-6, 15e-9, 0.5e-6
"""Predicates; a set of columns; a record of a set; and a cell of the columns that are sorted for predicates."""
_CRITERIA_CELL = 0.4e-6
_INFERRED, _PREPARED_CELL, _NEAREST_CELL, _CLASS_PAIR = 2.0, 3e-6, 1e-9, 3e-9
"""Inference: loading models; a released cell; a column of a pair that is scored; and a pair of a class."""
_NEAREST_PERSON, _NEAREST_PAIR = 2.4e-4, 7e-9
"""A person whose nearest records are found by distance, and a pair."""
_MODELS, _MODEL_CELL = 5.0, 15e-6
"""The models of a secret, and a cell that trains them."""
_NESTED = 3 / 4 + 1 / 2 + 1 / 4
"""The shares of the columns that are searched by beside all of them, together: at most once for each fold."""
_PAGE = 2.0
"""Drawing the charts of the page."""


class Work:
    """The work of one audit. `speed` is that of the machine; without it the steps are right in proportion only."""

    def __init__(self, resolved: ResolvedConfig, inputs: Inputs, speed: Speed = REFERENCE) -> None:
        self._resolved, self._inputs, self._speed = resolved, inputs, speed
        self._costs = AttackCosts(resolved, inputs, speed)
        self._columns = len(inputs.pair.original.specs)
        self._workers = resolved.budget.workers

    def audit(self, *, first_answer: bool = False) -> list[Step]:
        """The steps after reading; with `first_answer` a quick look comes first."""
        if self._resolved.quick:
            look = self._quick_look()
            return [self._checks_beside(look), *look, *self.diagnostics()]
        if not first_answer:
            return [self.checks(), *self.attackers(combining=True), *self.diagnostics()]
        first = self._resolved.with_quick_look(FIRST_ANSWER_PEOPLE)
        quick = self._resized(first, self._costs.rows, self._costs.control, self._costs.released)
        look = [replace(step, phase=f"{QUICK_LOOK}: {step.phase}") for step in quick._quick_look()]
        return [self._checks_beside(look), *look, *self.attackers(combining=True), *self.diagnostics()]

    def _quick_look(self) -> list[Step]:
        """The attackers of a quick look: all of them or, in a large release, a trial of all and then the strongest."""
        if not screening.screens(self._resolved, self._inputs):
            return self.attackers(combining=True)
        part = self._resized(
            self._resolved,
            min(self._costs.rows, screening.PEOPLE),
            min(self._costs.control, screening.CONTROLS),
            min(self._costs.released, screening.RECORDS + screening.PEOPLE),
        )
        tried = [replace(step, phase=f"{SCREENING}: {step.phase}") for step in part.attackers()]
        share = screening.FINALISTS / len(self._resolved.able(self._costs.control, self._inputs.pair))
        chosen = [Step(step.phase, share * step.seconds, share * step.processor) for step in self.attackers()]
        return [*tried, *chosen]

    def _resized(self, resolved: ResolvedConfig, rows: int, control: int, released: int) -> Work:
        """The work of another plan, on parts of the tables."""
        found = copy(self)
        found._resolved, found._costs = resolved, self._costs.resized(resolved, rows, control, released)
        return found

    def _checks_beside(self, look: Sequence[Step]) -> Step:
        """The checks while a quick look runs: they take what is left of them when it is done."""
        checks, seconds = self.checks(), sum(step.seconds for step in look)
        if self._workers == 1:
            return checks
        together = (checks.processor + sum(step.processor for step in look)) / cores(self._workers) / self._speed.share
        return replace(checks, seconds=max(checks.seconds - seconds, together - seconds, 0.0))

    def reading(self) -> Step:
        """Reading the tables, with the start of the program."""
        cells = self._columns * (self._costs.rows + self._costs.released + self._costs.control)
        return self._step(
            Phase.READING, Cost((_START + _READ_COLUMN * self._columns + _READ_CELL * cells) * self._speed.plain)
        )

    def page(self) -> Step:
        """Writing the page of the result."""
        return self._step(Phase.WRITING, Cost(_PAGE * self._speed.plain))

    def checks(self) -> Step:
        """The checks before the attack."""
        likeness = _LIKENESS if self._costs.control else 0.0
        cells = self._columns * (self._costs.rows + self._costs.released + self._costs.control)
        return self._step(
            Phase.CHECKING, Cost((_CHECK_COLUMN * self._columns + _CHECK_CELL * cells + likeness) * self._speed.plain)
        )

    def attackers(self, attackers: Mapping[str, Attacker] | None = None, *, combining: bool = False) -> list[Step]:
        """The steps of all attackers that can be run, or of some, with canaries beside them.

        With `combining`, the evidence of the family's members is joined too.
        """
        running = self._resolved.able(self._costs.control, self._inputs.pair) if attackers is None else attackers
        shared, steps, attacks = SharedCosts(), [], Cost()
        for name, attacker in running.items():
            label, cost = labelled(name, running), self._costs.attack(attacker, self._costs.searched(attacker), shared)
            steps.append(self._step(f"{Phase.SEARCHING}{label}", cost.search))
            steps.append(self._step(f"{Phase.CONTROL}{label}", cost.control))
            steps.append(self._step(f"{Phase.EVALUATING}{label}", cost.evaluation))
            attacks += cost.whole
        if attackers is not None:
            return steps
        beside = self._canaries(running.values()) if self._resolved.runs_canaries else Cost()
        steps.append(self._beside(Phase.CANARIES, attacks, beside))
        if combining and self._costs.control and self._resolved.is_whole_family:
            steps.append(self._step(Phase.COMBINING, self._combining(list(running.values()))))
        if len(running) > 1 and not self._resolved.quick:
            most = min(self_linkage.SAMPLE, self._costs.rows)
            checked = self._mean(running.values(), lambda item: self._costs.search(item, most, self._costs.rows))
            steps.append(self._step(Phase.HEADLINE, checked))
        return steps

    def searches(self, attackers: Mapping[str, Attacker]) -> dict[str, float]:
        """The seconds of one core that each attacker searches, in the release and for the control."""
        steps = self.attackers(attackers)
        searched = [(steps[at], steps[at + 1]) for at in range(0, len(steps), 3)]
        return {name: sum(step.processor for step in both) for name, both in zip(attackers, searched, strict=True)}

    def diagnostics(self) -> list[Step]:
        """The steps after the attackers."""
        running = list(self._resolved.able(self._costs.control, self._inputs.pair).values())
        most = min(
            self_linkage.SCREENED if self._resolved.quick else self_linkage.SAMPLE,
            self._costs.rows,
            self._costs.released,
        )
        linkage = self._mean(
            running,
            lambda item: (
                self._costs.search(item, most, self._costs.rows) + self._costs.search(item, most, self._costs.released)
            ),
        )
        drops, contributions = self._drops(running), self._mean(running, self._contribution)
        varied = self._varied(running)
        singled = self._singling_out() if self._resolved.runs_singling_out else Cost()
        asked = max(self._costs.searched(attacker).asked for attacker in running)
        people = _SUBGROUP_PERSON * asked * self._speed.plain
        return [
            *([self._step(Phase.SIGHT, self._sight(running))] if self._costs.control else ()),
            self._step(Phase.SELF_LINKAGE, linkage),
            self._step(Phase.POWER_DROPS, self._at_once(drops)),
            self._step(Phase.CONTRIBUTIONS, contributions),
            self._step(Phase.SENSITIVITY, self._at_once(varied)),
            self._step(Phase.LADDER, self._mean(running, self._ladder)),
            self._step(Phase.SUBGROUPS, Cost(people)),
            *([self._step(Phase.SINGLING_OUT, singled)] if self._resolved.runs_singling_out else ()),
            *(() if self._resolved.quick else [self._beside(Phase.CRITERIA, singled, self._criteria())]),
            *self._recipients(running),
            *self._inferring(),
            self._step(Phase.RESULT, Cost(_RESULT * self._speed.plain)),
        ]

    def _sight(self, running: list[Attacker]) -> Cost:
        """The estimated change, and a search for originals who are brought through it."""
        released = min(self._costs.released, sight.RELEASED)
        people = Searched(min(self._costs.rows, sight.PLANTED), min(self._costs.control, sight.CONTROLS), 0, released)
        found = self._mean(running, lambda it: self._costs.attack(it.attacker, people, SharedCosts()).whole)
        return self._mean(running, self._costs.change) + found

    def _singling_out(self) -> Cost:
        """Every set of up to three columns, and predicates."""
        records = self._costs.rows + self._costs.released
        sets = sum(comb(self._columns, size) for size in range(1, LARGEST + 1))
        asked = self._columns * (records + self._costs.control)
        visits = min(sets * records, MOST_VISITS)
        seconds = _SINGLED + (_SET / max(1, records) + _SET_RECORD) * visits + _ASKED_CELL * asked
        return Cost(seconds * self._speed.plain)

    def _inferring(self) -> list[Step]:
        """Attribute inference, if it is asked."""
        return [self._step(Phase.INFERENCE, self._inference())] if self._resolved.runs_inference else []

    def _inference(self) -> Cost:
        """Searches for the nearest records, and models, of each secret."""
        secrets = len({spec.name for spec in self._resolved.sensitive} | set(self._resolved.inference.columns))
        released, most = self._costs.released, sensitive_searches.max_queries(self._costs.released)
        people = min(self._costs.rows, most) + min(self._costs.control, most)
        ranking = 2 * FOLDS * most_ranking(released) * (self._columns + 1) if self._costs.control else 0
        nested = (1 + (FOLDS if self._costs.control else 1) * _NESTED) * people
        searched = _NEAREST_CELL * self._columns * (nested + ranking) * released
        searched += (_NEAREST_PERSON + _NEAREST_PAIR * released) * people
        trained = min(released, MOST_ROWS) + min(self._costs.control, MOST_ROWS)
        models = _MODELS + _MODEL_CELL * self._columns * trained + _PREPARED_CELL * self._columns * released
        return Cost(_INFERRED + secrets * (searched + _CLASS_PAIR * people * released + models)) * self._speed.plain

    def _recipients(self, running: list[Attacker]) -> list[Step]:
        """One attack for each recipient."""
        count = 0 if self._resolved.quick else len(self._resolved.config.recipients)
        if not count:
            return []
        cost = sum((self._costs.attack(it, self._costs.searched(it), SharedCosts()).whole for it in running), Cost())
        return [self._step(Phase.RECIPIENTS, cost * (count / len(running)))]

    def _criteria(self) -> Cost:
        """The classes of the release."""
        return Cost(_CRITERIA_CELL * self._columns * self._costs.released * self._speed.plain)

    def compared(self) -> list[Step]:
        """The steps of one of several releases that are compared."""
        running = list(self._resolved.able(self._costs.control, self._inputs.pair).values())
        checks = self.checks()
        return [
            *self.attackers(),
            self._step(Phase.POWER_DROPS, self._at_once(self._drops(running))),
            self._step(Phase.CONTRIBUTIONS, self._mean(running, self._contribution)),
            Step(Phase.UTILITY, 2 * checks.seconds),
            self._step(Phase.CRITERIA, self._criteria() + self._singling_out() * self._resolved.runs_singling_out),
            *self._inferring(),
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

    def _at_once(self, cost: Cost) -> Cost:
        """The cost of several attackers, which search at the same time unless the release is large."""
        return cost if self._costs.released > several_attackers.LARGE else Cost(spread=cost.processor)

    def _mean(self, attackers: Iterable[Attacker], cost: Callable[[Compared], Cost]) -> Cost:
        """The mean over attackers that may be the strongest: those that compare values, and in wide tables all."""
        known = list(attackers)
        wide = self._columns > power_drop.MOST_COLUMNS
        likely = [attacker for attacker in known if wide or attacker.compares_values] or known
        costs = [cost(self._costs.counted(attacker)) for attacker in likely]
        return sum(costs, Cost()) * (1 / max(1, len(costs)))

    def _canaries(self, running: Iterable[Attacker]) -> Cost:
        """Both canaries of all attackers: the originals themselves, and independent columns."""
        total = Cost()
        for released in (min(rows, canaries.RELEASED) for rows in (self._costs.rows, self._costs.released)):
            shared = SharedCosts()
            for attacker in running:
                people = self._costs.searched(attacker, canaries.ASKED, released)
                total += self._costs.attack(attacker, people, shared, canaries.ASKED).whole
        return total

    def _combining(self, running: list[Attacker]) -> Cost:
        """The strongest member on the people whom all ask, and weights for the members' evidence."""
        released = self._costs.released
        asked = [self._resolved.max_queries(attacker, released) or self._costs.rows for attacker in running]
        people = min(*asked, self._costs.rows)
        fitted = Cost(_WEIGHED * len(running) * people * self._speed.plain)
        return self._mean(running, lambda it: self._costs.again(it, people)) + fitted

    def _drops(self, running: list[Attacker]) -> Cost:
        """The attack without each column, if there is a control or the truth to measure power by."""
        matches = self._inputs.evaluation.matches
        measured = self._costs.control or (matches is not None and matches.complete)
        if not self._resolved.runs_sensitivity or not measured:
            return Cost()
        times = 1 + min(self._columns, power_drop.MOST_COLUMNS)
        released = self._costs.released
        return (
            self._mean(running, lambda it: self._costs.again(it, power_drop.max_queries(it.attacker, released))) * times
        )

    def _contribution(self, it: Compared) -> Cost:
        """The shares of columns in the space and in the links, and the search without each column."""
        if not it.fits or not it.attacker.on_scale:
            return Cost()
        total = Cost()
        if it.features <= STABILITY_FEATURES:
            total += self._costs.eigenvectors(it) * STABILITY_REPLICATES
            total += self._costs.fit(it, 2 * self_linkage.SAMPLE)
        asked = min(self._costs.rows, self_linkage.SAMPLE)
        fit = self._costs.eigenvectors(it)
        tried = min(it.columns, power_drop.MOST_COLUMNS)
        return total + (fit + self._costs.search(it, asked, self._costs.released)) * tried

    def _varied(self, running: list[Attacker]) -> Cost:
        """The variations of the first attacker whose score is on the scale."""
        able = [attacker for attacker in running if attacker.on_scale]
        if not self._resolved.runs_sensitivity or not able:
            return Cost()
        total, before = Cost(), None
        for choice, _, other in sensitivity.variations(self._inputs.pair, able[0]):
            it = self._costs.counted(other if choice == "blocking" else able[0])
            if other.vectorization.encode == "frequency":
                it = replace(it, features=it.columns, width=it.columns)
            key = WorkKeys.of(other, sensitivity.ASKED).search
            total += Cost() if key == before else self._costs.again(it, sensitivity.ASKED)
            before = key
        return total

    def _ladder(self, it: Compared) -> Cost:
        """One search for each rung."""
        ladder = it.attacker.ladder
        return (
            Cost()
            if ladder is None
            else self._costs.search(it, self._costs.rows, self._costs.released) * len(ladder.rungs)
        )
