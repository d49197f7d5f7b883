"""The combined attacker: the evidence of the members that count, joined into one score.

It runs after the members, and takes its candidates from the strongest of them that compares everybody; if that member
asked more people than the others, it asks again the people whom all members asked. So its top-1 hit rate, its validity
and its identity canary are that member's. Its evidence, power and independent canary are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.attacker_outcome import AttackerOutcome
from cvpl.assessment.diagnostics.canaries import CanaryOutcome, CanaryScores, joined_canaries
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.combined_attack import CombinedAttack
from cvpl.config.resolved import ResolvedConfig
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.combined_evidence import assign_folds, cross_fitted
from cvpl.evaluation.measurement import Measurement, measure
from cvpl.randomness import stream
from cvpl.search.best import BestCandidates
from cvpl.tables.columns import Pair
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Some = TypeVar("Some")

COMBINED = "combined"
"""The name of the attacker."""
FEWEST_MEMBERS = 3
FEWEST_PEOPLE = 200
"""With fewer originals or controls, the weights of the members are mostly chance."""


def combine(
    outcomes: Mapping[str, AttackerOutcome], resolved: ResolvedConfig, inputs: Inputs
) -> AttackerOutcome | None:
    """The outcome of the members' joined evidence; None with fewer than three members, or too few people.

    Members that do not count, and those without a control, are left out. So are those that fit
    principal components: beside members without them they would tell who was in the fit, the originals.
    """
    able = {
        name: item
        for name, item in outcomes.items()
        if not item.faults and item.measured.has_control and not _fits_components(item.measured.attack.attacker)
    }
    if len(able) < FEWEST_MEMBERS:
        return None
    people = _common(able, lambda item: item.measured.attack.people)
    controls = _common(able, lambda item: item.measured.attack.control_rows)
    first = strongest_member(able)
    if first is None or min(len(people), len(controls)) < FEWEST_PEOPLE:
        return None
    seed, groups = resolved.config.seed, inputs.evaluation.unit.codes
    units = None if groups is None else (groups["original"][people], groups["control"][controls])
    scores = _joined(
        [_of_people(item.measured, people, controls) for item in able.values()], units, stream(seed, "combined")
    )
    member, control = _of_common(able[first].measured, inputs.pair, people, controls)
    done = CombinedAttack.of(member, scores, tuple(able), first)
    joined = measure(
        done,
        inputs.evaluation.matches,
        control,
        grid=resolved.config.grid.values(),
        method=resolved.config.intervals.method,
        groups=groups,
    )
    canaries = combined_canaries({name: item.canaries for name, item in able.items()}, first, seed)
    return AttackerOutcome(joined, able[first].copied, able[first].valid, canaries)


def _fits_components(attacker: Attacker) -> bool:
    return attacker.projects and attacker.projection_operator.principal is not None


def strongest_member(able: Mapping[str, AttackerOutcome]) -> str | None:
    """The strongest member without blocking; None if there is none."""
    found = {
        name: item.power_at(FALSE_RATE)
        for name, item in able.items()
        if item.measured.attack.attacker.blocking.compares_everybody
    }
    return max(found, key=lambda name: found[name], default=None)


def _of_common(measured: Measurement, pair: Pair, people: Ints, controls: Ints) -> tuple[Attack, BestCandidates | None]:
    """The attack of a member on these originals and controls; it is run again if it asked more.

    The samples of members are nested, so a smaller one is drawn again. Members that need reference people ask the other
    half of the control; a member that needs none asks the same half now.
    """
    done = measured.attack
    if np.array_equal(done.people, people) and np.array_equal(done.control_rows, controls):
        return done, measured.control
    draw = done.draw
    if not done.attacker.needs_reference:
        assert pair.control is not None  # noqa: S101 - only members with a control are combined
        pair = replace(pair, control=pair.control.kept(controls))
        draw = draw.of_rows("control", controls)
    most = max(len(people), len(controls))
    again = attack(pair, done.attacker, seed=done.seed, budget=done.budget, levers=done.levers, most=most, draw=draw)
    assert np.array_equal(again.people, people)  # noqa: S101 - the samples are nested
    again = replace(again, control_rows=controls)
    return again, again.search_control()


def _common(able: Mapping[str, Some], rows: Callable[[Some], Ints]) -> Ints:
    """The rows that all have, in order."""
    return reduce(partial(np.intersect1d, assume_unique=True), (rows(item) for item in able.values()))


def _of_people(measured: Measurement, people: Ints, controls: Ints) -> tuple[Floats, Floats]:
    """The evidence of a member for these originals and controls."""
    done, base = measured.attack, measured.base_scores
    assert base is not None  # noqa: S101 - only members with a control are combined
    return (
        done.scores[np.searchsorted(done.people, people)],
        base[np.searchsorted(done.control_rows, controls)],
    )


def _joined(
    members: list[tuple[Floats, Floats]], units: tuple[Ints, Ints] | None, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The cross-fitted scores of originals and controls."""
    originals, controls = (np.column_stack(side) for side in zip(*members, strict=True))
    folds = assign_folds(len(originals), len(controls), rng) if units is None else assign_folds(*units, rng)
    return cross_fitted(originals, controls, folds)


def combined_canaries(members: Mapping[str, CanaryOutcome | None], first: str, seed: int) -> CanaryOutcome | None:
    """The same combination on both canaries; None if a member has none, or they asked different people.

    The candidates on the identity canary are those of the member `first`, as on the release.
    """
    known = {name: item for name, item in members.items() if item is not None and item.scores is not None}
    if len(known) < len(members):
        return None
    joined = []
    for number in range(2):
        scores = {name: _canary_scores(item, number) for name, item in known.items()}
        people = _common(scores, lambda item: item.people)
        controls = _common(scores, lambda item: item.control_rows)
        same = [
            name
            for name, item in scores.items()
            if np.array_equal(item.people, people) and np.array_equal(item.control_rows, controls)
        ]
        if not same:
            return None
        evidence = [
            (
                item.originals[np.searchsorted(item.people, people)],
                item.controls[np.searchsorted(item.control_rows, controls)],
            )
            for item in scores.values()
        ]
        asked = scores[first if first in same else same[0]]
        mine, base = _joined(evidence, _units(asked), stream(seed, f"combined canary {number}"))
        joined.append((asked, mine, base))
    return joined_canaries(known[first], joined)


def _units(asked: CanaryScores) -> tuple[Ints, Ints] | None:
    """The units of the people whom a canary asked; None if each row is one."""
    mine, base = asked.spread.originals, asked.spread.base
    if not mine.alike or mine.unit is None or base is None or base.unit is None:
        return None
    return mine.unit, base.unit


def _canary_scores(found: CanaryOutcome, number: int) -> CanaryScores:
    assert found.scores is not None  # noqa: S101 - checked by the caller
    return found.scores[number]
