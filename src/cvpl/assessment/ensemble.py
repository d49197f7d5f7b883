"""The ensemble of attackers of one audit: the faults of each, and the strongest one, which gives the headline.

The attacker with the largest risk is the headline (`evaluation.risk`). Risk is based on power at 5%, the true-positive
rate at a 5% false-positive rate, which means the same for every score; rates at one threshold do not. An attacker with
a failed canary, or with a dead or shifted representation, does not count. Picking the strongest of K attackers biases
its figure upwards. So its intervals have a confidence of 1 - 0.05 / K (Bonferroni): all K hold simultaneously 95% of
the time, including the picked one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypedDict

from cvpl import result as out
from cvpl.assessment.combined import COMBINED, AttackerOutcome, combine, round_for_comparison
from cvpl.assessment.diagnostics.canaries import CanaryOutcome, CanaryReleases
from cvpl.assessment.diagnostics.validity import SAMPLE, SCREENED, perturbed_self_rate, validity
from cvpl.assessment.planning.progress import Phase, ProgressCallback, labelled
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.config.resolved import ResolvedConfig
from cvpl.estimates import CONFIDENCE, Estimate
from cvpl.evaluation.groups.clusters import people_draw
from cvpl.evaluation.measurement import (
    Measurement,
    RiskReading,
    best_candidate,
    certain_risk,
    choose_reading,
    measure,
    risk_by_control,
    risk_by_matches,
)
from cvpl.randomness import stream
from cvpl.result import BestCandidate, Risk, SelfRate, Validity
from cvpl.result.verdict import RiskBasis
from cvpl.search.machine import BackgroundWorker
from cvpl.tables.pair import Inputs

_MANY = 3


@dataclass(frozen=True, eq=False)
class EnsembleOutcome:
    """All attackers, the headline's name, the false-positive rate used, and the attackers that could not be run.

    `screened` are attackers that were tried on a part of the release only, where others were stronger.
    """

    outcomes: Mapping[str, AttackerOutcome]
    headline: str
    reading: RiskReading
    left_out: tuple[str, ...] = ()
    screened: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, outcomes: Mapping[str, AttackerOutcome], left_out: tuple[str, ...] = (), reading: RiskReading | None = None
    ) -> EnsembleOutcome:
        """Choose the strongest attacker without a fault, or of all if each has one; `reading` is chosen if not given.

        The strongest has the largest risk: by power at the common false-positive rate or, if no control can be used, by
        the top-1 hit rate. Ties go to the higher top-1 hit rate, then to the first.
        """
        able = {name: outcome for name, outcome in outcomes.items() if not outcome.faults} or dict(outcomes)
        reading = reading or choose_reading(item.measured for item in able.values())
        strength = {
            name: (item.power_at(reading.false_rate), item.top1)
            for name, item in able.items()
            if reading.false_rate is None or item.measured.has_control
        }
        return cls(outcomes, max(strength, key=lambda name: strength[name]), reading, left_out)

    @property
    def chosen(self) -> AttackerOutcome:
        """The headline attacker."""
        return self.outcomes[self.headline]

    @property
    def qualified(self) -> dict[str, AttackerOutcome]:
        """The attackers without a fault."""
        return {name: outcome for name, outcome in self.outcomes.items() if not outcome.faults}

    @property
    def basis(self) -> RiskBasis | None:
        """The basis of the risk: a control, else the true matches; None if neither can be used."""
        if self.reading.false_rate is not None:
            return "control"
        known = any(best_candidate(outcome.measured) is not None for outcome in self.outcomes.values())
        return "true_matches" if known else None

    @cached_property
    def counted(self) -> dict[str, Measurement]:
        """The attackers that count: without a fault, and with a figure on the basis of the risk."""
        able = {name: item.measured for name, item in (self.qualified or self.outcomes).items()}
        if self.basis == "control":
            return {name: item for name, item in able.items() if item.has_control}
        return {name: item for name, item in able.items() if self.basis is None or best_candidate(item) is not None}

    @property
    def not_read(self) -> list[str]:
        """Attackers without a fault that have no figure on the basis of the risk, and so do not count."""
        return [name for name in self.qualified if name not in self.counted]

    @property
    def picked_among(self) -> int:
        """The number of attackers that the headline was picked from by risk; 1 if none was picked, or none counts."""
        counted = len(self.counted) + len(self.screened)
        return max(1, counted) if self.basis is not None and self.qualified else 1

    @property
    def confidence(self) -> float:
        """The confidence of the headline's intervals, corrected for the pick."""
        return 1 - (1 - CONFIDENCE) / self.picked_among

    def risk_of(self, name: str) -> Risk | None:
        """The risk of one attacker, whether it counts or not, with the interval corrected for the pick."""
        measured = self.outcomes[name].measured
        rate = self.reading.false_rate
        if rate is not None:
            if not measured.has_control:
                return None
            return risk_by_control(name, measured, rate, self.confidence, self.picked_among)
        return risk_by_matches(name, measured, self.confidence, self.picked_among)

    @cached_property
    def risks(self) -> dict[str, Risk]:
        """The risks of the attackers that count."""
        found = {name: self.risk_of(name) for name in self.counted}
        return {name: risk for name, risk in found.items() if risk is not None}

    @property
    def risk(self) -> Risk | None:
        """The risk of the release: that of the strongest attacker. None if it cannot be estimated."""
        return self.risks.get(self.headline)

    @cached_property
    def certain(self) -> Risk | None:
        """The risk of people who are linked for certain although the headline's interval includes 0; else None."""
        risk, rate = self.risk, self.reading.false_rate
        if risk is None or rate is None or risk.low is None or risk.low > 0:
            return None
        return certain_risk(self.counted, self.headline, rate, self.picked_among)

    @cached_property
    def best_candidate(self) -> BestCandidate | None:
        """The highest top-1 hit rate over attackers, with its interval corrected for the pick."""
        able = self.qualified or self.outcomes
        hits = {name: best_candidate(item.measured) for name, item in able.items()}
        known = {name: rate for name, rate in hits.items() if rate is not None}
        if not known:
            return None
        name = max(known, key=lambda key: round_for_comparison(known[key]))
        among = len(known) + len(self.screened)
        found = able[name].measured.top1_interval_at(1 - (1 - CONFIDENCE) / among) or Estimate(known[name])
        return BestCandidate.of(found, attacker=name, among=among)

    @property
    def picked(self) -> out.Picked | None:
        """The pick as the result states it; None if there was none."""
        if self.picked_among == 1:
            return None
        return out.Picked(among=self.picked_among, confidence=self.confidence, screened=list(self.screened))

    @property
    def with_too_many_labels(self) -> dict[str, list[str]]:
        """The columns whose labels are too many for a feature each, with the attackers that would have had them."""
        found: dict[str, list[str]] = {}
        for name, outcome in self.outcomes.items():
            done = outcome.measured.attack
            if name != COMBINED and not done.attacker.compares_values:
                for column in done.representation.space.with_too_many_labels:
                    found.setdefault(column, []).append(name)
        return found

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why no figure can be read as risk: all attackers' faults if each has one; otherwise empty."""
        if self.qualified:
            return ()
        if len(self.outcomes) == 1:
            return self.chosen.faults
        return tuple(f"{fault} ({_attackers_in_words(names)})" for fault, names in self._by_fault().items())

    @property
    def disqualified(self) -> tuple[str, ...]:
        """Sentences on the attackers that do not count, one for each fault."""
        return tuple(f"not counted: {_attackers_in_words(names)}; {fault}" for fault, names in self._by_fault().items())

    def _by_fault(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, outcome in self.outcomes.items():
            for fault in outcome.faults:
                found.setdefault(fault, []).append(name)
        # The most common fault comes first.
        return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))


def _attackers_in_words(names: list[str]) -> str:
    if len(names) > _MANY:
        return f"{len(names)} attackers"
    return ("attacker " if len(names) == 1 else "attackers ") + ", ".join(f"'{name}'" for name in names)


def run_attackers(
    resolved: ResolvedConfig,
    inputs: Inputs,
    progress: ProgressCallback,
    *,
    combining: bool = False,
    intervals: bool = True,
    shared: SharedWork | None = None,
) -> EnsembleOutcome:
    """Run every attacker of the plan that can be run, and choose the headline.

    With `combining`, the evidence of the whole family's members is joined too, and counts as one more attacker. Without
    `intervals`, the figures of each attacker have none. `shared` has searches that were done before, if any.
    """
    control = inputs.pair.control
    running = resolved.able(0 if control is None else control.rows, inputs.pair)
    released, attackers = inputs.pair.protected.rows, list(running.values())
    shared, outcomes = shared or SharedWork(), {}
    planted = None
    if resolved.runs_canaries:
        seed, groups = resolved.config.seed, inputs.evaluation.groups.codes
        planted = CanaryReleases(inputs.pair, seed, resolved.budget, groups)
    # Canaries need nothing but an attacker and its threshold, so they are audited beside the attacks.
    audited: dict[str, Callable[[], CanaryOutcome]] = {}
    with BackgroundWorker(resolved.budget.workers) as background:
        for number, (name, attacker) in enumerate(running.items(), start=1):
            label = labelled(name, running)
            checked = SAMPLE if len(running) == 1 and not resolved.quick else SCREENED
            outcome = run_attacker(
                attacker, resolved, inputs, progress, label=label, shared=shared, checked=checked, intervals=intervals
            )
            outcomes[name], later = outcome, attackers[number:]
            if planted is not None and outcome.measured.attack.representation.maps_others:
                audit = partial(planted.audit_with, attacker, outcome.measured.threshold, later)
                audited[name] = background.start(audit)
            if len(running) > 1:
                shared.keep_for(WorkKeys.of(item, resolved.max_queries(item, released)) for item in later)
        for number, (name, result) in enumerate(audited.items()):
            progress(Phase.CANARIES, number / len(audited))
            outcomes[name] = replace(outcomes[name], canaries=result())
    left_out = tuple(
        name for name, attacker in resolved.attackers.items() if attacker.needs_reference and name not in running
    )
    if combining and resolved.is_whole_family:
        progress(Phase.COMBINING, None)
        joined = combine(outcomes, resolved, inputs)
        if joined is not None:
            outcomes[COMBINED] = joined
    found = EnsembleOutcome.of(outcomes, left_out)
    while not (found.chosen.fully_checked or resolved.quick):
        progress(Phase.HEADLINE, None)
        outcomes[found.headline] = replace(found.chosen, **_checks(found.chosen.measured, SAMPLE))
        found = EnsembleOutcome.of(outcomes, left_out)
    return found


def run_attacker(
    attacker: Attacker,
    resolved: ResolvedConfig,
    inputs: Inputs,
    progress: ProgressCallback,
    *,
    label: str = "",
    shared: SharedWork | None = None,
    checked: int = SAMPLE,
    intervals: bool = True,
) -> AttackerOutcome:
    """Run one attacker, measure it, and check it for faults.

    It uses the `shared` work of attackers that ran before it, and adds to it. `checked` originals are searched in a
    perturbed copy.
    """
    progress(f"{Phase.SEARCHING}{label}", 0.0)
    done = attack(
        inputs.pair,
        attacker,
        seed=resolved.config.seed,
        budget=resolved.budget,
        levers=resolved.levers,
        most=resolved.max_queries(attacker, inputs.pair.protected.rows),
        progress=lambda share: progress(f"{Phase.SEARCHING}{label}", share),
        shared=shared,
        draw=people_draw(inputs.evaluation.groups.codes),
    )
    control = done.search_control(lambda share: progress(f"{Phase.CONTROL}{label}", share))
    progress(f"{Phase.EVALUATING}{label}", None)
    measured = measure(
        done,
        inputs.evaluation.matches,
        control,
        grid=resolved.config.grid.values(),
        method=resolved.config.intervals.method,
        groups=inputs.evaluation.groups.codes,
        intervals=intervals,
    )
    return AttackerOutcome(measured, canaries=None, **_checks(measured, checked))


class _Checks(TypedDict):
    copied: SelfRate | None
    valid: Validity


def _checks(measured: Measurement, most: int) -> _Checks:
    """Check the representation, with at most `most` originals in a perturbed copy."""
    done, truth = measured.attack, measured.truth
    copied = perturbed_self_rate(done, measured.threshold, stream(done.seed, "self-linkage perturbed"), most)
    released = truth.has_match if truth is not None and truth.complete else None
    return {"copied": copied, "valid": validity(done, copied, stream(done.seed, "validity"), released=released)}
