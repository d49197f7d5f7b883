"""The attackers of one audit side by side: what speaks against each, and which of them speaks for the release.

The strongest by power at 5% is the headline. Power means the same for every score; rates at one threshold do not. An
attacker whose canary is out of place, or whose representation is dead or shifted, is out of the running. Having been
picked as the strongest of K flatters a figure: its intervals are therefore taken at a confidence of 1 - 0.05 / K
(Bonferroni), so that all K hold together 95% of the time, and the one that was picked is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cvpl import result as out
from cvpl.attack import attack
from cvpl.attacker import Attacker
from cvpl.config.plan import Plan
from cvpl.diagnostics.canaries import Canaries, canaries
from cvpl.diagnostics.self_linkage import SelfLinkage, perturbed
from cvpl.diagnostics.validity import Validity, validity
from cvpl.evaluation.measurement import OFF_SCALE_FALSE_RATE, Measurement, measure
from cvpl.evaluation.shares import CONFIDENCE
from cvpl.evaluation.truth import top1_hit_rate
from cvpl.streams import stream
from cvpl.tables.pair import Inputs

_MANY = 3
Report = Callable[[str, float | None], None]


@dataclass(frozen=True, eq=False)
class Contender:
    """One attacker: its measurement, its representation's validity, and its canaries where they were run."""

    measured: Measurement
    copied: SelfLinkage | None
    valid: Validity
    canaries: Canaries | None

    @property
    def faults(self) -> tuple[str, ...]:
        """Why it cannot speak for the release; nothing if it can."""
        return self.valid.reasons + (() if self.canaries is None else self.canaries.faults)

    @property
    def power(self) -> float | None:
        """Its power at 5%; None where there is nothing to read it against."""
        return None if self.measured.power is None else self.measured.power[OFF_SCALE_FALSE_RATE]

    @property
    def top1(self) -> float:
        """How often its best candidate is the right person; 0 where nobody knows."""
        truth = self.measured.truth
        return (None if truth is None else top1_hit_rate(truth)) or 0.0


@dataclass(frozen=True, eq=False)
class Standing:
    """All contenders, the name of the headline, and those that could not be run."""

    contenders: Mapping[str, Contender]
    headline: str
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, contenders: Mapping[str, Contender], left_out: tuple[str, ...] = ()) -> Standing:
        """The strongest of those without a fault; without any, of all; without power, the first.

        Of equal power, who finds more of the right persons, where these are known; then the first. Without a control
        all may have the same power, since a release of equal records leaves nothing to read it by.
        """
        able = {name: it for name, it in contenders.items() if not it.faults} or contenders
        powers = {name: (it.power, it.top1) for name, it in able.items() if it.power is not None}
        headline = max(powers, key=lambda name: powers[name]) if powers else next(iter(able))
        return cls(contenders, headline, left_out)

    @property
    def chosen(self) -> Contender:
        """The headline attacker."""
        return self.contenders[self.headline]

    @property
    def qualified(self) -> dict[str, Contender]:
        """Those without a fault."""
        return {name: it for name, it in self.contenders.items() if not it.faults}

    @property
    def among(self) -> int:
        """Of how many the headline was picked by its power; 1 where nothing was picked."""
        return max(1, sum(it.power is not None for it in self.qualified.values()))

    @property
    def confidence(self) -> float:
        """At which the headline's intervals are taken, so that they hold although it was picked."""
        return 1 - (1 - CONFIDENCE) / self.among

    @property
    def picked(self) -> out.Picked | None:
        """What a result says of having been picked; None where nothing was."""
        return out.Picked(among=self.among, confidence=self.confidence) if self.among > 1 else None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why nothing can be read as risk: the faults of all, where none is without; nothing otherwise."""
        if self.qualified:
            return ()
        if len(self.contenders) == 1:
            return self.chosen.faults
        return tuple(f"{fault} ({_named(names)})" for fault, names in self._by_fault().items())

    @property
    def disqualified(self) -> tuple[str, ...]:
        """Sentences on those who are out of the running, each fault told once."""
        return tuple(f"out of the running: {_named(names)}; {fault}" for fault, names in self._by_fault().items())

    def _by_fault(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, it in self.contenders.items():
            for fault in it.faults:
                found.setdefault(fault, []).append(name)
        return found


def _named(names: list[str]) -> str:
    if len(names) > _MANY:
        return f"{len(names)} attackers"
    return ("attacker " if len(names) == 1 else "attackers ") + ", ".join(f"'{name}'" for name in names)


def contest(plan: Plan, inputs: Inputs, say: Report) -> Standing:
    """Run every attacker of the plan that can be run, and see who stands."""
    control = inputs.pair.control
    running = plan.able(0 if control is None else control.rows)
    alone = len(running) == 1
    contenders = {name: contend(name, it, plan, inputs, say, alone=alone) for name, it in running.items()}
    return Standing.of(contenders, tuple(name for name in plan.attackers if name not in running))


def contend(name: str, attacker: Attacker, plan: Plan, inputs: Inputs, say: Report, *, alone: bool) -> Contender:
    """Let one attacker attack, measure it, and see what speaks against it."""
    label = "searching" if alone else f"searching ({name})"
    done = attack(
        inputs.pair,
        attacker,
        seed=plan.config.seed,
        budget=plan.budget,
        levers=plan.levers,
        most=plan.most_asked(attacker, inputs.pair.protected.rows),
        progress=lambda share: say(label, share),
    )
    control = done.search_control(lambda share: say(f"{label}, control", share))
    say("evaluating", None)
    measured = measure(
        done,
        inputs.matches,
        control,
        grid=plan.config.grid.values(),
        method=plan.config.intervals.method,
        groups=inputs.groups,
    )
    copied = perturbed(done, measured.threshold, stream(done.seed, "self-linkage perturbed"))
    truth = measured.truth
    released = truth.has_match if truth is not None and truth.complete else None
    valid = validity(done, copied, stream(done.seed, "validity"), released=released)
    found = None
    if plan.runs_canaries and done.representation.maps_others:
        say("canaries" if alone else f"canaries ({name})", None)
        found = canaries(inputs.pair, attacker, measured.threshold, seed=plan.config.seed, budget=plan.budget)
    if not alone:
        done.representation.forget()
    return Contender(measured, copied, valid, found)
