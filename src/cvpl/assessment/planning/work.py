"""The work of an audit, step by step: how long each step takes, from the costs of its attacks (`attack_cost`).

Nearly all of it is reading, the attacks, the canaries, and the attacks that are repeated without a column or in a
variation. Each step that takes little in every audit is the same small share of the attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from cvpl.assessment import screening
from cvpl.assessment.diagnostics import canaries, inference, sensitivity
from cvpl.assessment.planning.attack_cost import EVERYTHING, REFERENCE, AttackCosts, Cost, Records, Speed, cores
from cvpl.assessment.planning.progress import QUICK_LOOK, SCREENING, Phase, Step, labelled
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import WorkKeys
from cvpl.config.resolved import FIRST_ANSWER_PEOPLE, ResolvedConfig
from cvpl.evaluation.inference.columns import FOLDS, most_ranking
from cvpl.search.exact import INDEX_ALL_PAIRS
from cvpl.tables.pair import Inputs

START, PAGE, COMPILER = 2.3, 2.0, 0.8
"""Python and its libraries with the result, drawing the charts of the page, and loading what was compiled."""
CELL, COLUMN, CHECKED = 1e-6, 40e-3, 0.4
"""A cell that is read, a column of all tables, however few cells it has, and the checks over the reading."""
SMALL = 0.03
"""A step that takes little, over all attacks."""
MODELS, NEAREST_CELL = 6.0, 3e-9
"""The models of a sensitive attribute, and a column of a pair in the search for the nearest records."""
NESTED = 3 / 4 + 1 / 2 + 1 / 4
"""The shares of the columns that are searched by beside all of them, together: at most once for each fold."""


class Work:
    """The work of one audit, or of one on parts of the tables with at most `most` records.

    `speed` is that of the machine; without it the steps are right in proportion only.
    """

    def __init__(
        self, resolved: ResolvedConfig, inputs: Inputs, speed: Speed = REFERENCE, most: Records = EVERYTHING
    ) -> None:
        self._resolved, self._inputs, self._speed = resolved, inputs, speed
        self._costs = AttackCosts(resolved, inputs, speed.product / speed.plain, most)
        self._records, self._columns = self._costs.records, len(inputs.pair.original.specs)
        self._able = resolved.able(int(self._records.control), inputs.pair)

    def reading(self) -> Step:
        """Reading the tables, with the start of the program."""
        return self._step(Phase.READING, Cost(START) + self._tables())

    def page(self) -> Step:
        """Writing the page of the result."""
        return self._step(Phase.WRITING, Cost(PAGE))

    def audit(self, *, first_answer: bool = False) -> list[Step]:
        """The steps after reading; with `first_answer` a quick look comes first."""
        look: list[Step] = []
        if first_answer and not self._resolved.quick:
            quick = Work(self._resolved.with_quick_look(FIRST_ANSWER_PEOPLE), self._inputs, self._speed)
            look = [replace(step, phase=f"{QUICK_LOOK}: {step.phase}") for step in quick._quick_look()]
        attacks = self._quick_look() if self._resolved.quick else self.attackers(combining=True)
        checks = self._step(Phase.CHECKING, self._tables() * CHECKED)
        return [checks, *look, *attacks, *self._diagnostics(attacks)]

    def attackers(self, attackers: Mapping[str, Attacker] | None = None, *, combining: bool = False) -> list[Step]:
        """The steps of all attackers that can be run, or of some, with canaries beside them.

        With `combining`, the evidence of the family's members is joined too.
        """
        running = self._able if attackers is None else attackers
        steps, done = list[Step](), set[Hashable]()
        load = Cost(COMPILER if self._records.original * self._records.released >= INDEX_ALL_PAIRS else 0)
        for name, attacker in running.items():
            costs = self._costs.attack(attacker, self._costs.searched(attacker), done)
            for phase, cost in zip((Phase.SEARCHING, Phase.CONTROL, Phase.EVALUATING), costs, strict=True):
                steps.append(self._step(f"{phase}{labelled(name, running)}", cost + load))
                load = Cost()
        if attackers is not None:
            return steps
        found = [*steps, self._canaries(steps)]
        if combining and self._records.control and self._resolved.is_whole_family:
            found.append(_small(Phase.COMBINING, steps))
        if len(running) > 1 and not self._resolved.quick:
            found.append(_small(Phase.HEADLINE, steps))
        return found

    def searches(self, attackers: Mapping[str, Attacker]) -> dict[str, float]:
        """The seconds of one core that each attacker searches, in the release and for the control."""
        steps = [step.processor for step in self.attackers(attackers)]
        return {name: steps[3 * at] + steps[3 * at + 1] for at, name in enumerate(attackers)}

    def compared(self) -> list[Step]:
        """The steps of one of several releases that are compared."""
        attacks = self.attackers()
        return [
            *attacks,
            self._step(Phase.POWER_DROPS, self._drops()),
            _small(Phase.CONTRIBUTIONS, attacks),
            self._step(Phase.UTILITY, self._tables() * (2 * CHECKED)),
            _small(Phase.CRITERIA, attacks),
            *self._inferring(),
        ]

    def _diagnostics(self, attacks: Sequence[Step]) -> list[Step]:
        """The steps after the attackers."""
        steps = [
            self._step(Phase.SIGHT, self._costs.change() if self._records.control else Cost()),
            _small(Phase.SELF_LINKAGE, attacks),
            self._step(Phase.POWER_DROPS, self._drops()),
            _small(Phase.CONTRIBUTIONS, attacks),
            self._step(Phase.SENSITIVITY, self._varied()),
            self._step(Phase.LADDER, self._likely(self._ladder)),
            _small(Phase.SUBGROUPS, attacks),
            _small(Phase.SINGLING_OUT, attacks),
        ]
        steps += [] if self._resolved.quick else [_small(Phase.CRITERIA, attacks), *self._recipients()]
        return [*steps, *self._inferring(), _small(Phase.RESULT, attacks)]

    def _quick_look(self) -> list[Step]:
        """The attackers of a quick look: all of them or, in a large release, a trial of all and then the strongest."""
        if not screening.screens(self._resolved, self._inputs):
            return self.attackers(combining=True)
        part = Records(screening.PEOPLE, screening.CONTROLS, screening.RECORDS + screening.PEOPLE)
        tried = Work(self._resolved, self._inputs, self._speed, part).attackers()
        share = screening.FINALISTS / len(self._able)
        found = [replace(step, phase=f"{SCREENING}: {step.phase}") for step in tried]
        return found + [Step(step.phase, share * step.seconds, share * step.processor) for step in self.attackers()]

    def _step(self, phase: str, cost: Cost) -> Step:
        plain, seconds = self._speed.plain, cost.seconds(self._resolved.budget.workers)
        return Step(phase, plain * seconds / self._speed.share, plain * cost.processor)

    def _tables(self) -> Cost:
        """Reading the tables."""
        return Cost(self._columns * (COLUMN + CELL * sum(self._records)))

    def _canaries(self, attacks: Sequence[Step]) -> Step:
        """Both canaries of all attackers, the originals themselves and independent columns.

        Several workers run them beside the attacks, and then take what is left of them.
        """
        cost, workers = Cost(), self._resolved.budget.workers
        for rows in (self._records.original, self._records.released) if self._resolved.runs_canaries else ():
            done = set[Hashable]()
            for attacker in self._able.values():
                them = self._costs.searched(attacker, canaries.MOST_SEARCHED, min(rows, canaries.RELEASED))
                cost += _sum(self._costs.attack(attacker, them, done))
        step = self._step(Phase.CANARIES, cost)
        if workers == 1:
            return step
        both = sum(other.processor for other in (*attacks, step)) / cores(workers) / self._speed.share
        return replace(step, seconds=max(0.0, max(step.seconds, both) - sum(other.seconds for other in attacks)))

    def _likely(self, cost: Callable[[Attacker], Cost]) -> Cost:
        """The mean over attackers that may be the strongest: those that compare values, and in wide tables all."""
        known, wide = self._able.values(), self._columns > sensitivity.MOST_COLUMNS
        likely = [attacker for attacker in known if wide or attacker.compares_values] or known
        return _sum(map(cost, likely)) * (1 / max(1, len(likely)))

    def _drops(self) -> Cost:
        """The attack without each column, if there is a control or the truth to measure power by."""
        matches, released = self._inputs.evaluation.matches, int(self._records.released)
        measured = self._records.control or (matches is not None and matches.complete)
        if not self._resolved.runs_sensitivity or not measured:
            return Cost()
        once = self._likely(lambda it: self._costs.repeated(it, sensitivity.max_queries(it, released)))
        return _at_once(once) * (1 + min(self._columns, sensitivity.MOST_COLUMNS))

    def _varied(self) -> Cost:
        """The variations of the first attacker whose score is on the scale."""
        able = [attacker for attacker in self._able.values() if attacker.on_scale]
        if not self._resolved.runs_sensitivity or not able:
            return Cost()
        varied = [other for _, _, other in sensitivity.variations(self._inputs.pair, able[0])]
        different = {WorkKeys.of(other, None).search: other for other in varied}
        return _at_once(_sum(self._costs.repeated(other, sensitivity.MOST_SEARCHED) for other in different.values()))

    def _ladder(self, attacker: Attacker) -> Cost:
        """One search for each rung."""
        rungs = 0 if attacker.ladder is None else len(attacker.ladder.rungs)
        return self._costs.search(attacker, self._records.original, self._records.released) * rungs

    def _recipients(self) -> list[Step]:
        """An attack for each recipient."""
        recipients, able = self._resolved.config.recipients, self._able.values()
        attacks = [self._costs.attack(one, self._costs.searched(one), set()) for one in able if recipients]
        whole = _sum(map(_sum, attacks)) * (len(recipients) / len(able))
        return [self._step(Phase.RECIPIENTS, whole)] if recipients else []

    def _inferring(self) -> list[Step]:
        """Attribute inference, if it runs: searches for the nearest records, and models, by attribute."""
        if not self._resolved.runs_inference:
            return []
        attributes = len({spec.name for spec in self._resolved.sensitive} | set(self._resolved.inference.columns))
        rows, control, released, _ = self._records
        most = inference.max_queries(int(released))
        people, folds = min(rows, most) + min(control, most), FOLDS if control else 1
        ranking = 2 * FOLDS * most_ranking(int(released)) * (self._columns + 1) if control else 0
        pairs = ((1 + folds * NESTED) * people + ranking) * released
        return [self._step(Phase.INFERENCE, Cost(MODELS + NEAREST_CELL * self._columns * pairs) * attributes)]


def _small(phase: str, attacks: Iterable[Step]) -> Step:
    """A step that takes little."""
    seconds, processor = (
        SMALL * sum(times) for times in zip(*((it.seconds, it.processor) for it in attacks), strict=True)
    )
    return Step(phase, seconds, processor)


def _sum(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


def _at_once(cost: Cost) -> Cost:
    """The cost of several attackers, which search at the same time."""
    return Cost(spread=cost.processor)
