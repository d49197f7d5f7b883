"""How well the attackers of an audit tell who is in the release: the best one at each false-positive rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.evaluation.intervals.intervals import Interval, refused_interval
from cvpl.evaluation.intervals.shares import CONFIDENCE
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.membership import MEMBERSHIP_RATES, area_interval, area_under_curve, read_at


@dataclass(frozen=True)
class BestAttacker:
    """The largest value of a figure over `among` attackers, whose it is, and its interval, corrected for the pick."""

    attacker: str
    estimate: float
    interval: Interval
    among: int
    confidence: float


@dataclass(frozen=True)
class MembershipFigures:
    """The best true-positive rate at each false-positive rate, and the best area under the curve.

    `controls` is the largest number of controls that an attacker was compared with.
    """

    rates: Mapping[float, BestAttacker]
    area: BestAttacker
    controls: int


def membership(ensemble: EnsembleOutcome) -> MembershipFigures | None:
    """The figures over the attackers that count; None if none of them was compared with a control.

    At each rate the strongest attacker is taken, and its interval has the confidence 1 - 0.05 / K over K attackers.
    """
    able = {name: item.measured for name, item in (ensemble.qualified or ensemble.outcomes).items()}
    able = {name: measured for name, measured in able.items() if measured.has_control}
    if not able:
        return None
    screened = len(ensemble.screened)
    rates = {}
    for rate in MEMBERSHIP_RATES:
        read = {name: measured for name, measured in able.items() if read_at(rate, measured.controls)}
        if read:
            rates[rate] = _best_rate(read, rate, len(read) + screened, ensemble.headline)
    areas = {
        name: area_under_curve(measured.attack.scores, measured.base_scores)
        for name, measured in able.items()
        if measured.base_scores is not None
    }
    name = max(areas, key=lambda key: areas[key])
    among = len(able) + screened
    confidence = _confidence(among)
    chosen = able[name]
    base = chosen.spread.base
    interval = refused_interval("there is no control")
    if base is not None:
        interval = area_interval(chosen.spread.originals, base, confidence)
    area = BestAttacker(name, areas[name], interval, among, confidence)
    return MembershipFigures(rates, area, max(measured.controls for measured in able.values()))


def _best_rate(able: Mapping[str, Measurement], rate: float, among: int, headline: str) -> BestAttacker:
    """The strongest attacker at a rate: of those with an interval, or of all if none has one. Ties go to `headline`."""
    confidence = _confidence(among)
    powers = {name: measured.power_at(rate) for name, measured in able.items()}
    ordered = sorted(powers, key=lambda name: (-powers[name], name != headline))
    refused = None
    for name in ordered:
        interval = able[name].power_interval(rate, confidence)
        found = BestAttacker(name, powers[name], interval, among, confidence)
        if interval.refused is None:
            return found
        refused = refused or found
    assert refused is not None  # noqa: S101 - there is an attacker
    return refused


def _confidence(among: int) -> float:
    return 1 - (1 - CONFIDENCE) / among
