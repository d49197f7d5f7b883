"""The figures of a trial from the scores of its rounds: who counts, the strongest attacker, and its power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.measurement import LARGER_FALSE_RATES, can_be_read
from cvpl.evaluation.rates import Roc
from cvpl.evaluation.trials.people import linked_at
from cvpl.evaluation.trials.rounds import PowerOverRounds, power_over_rounds
from cvpl.workflows.draws.strongest import StrongestOverDraws, confidence_among, measure_powers, objections
from cvpl.workflows.trial.rounds import RoundScores, TrialPeople

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rounds:
    """The finished rounds: `numbers` counted from 0, their scores, and who was in, rows x finished rounds.

    Rows are in the order of their clusters, so that no figure depends on the order of a file; `rows` has the numbers of
    the rows in the file. Rows of planted people are in all of these arrays; `people.planted` marks them.
    """

    people: TrialPeople
    rows: Ints
    numbers: tuple[int, ...]
    found: tuple[RoundScores, ...]
    inside: Bools

    @classmethod
    def of(cls, people: TrialPeople, inside: Bools, found: Mapping[int, RoundScores]) -> Rounds:
        """Put the rows of the finished rounds in the order of their clusters."""
        rows = np.argsort(people.cluster, kind="stable").astype(np.int64)
        numbers = tuple(sorted(found))
        scored = tuple(found[number].ordered(rows) for number in numbers)
        own = replace(people, cluster=people.cluster[rows], planted=people.planted[rows])
        return cls(own, rows, numbers, scored, inside[rows][:, list(numbers)])

    def scores(self, attacker: str) -> Floats:
        """The scores of an attacker that ran in every round, rows x rounds."""
        return np.stack([item.scores[attacker] for item in self.found], axis=1)

    @property
    def real(self) -> Bools:
        """The rows of real people."""
        return ~self.people.planted

    @property
    def attackers(self) -> tuple[str, ...]:
        """The attackers that ran in any round."""
        return tuple(dict.fromkeys(name for item in self.found for name in item.scores))

    def count_rounds(self, attacker: str) -> int:
        """The number of rounds in which an attacker ran."""
        return sum(attacker in item.scores for item in self.found)

    def faults(self, attacker: str) -> tuple[str, ...]:
        """Why an attacker does not count; empty if it does. It must run in every round."""
        if self.count_rounds(attacker) < len(self.found):
            return (f"it could run in {self.count_rounds(attacker)} of {len(self.found)} rounds only",)
        return objections(attacker, self.found)

    def top1(self, attacker: str) -> float | None:
        """The mean top-1 hit rate over rounds; None if no true matches are known."""
        rates = [item.hits[attacker] for item in self.found if attacker in item.hits]
        return sum(rates) / len(rates) if rates else None


@dataclass(frozen=True, eq=False)
class Strongest(StrongestOverDraws[PowerOverRounds]):
    """The strongest attacker over the rounds, at the false-positive rate at which power is read."""

    false_rate: float


def reading_rate(rounds: Rounds) -> float:
    """The smallest false-positive rate, of 5% and larger ones, that the control of every round and attacker allows."""
    if not rounds.attackers:
        return FALSE_RATE
    fewest = min(_controls(rounds, name) for name in rounds.attackers)
    rate = next((rate for rate in (FALSE_RATE, *LARGER_FALSE_RATES) if can_be_read(rate, fewest)), None)
    if rate is None:
        what = "too few people are out in a round to read a false-positive rate"
        raise InputError([Problem("the table", what, "Pass more people.")])
    return rate


def _controls(rounds: Rounds, attacker: str) -> int:
    """The fewest people who are out and were scored, in any round."""
    return min(
        int((~np.isnan(item.scores[attacker]) & ~inside & rounds.real).sum())
        for item, inside in zip(rounds.found, rounds.inside.T, strict=True)
        if attacker in item.scores
    )


def find_strongest(rounds: Rounds, false_rate: float) -> Strongest:
    """Measure every attacker's power over rounds, and find the strongest of those that count."""
    refused = {name: faults for name in rounds.attackers if (faults := rounds.faults(name))}
    confidence = confidence_among(len(rounds.attackers) - len(refused))
    powers, without = measure_powers(
        rounds.attackers, lambda name: power_of(rounds, name, false_rate, confidence), refused
    )
    return Strongest(powers, without, false_rate)


def power_of(rounds: Rounds, attacker: str, false_rate: float, confidence: float) -> PowerOverRounds:
    """The power of an attacker over rounds, of real people; ValueError if it has no interval."""
    real = rounds.real
    return power_over_rounds(
        rounds.scores(attacker)[real],
        rounds.inside[real],
        false_rate,
        clusters=rounds.people.cluster[real] if rounds.people.grouped else None,
        confidence=confidence,
    )


def planted_power(rounds: Rounds, attacker: str, false_rate: float) -> tuple[float, float | None, float | None]:
    """The power over planted people with its interval, at the thresholds of the real people who are out.

    The ends are None where fewer than 20 planted people are in in some round.
    """
    scores, planted = rounds.scores(attacker), rounds.people.planted[:, None]
    # Who is in and real, or out and planted, does not count here.
    asked = np.where(planted == rounds.inside, scores, np.nan)
    try:
        found = power_over_rounds(asked, rounds.inside, false_rate)
    except ValueError:
        rates = [
            Roc.of(column[mine & ~np.isnan(column)], column[~mine & ~np.isnan(column)]).power(false_rate)
            for column, mine in zip(asked.T, rounds.inside.T, strict=True)
            if (mine & ~np.isnan(column)).any()
        ]
        return (float(np.mean(rates)) if rates else 0.0), None, None
    return found.figures.power, found.figures.low, found.figures.high


def linked_people(rounds: Rounds, attacker: str, false_rate: float) -> tuple[Bools, Bools]:
    """Whether each real person is linked in each round, and whether they were scored; both rows x rounds."""
    scores = rounds.scores(attacker)[rounds.real]
    return linked_at(scores, rounds.inside[rounds.real], false_rate), ~np.isnan(scores)


def round_powers(rounds: Rounds, attacker: str, false_rates: Sequence[float]) -> list[list[float]]:
    """For each round, the power at each false-positive rate."""
    real, found = rounds.real, []
    for column, inside in zip(rounds.scores(attacker)[real].T, rounds.inside[real].T, strict=True):
        known = ~np.isnan(column)
        roc = Roc.of(column[inside & known], column[~inside & known])
        found.append([roc.power(rate) for rate in false_rates])
    return found
