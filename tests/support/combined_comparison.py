"""The attacker `combined` of one world, held to the oracle: its members, its people, every score, and its canaries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from unittest import mock

from cvpl.assessment import combined as package
from cvpl.assessment import ensemble
from oracle import combined, figures, validity
from oracle.verdict import by_control, settle

CLOSE = 1e-9


@dataclass
class Combination:
    """What the package joined: the members' outcomes, and the combined one; None if nothing was joined."""

    members: dict | None = None
    found: object | None = None


@contextmanager
def watched_combination(fewest: int) -> Iterator[Combination]:
    """Note what the package combines, with `fewest` originals and controls as the smallest number."""
    seen, real = Combination(), ensemble.combine

    def combine(outcomes, *given):
        seen.members, seen.found = dict(outcomes), real(outcomes, *given)
        return seen.found

    with mock.patch.object(ensemble, "combine", combine), mock.patch.object(package, "FEWEST_PEOPLE", fewest):
        yield seen


def add_combined(outcome, ran, faults, asked, row, combination, planted, world) -> None:
    """Compare the combined attacker, and add the oracle's to the members that ran and to their faults.

    `row` is its row in the result, `planted` the oracle's members on the identity canary.
    """
    theirs = combined.combine(ran, faults, asked, world.seed, world.fewest_combined)
    outcome.combined = theirs is not None
    outcome.check("combined runs", (combination.found is not None, row is not None), (outcome.combined,) * 2)
    if theirs is None or row is None:
        return
    member, first, names = theirs
    outcome.check("combined: members", row.settings["combines"], names)
    outcome.check("combined: candidates of", row.settings["candidates_of"], first)
    outcome.check("combined: asked", row.asked, len(member.scores))
    _compare_scores(outcome, combination.found.measured.attack.joined, member)
    faults[member.name] = []
    outcome.check("combined: has canaries", row.canaries is not None, bool(planted))
    if planted and row.canaries is not None:
        own = [item for item in planted if item.name in names]
        scores = combined.joined(own, asked, world.seed, "combined canary 0")
        _compare_canary(outcome, "identity", row.canaries.identity, scores)
        identity = validity.identity_canary(next(item for item in own if item.name == first))
        given = row.canaries.identity.top1_hit_rate, row.canaries.identity.attainable_top1
        for what, mine, other in zip(("top-1", "attainable top-1"), given, identity, strict=True):
            outcome.check(f"combined: identity canary: {what}", mine, other)
        drawn, people = _independent({name: combination.members[name] for name in names})
        scores = combined.joined(drawn, people, world.seed, "combined canary 1")
        ends = _compare_canary(outcome, "independent", row.canaries.independent, scores)
        faults[member.name] = validity.canary_faults(member, identity, ends)
    given = ["independent canary" for reason in row.disqualified if "release of independent columns" in reason]
    outcome.check("combined: faults", (given, len(row.disqualified)), (faults[member.name], len(given)))
    ran.append(member)


def _compare_scores(outcome, mine, member) -> None:
    """Compare the joined score of every original and of every control; both are in the order of their content."""
    for table, scores, theirs in zip(("originals", "controls"), mine, (member.scores, member.controls), strict=True):
        outcome.figures += len(scores)
        if len(scores) != len(theirs):
            outcome.differs.append(f"combined: {len(scores)} {table}, oracle {len(theirs)}")
            continue
        far = sum(abs(score - other) > CLOSE for score, other in zip(scores.tolist(), theirs, strict=True))
        if far:
            outcome.differs.append(f"combined: {far} of {len(scores)} scores of {table}")


def _compare_canary(outcome, which, canary, scores) -> tuple:
    """Compare the figures of a canary, and return the oracle's ends of its 99.9% interval."""
    both = settle(list(scores))
    points = figures.roc(*both)
    risk = by_control(combined.NAME, both, points, 0.05, 0.999)
    ends = risk.ends or (None, None)
    theirs = {"asked": len(scores[0]), "power": figures.height(points, 0.05), "attributable_rate": risk.estimate}
    theirs |= {"low": ends[0], "high": ends[1]}
    for name, value in theirs.items():
        outcome.check(f"combined: {which} canary: {name}", getattr(canary, name), value)
    return ends


def _independent(outcomes: dict) -> tuple[list, dict]:
    """The evidence of the package's members on the independent canary, which is drawn, and whom they asked."""
    members, asked = [], {}
    for name, outcome in outcomes.items():
        scores = outcome.canaries.scores[1]
        sides = scores.originals.tolist(), scores.controls.tolist()
        own, base = ([None if math.isinf(score) else score for score in side] for side in sides)
        members.append(SimpleNamespace(name=name, scores=own, controls=base))
        asked[name] = scores.people.tolist(), scores.control_rows.tolist()
    return members, asked
