"""Canaries: two releases with a known answer, audited by the same attacker in the same run.

identity      the originals themselves, unchanged. An attacker that fails here fails everywhere: the top-1 hit rate
              must reach distinct feature rows / n, the maximum with equal records, within 0.01 (among people without
              a missing value).
independent   every column sampled on its own from originals and control pooled: nobody is in it, and it is equally
              close to originals and control. An attacker that links originals more often here is wrong: the
              attributable rate's 99.9% interval must meet [-0.02, 0.02]. Without a control it only marks the scale.

They are the two ends of the scale for the attacker's figure. At most 625 originals and 625 controls are searched: a
share of 625 people has a standard error of at most 2 points. A canary has at most 100,000 records; of more originals,
the identity canary is a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.estimates import FALSE_RATE, FALSE_RATES, Estimate
from cvpl.evaluation.groups.clusters import people_draw
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import Uncertainty, attributable_from_power
from cvpl.evaluation.rates import AttackRates, attack_rates
from cvpl.operators.blocking import Key, scheme_codes
from cvpl.operators.threshold import DEFAULT
from cvpl.randomness import stream
from cvpl.result import Canaries, Canary
from cvpl.search.best import TIE
from cvpl.search.blocks import share_block
from cvpl.search.machine import Budget
from cvpl.tables.columns import Pair, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_Planted = tuple[Pair, Mapping[str, Ints] | None]
"""A canary, and the clusters of its originals and controls."""

MOST_SEARCHED = 625
"""The most originals, and the most controls, that are searched: 0.5 / sqrt(625) = 0.02."""
RELEASED = 100_000
"""The most records of a canary; an independent release otherwise has as many as the release."""
SHORTFALL = 0.01
"""The identity canary's top-1 may be this much below the maximum with equal records."""
SHORTFALL_OF_RANKS = 0.5
"""The top-1 of ranks may be below by this share of the maximum: ranks among originals and controls are not quite those
among originals."""
FEWEST_JUDGED = 20
"""The fewest people without a missing value for which the identity canary is judged."""
NOTHING = 0.02
"""The largest accepted distance from 0 of an independent release's attributable rate."""
CONFIDENCE = 0.999


@dataclass(frozen=True, eq=False)
class CanaryScores:
    """The evidence of one attacker on a canary: of the originals `people` and of the rows `control_rows`."""

    people: Ints
    control_rows: Ints
    originals: Floats
    controls: Floats
    spread: Uncertainty


@dataclass(frozen=True)
class CanaryOutcome:
    """Both canaries of one attacker, and why it is disqualified, if it is.

    `scores` is its evidence on each, None without a control.
    """

    figures: Canaries
    identity_fault: str | None
    scores: tuple[CanaryScores, CanaryScores] | None = field(default=None, repr=False, compare=False)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults. The independent canary fails if the interval of its attributable rate is too far from 0."""
        found = () if self.identity_fault is None else (self.identity_fault,)
        low, high = self.figures.independent.low, self.figures.independent.high
        if low is None or high is None or (low <= NOTHING and high >= -NOTHING):
            return found
        fault = "in a release of independent columns, which contains nobody, it reads an attributable rate other than 0"
        return (*found, fault)


class CanaryReleases:
    """Both canaries of one audit, made once for all attackers, which share the work on them.

    `groups` has the cluster of every original and control, if several rows belong together: samples, the reference and
    intervals go by clusters.
    """

    def __init__(self, pair: Pair, seed: int, budget: Budget, groups: Mapping[str, Ints] | None = None) -> None:
        self._original, self._control, self._groups = pair.original, pair.control, groups
        self._released = min(pair.protected.rows, RELEASED)
        self._seed, self._budget = seed, budget
        self._shared = SharedWork(), SharedWork()

    @cached_property
    def _identity(self) -> _Planted:
        own, groups = self._original, self._groups
        if own.rows > RELEASED:
            everybody = np.arange(own.rows, dtype=np.int64)
            rows = people_draw(groups).sample("original", everybody, RELEASED, stream(self._seed, "identity canary"))
            own = own.kept(rows)
            groups = None if groups is None else {**groups, "original": groups["original"][rows]}
        return Pair(own, Table("protected", own.rows, own.specs, own.columns, own.place), self._control), groups

    @cached_property
    def _independent(self) -> _Planted:
        rng = stream(self._seed, "independent columns")
        drawn = independent_columns(self._original, self._control, self._released, rng)
        return Pair(self._original, drawn, self._control), self._groups

    def audit_with(self, attacker: Attacker, threshold: float | None, later: Iterable[Attacker] = ()) -> CanaryOutcome:
        """Audit both canaries as `attacker` would audit the release, with its rates at the same threshold.

        `threshold` is None off the scale, and if a calibrated one was not attainable; then the default one is used.
        Work that none of the attackers in `later` needs is dropped. Errors in what it knows are left out: a canary
        tests the attack, not the knowledge.
        """
        certain = _attacker_without_errors(attacker)
        read_at = float(DEFAULT) if threshold is None else threshold
        planted = self._identity, self._independent
        own, nobody = (
            attack(
                pair,
                certain,
                seed=self._seed,
                budget=self._budget,
                most=MOST_SEARCHED,
                shared=shared,
                draw=people_draw(groups),
            )
            for (pair, groups), shared in zip(planted, self._shared, strict=True)
        )
        scores = _scores(own, planted[0][1]), _scores(nobody, planted[1][1])
        kept = None if scores[0] is None or scores[1] is None else (scores[0], scores[1])
        identity, fault = _identity(own, scores[0], read_at)
        figures = Canaries(identity=identity, independent=_canary_figures(nobody, scores[1], read_at))
        found = CanaryOutcome(figures, fault, kept)
        keys = [WorkKeys.of(_attacker_without_errors(item), MOST_SEARCHED) for item in later]
        for shared in self._shared:
            shared.keep_for(keys)
        return found


def _attacker_without_errors(attacker: Attacker) -> Attacker:
    return attacker.model_copy(update={"errors": 0.0}) if attacker.errors else attacker


def independent_columns(original: Table, control: Table | None, rows: int, rng: np.random.Generator) -> Table:
    """A release with every column sampled on its own from the originals' and the control's values."""
    columns = {}
    for spec in original.specs:
        own = original.columns[spec.name]
        pooled = own if control is None else own.joined(control.columns[spec.name])
        columns[spec.name] = pooled.take(rng.integers(len(pooled.known()), size=rows))
    return Table("protected", rows, original.specs, columns)


def _identity(done: Attack, scores: CanaryScores | None, threshold: float) -> tuple[Canary, str | None]:
    """Check that people are found in their own table; return the fault, if there is one."""
    asked = np.arange(done.original.rows)
    own = done.scorer.pairs(asked, done.people)
    in_block = share_block(done.partitions, asked, done.people)
    hits = np.where(in_block & (own >= done.found.best - TIE), 1 / np.maximum(done.found.ties, 1), 0.0)
    # A missing value may agree with anything or nothing: only people without one are certainly distinguishable.
    compared = done.attacker.vectorization.compared(done.original)
    whole = np.all([done.original.columns[name].known() for name in compared], axis=0)
    judged = int(whole.sum()) >= FEWEST_JUDGED
    whole = whole if judged else np.ones(len(asked), dtype=bool)
    top1, attainable = float(hits[whole].mean()), float(_largest_possible_top1(done)[whole].mean())
    fault = None
    ranks = done.attacker.alignment == "ranks"
    if judged and top1 < attainable - (SHORTFALL_OF_RANKS * attainable if ranks else SHORTFALL):
        fault = "it finds fewer people in the originals themselves than can be distinguished"
    found = _canary_figures(done, scores, threshold)
    return found.model_copy(update={"top1_hit_rate": top1, "attainable_top1": attainable}), fault


def _scores(done: Attack, groups: Mapping[str, Ints] | None) -> CanaryScores | None:
    """The evidence of an attack on a canary; None without a control."""
    control = done.search_control()
    if control is None:
        return None
    base = done.evidence("control", control)
    spread = Uncertainty.of(done, control, base, "control", groups=groups, confidence=CONFIDENCE)
    return CanaryScores(done.people, done.control_rows, done.scores, base, spread)


def _canary_figures(done: Attack, scores: CanaryScores | None, threshold: float) -> Canary:
    """The figures of a canary at the attacker's threshold, or at a 5% false-positive rate for a score off the scale."""
    on_scale = done.attacker.on_scale
    base = None if scores is None else scores.controls
    rates = attack_rates(done.scores, base, threshold if on_scale else None, on_scale=on_scale)
    ends = None if scores is None else _ends(scores.spread, threshold if on_scale else None)
    return _canary(done.original.rows, rates, ends)


def _ends(spread: Uncertainty, threshold: float | None) -> Estimate | None:
    """The interval of the attributable rate at a threshold, or at a 5% false-positive rate."""
    if threshold is not None:
        found = spread.attributable([threshold])
        return None if found is None else found[0]
    powers = spread.powers(FALSE_RATES)
    return None if powers is None else attributable_from_power(powers[FALSE_RATES.index(FALSE_RATE)], FALSE_RATE)


def _canary(asked: int, rates: AttackRates, ends: Estimate | None) -> Canary:
    return Canary(
        asked=asked,
        linkage_rate=rates.rate,
        control_rate=rates.base_rate,
        attributable_rate=rates.attributable,
        low=None if ends is None else ends.low,
        high=None if ends is None else ends.high,
        power=rates.power,
        top1_hit_rate=None,
        attainable_top1=None,
    )


def joined_canaries(found: CanaryOutcome, joined: Sequence[tuple[CanaryScores, Floats, Floats]]) -> CanaryOutcome:
    """The canaries of a combination: the joined evidence on both, and the candidates of the member `found` belongs to.

    `joined` has for each canary the scores of one member, whose people they are, and the joined scores of originals and
    controls. The independent canary judges the combination itself; the identity canary its candidates, which are the
    member's.
    """
    read = []
    for scores, originals, controls in joined:
        base = scores.spread.base
        assert base is not None  # noqa: S101 - scores are kept only with a control
        spread = replace(
            scores.spread,
            originals=Sample(originals, scores.spread.originals.cluster, scores.spread.originals.kind),
            base=Sample(controls, base.cluster, base.kind),
        )
        rates = attack_rates(originals, controls, None, on_scale=False)
        read.append(_canary(len(originals), rates, _ends(spread, None)))
    own = found.figures.identity
    candidates = {"top1_hit_rate": own.top1_hit_rate, "attainable_top1": own.attainable_top1}
    figures = Canaries(identity=read[0].model_copy(update=candidates), independent=read[1])
    return CanaryOutcome(figures, found.identity_fault)


def _largest_possible_top1(done: Attack) -> NDArray[np.float64]:
    """For each person searched, one over the number of originals with the same features: the largest possible top-1."""
    if done.attacker.compares_values:
        compared = done.attacker.vectorization.compared(done.protected)
        (numbers,) = scheme_codes(tuple(Key(column=name) for name in compared), [done.protected])
    else:
        space = done.representation.space
        planes = stream(done.seed, "feature rows").normal(size=(space.width, 2))
        marks = np.round(done.representation.vectors(done.protected).project(planes, space.neutral), 9) + 0.0
        numbers = np.unique(marks.view(np.complex128).ravel(), return_inverse=True)[1]
    numbers = np.unique(numbers, return_inverse=True)[1]
    counts = np.bincount(numbers)
    return np.asarray(1 / counts[numbers[done.people]])
