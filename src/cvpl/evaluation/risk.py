"""The risk of a release under one attacker, on one scale for every score.

With a control, the risk is read where a share α of the control is linked:

    risk = (power - α) / (1 - α)        power: true-positive rate at the false-positive rate α

α is 5%. If the control is too small for an interval at 5%, the next larger rate with an interval is used. Without a
control the true matches are used: risk = (top-1 - 1/n) / (1 - 1/n) over n released records, since a random guess is
right with probability 1/n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cvpl.estimates import CONFIDENCE, FALSE_RATE
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT
from cvpl.evaluation.intervals.intervals import attributable_from_power, refused_interval
from cvpl.evaluation.intervals.shares import FEW_RECORDS
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.truth import top1_hit_rate
from cvpl.result import Risk
from cvpl.wording import counted

LARGER_FALSE_RATES = (0.10, 0.20, 0.30)
"""The rates to try, in this order, if the control is too small for an interval at 5%."""
FEWEST_LINKED_CONTROLS = FEW_RECORDS * LEAST_EFFECT
"""The fewest controls, α m, that must be linked at a false-positive rate α: with fewer, the lower end is useless."""
CERTAIN_FALSE_RATE = 0.01
"""A few people who are linked with certainty show at this rate before they show at 5%."""


@dataclass(frozen=True)
class RiskReading:
    """The false-positive rate for all attackers of one audit, or None and the reason if no rate has an interval."""

    false_rate: float | None
    refused: str = ""


def choose_reading(measurements: Iterable[Measurement]) -> RiskReading:
    """The smallest false-positive rate at which the power of every attacker with a control has an interval.

    All attackers use one rate, so that they can be compared. Without any attacker with a control there is none.
    """
    found = [measured for measured in measurements if measured.has_control]
    if not found:
        return RiskReading(None, "there is no control")
    refused = ""
    fewest = min(measured.controls for measured in found)
    for rate in (FALSE_RATE, *LARGER_FALSE_RATES):
        refusals = [measured.power_interval(rate).refused for measured in found]
        refused = next((reason for reason in refusals if reason), "")
        if not refused and can_be_read(rate, fewest):
            return RiskReading(rate)
    return RiskReading(None, refused or f"{counted(fewest, 'control')} {'is' if fewest == 1 else 'are'} too few")


def can_be_read(false_rate: float, controls: int) -> bool:
    """Whether enough controls are linked at a false-positive rate to determine its threshold."""
    return false_rate * controls >= FEWEST_LINKED_CONTROLS - 1e-9


def risk_by_control(
    name: str, measured: Measurement, false_rate: float, confidence: float = CONFIDENCE, among: int = 1
) -> Risk:
    """Compute (power - α) / (1 - α) with its interval at `confidence`, for an attacker picked from `among`."""
    power = measured.power_interval(false_rate, confidence)
    found = attributable_from_power(power, false_rate)
    return Risk.of(found, power=power.value, false_rate=false_rate, basis="control", attacker=name, among=among)


def risk_by_matches(name: str, measured: Measurement, confidence: float = CONFIDENCE, among: int = 1) -> Risk | None:
    """Compute (top-1 - 1/n) / (1 - 1/n) with its interval; None if no match is known, or one record is released."""
    hits, released = best_candidate(measured), measured.attack.protected.rows
    if hits is None or released < 2:
        return None
    found = measured.top1_interval_at(confidence) or refused_interval("no match is known", hits, confidence)
    beyond = found.beyond_chance(1 / released)
    return Risk.of(beyond, power=None, false_rate=None, basis="true_matches", attacker=name, among=among)


def best_candidate(measured: Measurement) -> float | None:
    """The top-1 hit rate; None if no match is known."""
    return None if measured.truth is None else top1_hit_rate(measured.truth)


def certain_risk(measurements: Mapping[str, Measurement], headline: str, reading: float, attackers: int) -> Risk | None:
    """A risk above 0 that the headline's reading misses: at 1%, or by another attacker at the same rate.

    The intervals hold simultaneously over all `attackers` and both false-positive rates: each at 1 - 0.05 / (2 K). Of
    several, the one with the largest lower end is returned; None if no lower end is above 0.
    """
    confidence = 1 - (1 - CONFIDENCE) / (2 * attackers)
    found = []
    for name, measured in measurements.items():
        for rate in dict.fromkeys((CERTAIN_FALSE_RATE, reading)):
            if (rate == reading and name == headline) or measured.power_interval(rate).refused:
                continue
            risk = risk_by_control(name, measured, rate, confidence, attackers)
            if risk.low is not None and risk.low > 0:
                found.append((risk.low, risk))
    return max(found, key=lambda pair: pair[0])[1] if found else None
