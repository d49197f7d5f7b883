"""The result of a trial from its rounds: every figure rounded so that none tells of fewer than k people.

Who is in: for every cluster and round, whether the mechanism gets its records.

balanced    everybody is in for half of the rounds: two rounds share one random split, and swap its sides
coin        an independent fair coin for every cluster and round, as a lower bound on epsilon needs it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl import result as out
from cvpl.assessment.audit_result import provenance
from cvpl.assessment.decision import closing_reasons, findings_of_draws, warning_sections
from cvpl.estimates import FALSE_RATES
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.trials.people import RATE_BINS, exposure
from cvpl.evaluation.trials.rounds import PowerOverRounds
from cvpl.randomness import stream
from cvpl.result.publishing import Disclosure
from cvpl.result.setting import Assumptions
from cvpl.result.verdict import blind
from cvpl.wording import count_phrase
from cvpl.workflows.draws.mechanism import ReleaseNotMade
from cvpl.workflows.draws.strongest import draw_policies
from cvpl.workflows.trial.budget import StatedBudget, budget_section
from cvpl.workflows.trial.readings import (
    Rounds,
    Strongest,
    find_strongest,
    linked_people,
    planted_power,
    power_of,
    reading_rate,
    round_powers,
)
from cvpl.workflows.trial.rounds import Trial

CURVE = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The false-positive rates of a round's curve; from 0 on the curve is linear."""


@dataclass(frozen=True, eq=False)
class FinishedTrial:
    """A trial whose rounds have ended: those that finished, the failures of the others, and how it was set up."""

    trial: Trial
    rounds: Rounds
    failures: Mapping[int, ReleaseNotMade]
    membership: Membership
    described: out.Input
    budget: StatedBudget | None
    assumptions: Assumptions | None


def assemble(finished: FinishedTrial) -> tuple[out.TrialResult, Strongest]:
    """All figures of a trial as they may leave, and the strongest attacker."""
    rounds, trial = finished.rounds, finished.trial
    rate = reading_rate(rounds)
    strongest = find_strongest(rounds, rate)
    disclosure = _disclosure(finished)
    headline = strongest.headline
    powers = [] if headline is None else _powers(rounds, headline, strongest.confidence)
    budget = None if finished.budget is None else budget_section(finished.budget, trial, rounds, powers, disclosure)
    findings = sorted(findings_of_draws(item.unseen for item in rounds.found), key=lambda one: not one.closes_gate)
    found = out.TrialResult(
        inputs={"original": finished.described},
        mechanism=trial.mechanism.described,
        people=len(np.unique(rounds.people.cluster[rounds.real])),
        unit="group" if trial.people.grouped else "row",
        membership=finished.membership,
        attacker=headline,
        risk=None if headline is None else _risk(headline, strongest.powers[headline], bounded=blind(findings) is None),
        picked=_headline_pick(strongest),
        power=[item.figures for item in powers],
        rounds=_rounds(finished, headline),
        attackers=_attackers(rounds, strongest),
        spread=None if headline is None else strongest.powers[headline].spread,
        exposure=None if headline is None else _exposure(finished, headline, rate),
        planted=None if headline is None else _planted_figures(finished, headline, strongest),
        budget=budget,
        policies=[],
        preflight=findings,
        assumptions=finished.assumptions,
        warnings=warning_sections(_warnings(finished, strongest, disclosure)),
        provenance=provenance(trial.resolved),
        suppress_below=disclosure.k,
    )
    published = disclosure.published(found)
    # A trial closes no gate.
    written, doubts = trial.resolved.config.policy, tuple(closing_reasons(published.preflight))
    policies = draw_policies(written, published.risk, published.power_at, published.attacker, doubts)
    return published.model_copy(update={"policies": policies}), strongest


def _disclosure(finished: FinishedTrial) -> Disclosure:
    """The rounding by the smallest number of people who are in, and out, in a round, and of rows released."""
    rounds, cluster = finished.rounds, finished.rounds.people.cluster
    sides = {
        name: min(len(np.unique(cluster[rounds.real & (column == side)])) for column in rounds.inside.T)
        for name, side in (("originals", True), ("controls", False))
    }
    k = finished.trial.resolved.config.report.suppress_below
    sizes = {**sides, "protected": min(item.released for item in rounds.found)}
    return Disclosure(1 if k > 1 and min(sides.values()) < 2 * k else k, sizes)


def _powers(rounds: Rounds, headline: str, confidence: float) -> list[PowerOverRounds]:
    return [power_of(rounds, headline, rate, confidence) for rate in FALSE_RATES]


def _risk(headline: str, found: PowerOverRounds, *, bounded: bool) -> out.TrialRisk:
    """The risk; its upper end is 1 if the attackers are blind."""
    risk = found.risk(headline)
    return risk if bounded else risk.model_copy(update={"high": 1.0})


def _headline_pick(strongest: Strongest) -> out.Picked | None:
    among = len(strongest.powers)
    return out.Picked(among=among, confidence=strongest.confidence) if among > 1 else None


def _rounds(finished: FinishedTrial, headline: str | None) -> list[out.TrialRound]:
    """Every round, those that failed among them."""
    rounds, real = finished.rounds, ~finished.trial.people.planted
    curves = [] if headline is None else round_powers(rounds, headline, [*FALSE_RATES, *CURVE])
    listed = []
    for number, inside in enumerate(finished.trial.inside.T):
        found = out.TrialRound(
            number=number + 1, inside=int((inside & real).sum()), outside=int((~inside & real).sum())
        )
        if number in finished.failures:
            failed = finished.failures[number]
            failure = out.RoundFailure(reason=str(failed), exit_code=failed.exit_code, timed_out=failed.timed_out)
            listed.append(found.model_copy(update={"failed": failure}))
            continue
        at = rounds.numbers.index(number)
        shown: dict[str, object] = {"released": rounds.found[at].released}
        if headline is not None:
            values = [
                out.RoundPower(false_rate=rate, power=power)
                for rate, power in zip((*FALSE_RATES, *CURVE), curves[at], strict=True)
            ]
            shown |= {"power": values[: len(FALSE_RATES)], "curve": values[len(FALSE_RATES) :]}
            shown["top1_hit_rate"] = rounds.found[at].hits.get(headline)
        listed.append(found.model_copy(update=shown))
    return listed


def _attackers(rounds: Rounds, strongest: Strongest) -> list[out.TrialAttacker]:
    """Every attacker, the strongest first, those that do not count last."""
    listed = []
    for name in sorted(strongest.powers, key=lambda item: -strongest.powers[item].figures.power):
        power = strongest.powers[name].figures
        listed.append(
            out.TrialAttacker(
                name=name,
                rounds=rounds.count_rounds(name),
                power=power.power,
                low=power.low,
                high=power.high,
                top1_hit_rate=rounds.top1(name),
            )
        )
    for name, reasons in strongest.refused.items():
        listed.append(
            out.TrialAttacker(
                name=name, rounds=rounds.count_rounds(name), top1_hit_rate=rounds.top1(name), disqualified=list(reasons)
            )
        )
    return listed


def _exposure(finished: FinishedTrial, headline: str, rate: float) -> out.TrialExposure:
    rounds, seed = finished.rounds, finished.trial.seed
    linked, known = linked_people(rounds, headline, rate)
    found = exposure(
        linked,
        rounds.inside[rounds.real],
        stream(seed, "trial exposure"),
        scored=known,
        clusters=rounds.people.cluster[rounds.real] if rounds.people.grouped else None,
    )
    shares = [
        out.ExposedShare(above=None if not at else RATE_BINS[at - 1], up_to=edge, inside=mine, outside=others)
        for at, (edge, mine, others) in enumerate(
            zip(RATE_BINS, found.when_in.rates, found.when_out.rates, strict=True)
        )
    ]
    tenth = found.most_exposed
    if tenth is None:
        return out.TrialExposure(shares=shares)
    return out.TrialExposure(
        shares=shares,
        top_inside=tenth.when_in.value,
        top_inside_low=tenth.when_in.low,
        top_inside_high=tenth.when_in.high,
        top_outside=tenth.when_out.value,
        top_outside_low=tenth.when_out.low,
        top_outside_high=tenth.when_out.high,
        tenth=tenth.people,
    )


def _planted_figures(finished: FinishedTrial, headline: str, strongest: Strongest) -> out.TrialPlanted | None:
    count = int(finished.trial.people.planted.sum())
    if not count:
        return None
    power, low, high = planted_power(finished.rounds, headline, strongest.false_rate)
    return out.TrialPlanted(
        planted=count, power=power, low=low, high=high, everybody=strongest.powers[headline].figures.power
    )


def _warnings(finished: FinishedTrial, strongest: Strongest, disclosure: Disclosure) -> list[AuditWarning]:
    few = disclosure.k < finished.trial.resolved.config.report.suppress_below
    return trial_warnings(finished.trial, finished.rounds, finished.failures, strongest, few_people=few)


MEASURED_ROUNDS, MEASURED_PEOPLE = 4, 200
"""The smallest trial of which the coverage of intervals was measured."""
SIZES_DIFFER = 1.1
"""Releases that differ in rows per person by more than this factor give a warning."""


def trial_warnings(
    trial: Trial, rounds: Rounds, failures: Mapping[int, ReleaseNotMade], strongest: Strongest, *, few_people: bool
) -> list[AuditWarning]:
    """All warnings, the most general first."""
    found = []
    if strongest.headline is None:
        reasons = dict.fromkeys(reason for reasons in strongest.refused.values() for reason in reasons)
        found += [AuditWarning("not_assessable", reason) for reason in reasons]
    else:
        found += [
            AuditWarning("attacker_disqualified", f"not counted: attacker '{name}'; {'; '.join(reasons)}")
            for name, reasons in strongest.refused.items()
        ]
    if failures:
        listed = ", ".join(str(number + 1) for number in sorted(failures))
        plural = len(failures) > 1
        found.append(
            AuditWarning(
                "rounds_failed",
                f"round{'s' if plural else ''} {listed} of {trial.rounds} failed and "
                f"{'are' if plural else 'is'} left out: if the mechanism fails for certain people, the figures "
                "do not show their risk",
            )
        )
    people = len(np.unique(rounds.people.cluster[rounds.real]))
    if len(rounds.found) < MEASURED_ROUNDS or people < MEASURED_PEOPLE:
        found.append(
            AuditWarning(
                "few_rounds",
                f"this trial has {count_phrase(len(rounds.found), 'round')} and {people:,} people; coverage was "
                f"measured from {MEASURED_ROUNDS} rounds and {MEASURED_PEOPLE} people on",
            )
        )
    found += _sizes(rounds)
    left_out = [name for name, attacker in trial.resolved.attackers.items() if attacker.needs_reference]
    known = set(rounds.attackers)
    if any(name not in known for name in left_out):
        names = ", ".join(f"'{name}'" for name in left_out if name not in known)
        why = "too few people are out in a round to use half of them as a reference sample"
        found.append(AuditWarning("attackers_left_out", f"{why}: {names} were not run"))
    if few_people:
        k = trial.resolved.config.report.suppress_below
        message = (
            f"fewer than {2 * k} people are in, or out, in a round, so the figures are exact and tell about single "
            "people: do not pass the result on"
        )
        found.append(AuditWarning("few_people", message))
    notices = dict.fromkeys(text for item in rounds.found for text in item.notices)
    return found + [AuditWarning("columns", text) for text in notices]


def _sizes(rounds: Rounds) -> list[AuditWarning]:
    """The warning on releases whose size differs between rounds, as rows per row that was put in."""
    rates = [
        item.released / max(1, int(inside.sum())) for item, inside in zip(rounds.found, rounds.inside.T, strict=True)
    ]
    if max(rates) <= SIZES_DIFFER * min(rates):
        return []
    rows = [item.released for item in rounds.found]
    message = (
        f"the releases have from {min(rows):,} to {count_phrase(max(rows), 'row')}, which differs by more than 10% "
        "for the "
        "same number of people: check that the mechanism is meant to choose its own size"
    )
    return [AuditWarning("release_sizes_differ", message)]


Membership = Literal["balanced", "coin"]
Bools = NDArray[np.bool_]


def draw_balanced(clusters: int, rounds: int, seed: int) -> Bools:
    """Clusters x rounds: rounds 1 and 2 are the two halves of one random split, rounds 3 and 4 those of another.

    Of an odd number of rounds the last is a half of a new split. Halves of an odd number of clusters differ by one.
    """
    inside = np.zeros((clusters, rounds), dtype=bool)
    for first in range(0, rounds, 2):
        chosen = stream(seed, f"trial split {first // 2}").permutation(clusters)[: clusters // 2]
        inside[chosen, first] = True
        if first + 1 < rounds:
            inside[:, first + 1] = ~inside[:, first]
    return inside


def coins(clusters: int, rounds: int, seed: int) -> Bools:
    """Clusters x rounds: each in with probability 1/2, independently of all others."""
    return np.stack([stream(seed, f"trial coins {number}").random(clusters) < 0.5 for number in range(rounds)], axis=1)


def draw_membership(kind: Membership, clusters: int, rounds: int, seed: int) -> Bools:
    """Clusters x rounds: whether the cluster is in."""
    return coins(clusters, rounds, seed) if kind == "coin" else draw_balanced(clusters, rounds, seed)
