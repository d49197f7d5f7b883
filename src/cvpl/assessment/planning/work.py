"""The work of an audit, step by step: how long each step takes, from the costs of its attacks (`attack_cost`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import comb

from cvpl.assessment import screening, sight
from cvpl.assessment.diagnostics import canaries, inference, sensitivity, validity
from cvpl.assessment.planning.attack_cost import (
    COMPILER,
    PERSON,
    REFERENCE,
    AttackCosts,
    Compared,
    Cost,
    Searched,
    SharedCosts,
    Speed,
    cores,
)
from cvpl.assessment.planning.progress import QUICK_LOOK, SCREENING, Phase, Step, labelled
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.config.resolved import FIRST_ANSWER_PEOPLE, ResolvedConfig
from cvpl.evaluation.inference.columns import FOLDS, most_ranking
from cvpl.evaluation.inference.models import MOST_ROWS
from cvpl.evaluation.singling_out.column_sets import LARGEST, MOST_VISITS
from cvpl.search.exact import INDEX_ALL_PAIRS
from cvpl.tables.pair import Inputs

# Seconds of the reference core.
START, RESULT, PAGE = 2.1, 0.2, 2.0
"""Python and its libraries, putting the result together, and drawing the charts of its page."""
CELL, COLUMN = 1e-6, 40e-3
"""A cell that is read, and a column of all tables, however few cells it has."""
CHECKED = 0.4
"""The checks before the attack, over the reading."""
WEIGHED = 6e-6
"""A score of one person by one member whose evidence is combined."""
SINGLED, SET, SET_RECORD = 0.5, 10e-6, 15e-9
"""Predicates that single out, a set of columns, and a record of a set."""
MODELS, MODEL_CELL = 6.0, 15e-6
"""The models of a secret, and a cell that trains them."""
NEAREST_PERSON, NEAREST_CELL = 2.4e-4, 2e-9
"""A person whose nearest records are found for inference, and a column of a pair."""
NESTED = 3 / 4 + 1 / 2 + 1 / 4
"""The shares of the columns that are searched by beside all of them, together: at most once for each fold."""


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
            return [self._parallel_step(Phase.CHECKING, self._checks(), look), *look, *self.diagnostics()]
        if not first_answer:
            return [self._step(Phase.CHECKING, self._checks()), *self.attackers(combining=True), *self.diagnostics()]
        quick = self._resized(self._resolved.with_quick_look(FIRST_ANSWER_PEOPLE))
        look = [replace(step, phase=f"{QUICK_LOOK}: {step.phase}") for step in quick._quick_look()]
        checks = self._parallel_step(Phase.CHECKING, self._checks(), look)
        return [checks, *look, *self.attackers(combining=True), *self.diagnostics()]

    def reading(self) -> Step:
        """Reading the tables, with the start of the program."""
        return self._step(Phase.READING, Cost(START) + self._tables())

    def page(self) -> Step:
        """Writing the page of the result."""
        return self._step(Phase.WRITING, Cost(PAGE))

    def attackers(self, attackers: Mapping[str, Attacker] | None = None, *, combining: bool = False) -> list[Step]:
        """The steps of all attackers that can be run, or of some, with canaries beside them.

        With `combining`, the evidence of the family's members is joined too.
        """
        running = self._able() if attackers is None else attackers
        shared, steps = SharedCosts(), []
        load = Cost(COMPILER if self._costs.rows * self._costs.released >= INDEX_ALL_PAIRS else 0)
        for name, attacker in running.items():
            label, cost = labelled(name, running), self._costs.attack(attacker, self._costs.searched(attacker), shared)
            steps.append(self._step(f"{Phase.SEARCHING}{label}", cost.search + load))
            steps.append(self._step(f"{Phase.CONTROL}{label}", cost.control))
            steps.append(self._step(f"{Phase.EVALUATING}{label}", cost.evaluation))
            load = Cost()
        if attackers is not None:
            return steps
        beside = self._canaries() if self._resolved.runs_canaries else Cost()
        steps.append(self._parallel_step(Phase.CANARIES, beside, steps))
        if combining and self._costs.control and self._resolved.is_whole_family:
            steps.append(self._step(Phase.COMBINING, self._combining()))
        if len(running) > 1 and not self._resolved.quick:
            most = min(validity.SAMPLE, self._costs.rows)
            steps.append(self._step(Phase.HEADLINE, self._repeated_attack(most) * 0.5))
        return steps

    def searches(self, attackers: Mapping[str, Attacker]) -> dict[str, float]:
        """The seconds of one core that each attacker searches, in the release and for the control."""
        steps = self.attackers(attackers)
        searched = [(steps[at], steps[at + 1]) for at in range(0, len(steps), 3)]
        return {name: sum(step.processor for step in both) for name, both in zip(attackers, searched, strict=True)}

    def diagnostics(self) -> list[Step]:
        """The steps after the attackers."""
        resolved, costs = self._resolved, self._costs
        most = min(validity.SCREENED if resolved.quick else validity.SAMPLE, costs.rows, costs.released)
        singled = self._step(Phase.SINGLING_OUT, self._singling_out())
        asked = max(costs.searched(attacker).asked for attacker in self._able().values())
        steps = [self._step(Phase.SIGHT, self._sight())] if costs.control else []
        steps += [
            self._step(Phase.SELF_LINKAGE, self._repeated_attack(most)),
            self._step(Phase.POWER_DROPS, self._drops()),
            self._step(Phase.CONTRIBUTIONS, self._mean(self._contribution)),
            self._step(Phase.SENSITIVITY, self._varied()),
            self._step(Phase.LADDER, self._mean(self._ladder)),
            self._step(Phase.SUBGROUPS, Cost(PERSON * asked)),
        ]
        steps += [singled] if resolved.runs_singling_out else []
        if not resolved.quick:
            steps.append(
                self._parallel_step(Phase.CRITERIA, self._criteria(), [singled] if resolved.runs_singling_out else [])
            )
        return [*steps, *self._recipients(), *self._inferring(), self._step(Phase.RESULT, Cost(RESULT))]

    def compared(self) -> list[Step]:
        """The steps of one of several releases that are compared."""
        return [
            *self.attackers(),
            self._step(Phase.POWER_DROPS, self._drops()),
            self._step(Phase.CONTRIBUTIONS, self._mean(self._contribution)),
            self._step(Phase.UTILITY, self._checks() * 2),
            self._step(Phase.CRITERIA, self._criteria() + self._singling_out() * self._resolved.runs_singling_out),
            *self._inferring(),
        ]

    def _able(self) -> Mapping[str, Attacker]:
        return self._resolved.able(self._costs.control, self._inputs.pair)

    def _resized(self, resolved: ResolvedConfig, rows: int = 0, control: int = 0, released: int = 0) -> Work:
        """The work of another plan, on so many records of each table; 0 for all."""
        found, costs = copy(self), self._costs
        sizes = rows or costs.rows, control or costs.control, released or costs.released
        found._resolved, found._costs = resolved, costs.resized(resolved, *map(min, sizes, costs.sizes))
        return found

    def _quick_look(self) -> list[Step]:
        """The attackers of a quick look: all of them or, in a large release, a trial of all and then the strongest."""
        if not screening.screens(self._resolved, self._inputs):
            return self.attackers(combining=True)
        records = screening.RECORDS + screening.PEOPLE
        part = self._resized(self._resolved, screening.PEOPLE, screening.CONTROLS, records)
        tried = [replace(step, phase=f"{SCREENING}: {step.phase}") for step in part.attackers()]
        share = screening.FINALISTS / len(self._able())
        return tried + [Step(step.phase, share * step.seconds, share * step.processor) for step in self.attackers()]

    def _step(self, phase: str, cost: Cost) -> Step:
        plain = self._speed.plain
        return Step(phase, plain * cost.seconds(self._workers) / self._speed.share, plain * cost.processor)

    def _parallel_step(self, phase: str, cost: Cost, others: Sequence[Step]) -> Step:
        """A step that runs beside others: it takes what is left of it when they are done."""
        step = self._step(phase, cost)
        if self._workers == 1:
            return step
        busy, taken = step.processor + sum(other.processor for other in others), sum(other.seconds for other in others)
        together = busy / cores(self._workers) / self._speed.share
        return replace(step, seconds=max(step.seconds - taken, together - taken, 0.0))

    def _mean(self, cost: Callable[[Compared], Cost]) -> Cost:
        """The mean over attackers that may be the strongest: those that compare values, and in wide tables all."""
        known, wide = self._able().values(), self._columns > sensitivity.MOST_COLUMNS
        likely = [attacker for attacker in known if wide or attacker.compares_values] or known
        return _sum(cost(self._costs.counted(attacker)) for attacker in likely) * (1 / max(1, len(likely)))

    def _repeated_attack(self, asked: int) -> Cost:
        """Another attack by the strongest attacker on so many people."""
        return self._mean(lambda it: self._costs.repeated_attack(it, asked))

    def _tables(self) -> Cost:
        """Reading the tables."""
        return Cost(self._columns * (COLUMN + CELL * sum(self._costs.sizes)))

    def _checks(self) -> Cost:
        """The checks before the attack."""
        return self._tables() * CHECKED

    def _canaries(self) -> Cost:
        """Both canaries of all attackers: the originals themselves, and independent columns."""
        costs, total = self._costs, Cost()
        for released in (min(rows, canaries.RELEASED) for rows in (costs.rows, costs.released)):
            shared = SharedCosts()
            for attacker in self._able().values():
                people = costs.searched(attacker, canaries.ASKED, released)
                total += costs.attack(attacker, people, shared, canaries.ASKED).whole
        return total

    def _combining(self) -> Cost:
        """The strongest member on the people whom all ask, and weights for the members' evidence."""
        members = self._able().values()
        people = min(self._costs.searched(attacker).asked for attacker in members)
        return self._repeated_attack(people) + Cost(WEIGHED * len(members) * people)

    def _sight(self) -> Cost:
        """The estimated change, and a search for originals who are brought through it."""
        costs = self._costs
        rows, control, released = costs.sizes
        people = Searched(min(rows, sight.PLANTED), min(control, sight.CONTROLS), 0, min(released, sight.RELEASED))
        return self._mean(lambda it: costs.change(it) + costs.attack(it.attacker, people, SharedCosts()).whole)

    def _drops(self) -> Cost:
        """The attack without each column, if there is a control or the truth to measure power by."""
        matches = self._inputs.evaluation.matches
        measured = self._costs.control or (matches is not None and matches.complete)
        if not self._resolved.runs_sensitivity or not measured:
            return Cost()
        times = 1 + min(self._columns, sensitivity.MOST_COLUMNS)
        released = self._costs.released
        once = self._mean(lambda it: self._costs.repeated_attack(it, sensitivity.max_queries(it.attacker, released)))
        return _at_once(once) * times

    def _contribution(self, it: Compared) -> Cost:
        """The shares of columns in the space and in the links, and the search without each column."""
        if not it.fits or not it.attacker.on_scale:
            return Cost()
        search = self._costs.search(it, min(self._costs.rows, validity.SAMPLE), self._costs.released)
        return (self._costs.components(it) + search) * min(it.columns, sensitivity.MOST_COLUMNS)

    def _varied(self) -> Cost:
        """The variations of the first attacker whose score is on the scale."""
        able = [attacker for attacker in self._able().values() if attacker.on_scale]
        if not self._resolved.runs_sensitivity or not able:
            return Cost()
        others = {
            WorkKeys.of(other, None).search: self._costs.counted(other if choice == "blocking" else able[0])
            for choice, _, other in sensitivity.variations(self._inputs.pair, able[0])
        }
        return _at_once(_sum(self._costs.repeated_attack(it, sensitivity.ASKED) for it in others.values()))

    def _ladder(self, it: Compared) -> Cost:
        """One search for each rung."""
        rungs = 0 if it.attacker.ladder is None else len(it.attacker.ladder.rungs)
        return self._costs.search(it, self._costs.rows, self._costs.released) * rungs

    def _singling_out(self) -> Cost:
        """Every set of up to three columns, and predicates."""
        records = max(1, self._costs.rows + self._costs.released)
        sets = sum(comb(self._columns, size) for size in range(1, LARGEST + 1))
        return Cost(SINGLED + (SET + SET_RECORD * records) * min(sets, MOST_VISITS / records))

    def _criteria(self) -> Cost:
        """The classes of the release."""
        return Cost(CHECKED * CELL * self._columns * self._costs.released)

    def _recipients(self) -> list[Step]:
        """One attack for each recipient."""
        count = 0 if self._resolved.quick else len(self._resolved.config.recipients)
        if not count:
            return []
        costs, known = self._costs, self._able().values()
        whole = _sum(costs.attack(one, costs.searched(one), SharedCosts()).whole for one in known)
        return [self._step(Phase.RECIPIENTS, whole * (count / len(known)))]

    def _inferring(self) -> list[Step]:
        """Attribute inference, if it runs: searches for the nearest records, and models, by attribute."""
        if not self._resolved.runs_inference:
            return []
        attributes = len({spec.name for spec in self._resolved.sensitive} | set(self._resolved.inference.columns))
        rows, control, released = self._costs.sizes
        most = inference.max_queries(released)
        people, folds = min(rows, most) + min(control, most), FOLDS if control else 1
        ranking = 2 * FOLDS * most_ranking(released) * (self._columns + 1) if control else 0
        searched = NEAREST_CELL * self._columns * ((1 + folds * NESTED) * people + ranking) * released
        trained = MODEL_CELL * self._columns * (min(released, MOST_ROWS) + min(control, MOST_ROWS))
        return [self._step(Phase.INFERENCE, Cost(MODELS + searched + NEAREST_PERSON * people + trained) * attributes)]


def _sum(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


def _at_once(cost: Cost) -> Cost:
    """The cost of several attackers, which search at the same time."""
    return Cost(spread=cost.processor)
