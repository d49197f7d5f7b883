"""One world audited by the package and judged by the oracle: every disagreement in words, without a cell."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from unittest import mock

import cvpl
from combined_comparison import add_combined, watched_combination
from cvpl.assessment import ensemble
from cvpl.config.attackers import FAMILY
from cvpl.operators.alignment import Granularity
from family_worlds import VerdictWorld
from oracle import combined, figures, validity
from oracle.family import MEMBERS, members, run
from oracle.verdict import RATES, Verdict, judge

CLOSE = 1e-9
_FAULTS = {
    "blocking leaves": "blocking",
    "most vectors are zero": "zero vectors",
    "the release is dead": "release is dead",
    "perturbed copy": "perturbed copy",
    "is shifted": "shifted",
    "in the originals themselves": "identity canary",
    "release of independent columns": "independent canary",
}


@dataclass
class Outcome:
    """The kind of the verdict, the headline attacker, and what differs."""

    kind: str
    headline: str
    gate_met: bool
    certain: bool
    combined: bool = False
    by_chance: bool = False
    figures: int = 0
    differs: list[str] = field(default_factory=list)

    def check(self, what: str, mine, theirs) -> None:
        """Note a difference between the package's value and the oracle's."""
        self.figures += 1
        if not _same(mine, theirs):
            self.differs.append(f"{what}: package {mine}, oracle {theirs}")


def _only_ends(grain) -> bool:
    """Whether a column is taken to be cut off at an end, and no more."""
    said = {part.name for part in fields(grain) if getattr(grain, part.name) is not None}
    return bool(said) and said <= {"least", "most"}


def compare(world: VerdictWorld) -> Outcome:
    """Audit and judge one world."""
    original, protected, control = world.frames
    seen: list = []

    def watched(*given, **more):
        seen.append(real(*given, **more))
        return seen[-1]

    real = ensemble.attack
    known = {name: settings for name, settings in FAMILY.items() if name in MEMBERS}
    judged = mock.patch.dict(FAMILY, known, clear=True)  # the oracle has no members by ranks, lines and single values
    with (
        judged,
        mock.patch.object(ensemble, "attack", watched),
        watched_combination(world.fewest_combined) as combination,
    ):
        result = cvpl.audit(original, protected, world.config, control=control, fail_above=world.limit)
    outcome = Outcome(result.verdict.kind, result.attacker, result.policy.met, result.certain is not None)
    found = next(attack.form.grains for attack in seen if isinstance(attack.form, Granularity))
    more = [grain for name, grain in found.items() if name not in world.ranges]
    if more and set(found) > set(world.ranges) and (world.release == "equal records" or all(map(_only_ends, more))):
        # The few values beside those of a repeated record are on a grid by chance, or several of the largest values
        # are equal and the original has larger ones, as if it had been cut off there: not compared.
        outcome.by_chance = True
        return outcome
    outcome.check("aligned columns", sorted(found), sorted(world.ranges))
    if outcome.differs:
        return outcome
    reference = _drawn(world, seen)
    ran = run_members(world, world.protected, reference)
    planted = run_members(world, world.original, reference) if world.canaries else []
    canaries = {member.name: validity.identity_canary(member) for member in planted}
    names, left_out = members(
        0 if world.control is None else len(next(iter(world.control.values()))), bool(world.ranges)
    )
    rows = {row.name: row for row in result.attackers}
    outcome.check("attackers", [name for name in rows if name != combined.NAME], names)
    faults = {}
    for member, attack in zip(ran, seen, strict=True):
        _compare_scores(outcome, member, attack, world)
        row = rows[member.name]
        given = _named(row.disqualified)
        if world.canaries:
            identity = row.canaries.identity
            outcome.check(f"{member.name}: identity canary", identity.top1_hit_rate, canaries[member.name][0])
            outcome.check(f"{member.name}: attainable top-1", identity.attainable_top1, canaries[member.name][1])
        faults[member.name] = _faults(member, row, world, given, canaries.get(member.name))
        outcome.check(f"{member.name}: faults", given, faults[member.name])
    asked = {
        member.name: (_places(attack.held, world.original), _places(attack.held_control, world.control))
        for member, attack in zip(ran, seen, strict=True)
        if member.controls is not None
    }
    add_combined(outcome, ran, faults, asked, rows.get(combined.NAME), combination, planted, world)
    released = len(next(iter(world.protected.values())))
    findings = [(item.check, item.closes_gate, item.count) for item in result.preflight]
    theirs = judge(ran, world.truth, released, left_out, faults, findings, world.limit)
    for member in ran:
        _compare_member(outcome, rows[member.name], member, theirs, world)
    _compare_verdict(outcome, result, theirs)
    return outcome


def _compare_scores(outcome: Outcome, member, attack, world: VerdictWorld) -> None:
    """Compare every score of the originals and of the control."""
    found = {"originals": attack.scores}
    places = {"originals": _places(attack.held, world.original)}
    own = {"originals": member.scores}
    if member.controls is not None:
        found["controls"] = attack.evidence("control", attack.search_control())
        left = _places(attack.held_control, world.control)
        places["controls"] = [sorted(left).index(row) for row in left]
        own["controls"] = member.controls
    for table, scores in found.items():
        far = 0
        outcome.figures += len(scores)
        for score, row in zip(scores.tolist(), places[table], strict=True):
            mine = None if math.isinf(score) else score
            far += not _same(mine, own[table][row])
        if far:
            outcome.differs.append(f"{member.name}: {far} of {len(scores)} scores of {table}")


def _drawn(world: VerdictWorld, seen: list) -> list[int]:
    """The rows of the control that the package drew as reference people."""
    split = next((attack for attack in seen if attack.reference is not None), None)
    if world.control is None or split is None:
        return []
    left = set(_places(split.held_control, world.control))
    return [row for row in range(len(next(iter(world.control.values())))) if row not in left]


def _places(table, values: dict[str, list]) -> list[int]:
    """For each record of the package's table, its row in the lists; equal records are interchangeable."""
    rows: dict[tuple, list[int]] = {}
    for row, record in enumerate(zip(*values.values(), strict=True)):
        rows.setdefault(record, []).append(row)
    return [rows[record].pop() for record in zip(*(_cells(table.columns[name]) for name in values), strict=True)]


def _cells(column) -> list:
    """The values of a column without ranges, None where one is missing."""
    known = column.known()
    if hasattr(column, "labels"):
        return [column.labels[code] if ok else None for code, ok in zip(column.codes, known, strict=True)]
    keys = column.keys(plain=True)
    if keys.dtype.kind == "f":
        return [float(key) if ok else None for key, ok in zip(keys, known, strict=True)]
    return [time.item() if ok else None for time, ok in zip(column.first, known, strict=True)]


def run_members(world: VerdictWorld, released: dict[str, list], reference: list[int]) -> list:
    """The oracle's family against a release."""
    return run(
        world.original,
        released,
        world.columns,
        world.schemes,
        control=world.control,
        reference=reference,
        aligned=world.aligned if released is world.protected else None,
        cells=bool(world.ranges),
    )


def _faults(member, row, world: VerdictWorld, given: list[str], identity: tuple | None) -> list[str]:
    """The oracle's faults; whether people are found in a copy that the package perturbed is the package's."""
    named = validity.faults(member, world.truth)
    if "perturbed copy" in given:
        named.append("perturbed copy")
    if identity is not None:
        independent = row.canaries.independent
        named += validity.canary_faults(member, identity, (independent.low, independent.high))
    return sorted(named)


def _named(reasons: list[str]) -> list[str]:
    return sorted(name for reason in reasons for part, name in _FAULTS.items() if part in reason)


def _compare_member(outcome: Outcome, row, member, theirs: Verdict, world: VerdictWorld) -> None:
    name = member.name
    outcome.check(f"{name}: top-1", row.top1_hit_rate, theirs.top1[name])
    if member.controls is None:
        if not member.off_scale:
            rate = figures.linkage_rate(member.found, 0.9)
            outcome.check(f"{name}: linkage rate", row.linkage_rate.estimate, rate)
    else:
        power = {item.false_rate: item.power for item in row.power}
        for rate in RATES:
            outcome.check(f"{name}: power at {rate:.0%}", power[rate], theirs.power[name][rate])
        rate = theirs.power[name][0.05] if member.off_scale else figures.linkage_rate(member.found, 0.9)
        base = 0.05 if member.off_scale else figures.control_rate(member.found, 0.9)
        outcome.check(f"{name}: linkage rate", row.linkage_rate.estimate, rate)
        outcome.check(f"{name}: control rate", row.control_rate, base)
    risk = theirs.risks.get(name)
    outcome.check(f"{name}: has a risk", row.risk is not None, risk is not None)
    if row.risk is not None and risk is not None:
        _compare_risk(outcome, name, row.risk, risk)


def _compare_risk(outcome: Outcome, name: str, mine, theirs) -> None:
    outcome.check(f"{name}: risk", mine.estimate, theirs.estimate)
    outcome.check(f"{name}: false-positive rate", mine.false_rate, theirs.false_rate)
    low, high = theirs.ends or (None, None)
    outcome.check(f"{name}: lower end", mine.low, low)
    outcome.check(f"{name}: upper end", mine.high, high)


def _compare_verdict(outcome: Outcome, result, theirs: Verdict) -> None:
    outcome.check("headline", result.attacker, theirs.headline)
    outcome.check("attackers picked from", 1 if result.picked is None else result.picked.among, theirs.among)
    outcome.check("basis", None if result.risk is None else result.risk.basis, theirs.basis)
    if result.risk is not None and theirs.headline in theirs.risks:
        _compare_risk(outcome, "headline", result.risk, theirs.bounded(theirs.risks[theirs.headline]))
    outcome.check("certain", result.certain is not None, theirs.certain is not None)
    if result.certain is not None and theirs.certain is not None:
        outcome.check("certain: attacker", result.certain.attacker, theirs.certain.attacker)
        _compare_risk(outcome, "certain", result.certain, theirs.bounded(theirs.certain))
    best = result.best_candidate
    outcome.check("best candidate", best is not None, theirs.best_candidate is not None)
    if best is not None and theirs.best_candidate is not None:
        attacker, rate, ends, among = theirs.best_candidate
        outcome.check("best candidate: attacker", (best.attacker, best.among), (attacker, among))
        outcome.check("best candidate: rate", best.estimate, rate)
        low, high = ends or (None, None)
        outcome.check("best candidate: lower end", best.low, low)
        outcome.check("best candidate: upper end", best.high, high)
    outcome.check("verdict", result.verdict.kind, theirs.kind)
    outcome.check("margin", result.verdict.margin, theirs.margin)
    if theirs.kind in ("linkable", "indistinguishable_from_zero"):
        words = re.sub(r"'[^']*'", "", result.verdict.sentence)
        numbers = [int(part.replace(",", "")) for part in re.findall(r"\d[\d,]*", words)]
        outcome.check("numbers in the sentence", numbers, theirs.numbers)
    outcome.check("gate: value", result.policy.value, theirs.gate_value)
    outcome.check("gate: met", result.policy.met, theirs.gate_met)


def _same(mine, theirs) -> bool:
    if isinstance(mine, float) and isinstance(theirs, (int, float)):
        return abs(mine - theirs) <= CLOSE
    return mine == theirs
