"""How well the attackers of an audit tell who is in the release: the best one at each false-positive rate."""

from __future__ import annotations

from collections.abc import Mapping

from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.intervals.intervals import refused_interval
from cvpl.evaluation.measurement import MEMBERSHIP_RATES, Measurement, area_interval, area_under_curve, read_at
from cvpl.result import Membership, MembershipArea, MembershipRate


def membership(ensemble: EnsembleOutcome) -> Membership | None:
    """How well it can be told who is in the release; None if no attacker that counts was compared with a control.

    At each rate the strongest attacker is taken, and its interval has the confidence 1 - 0.05 / K over K attackers.
    """
    able = {name: item.measured for name, item in (ensemble.qualified or ensemble.outcomes).items()}
    able = {name: measured for name, measured in able.items() if measured.has_control}
    if not able:
        return None
    screened = len(ensemble.screened)
    rates = []
    for rate in MEMBERSHIP_RATES:
        read = {name: measured for name, measured in able.items() if read_at(rate, measured.controls)}
        if read:
            rates.append(_best_rate(read, rate, len(read) + screened, ensemble.headline))
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
    found = refused_interval("there is no control", areas[name], confidence)
    if base is not None:
        found = area_interval(chosen.spread.originals, base, confidence)
    area = MembershipArea.of(found, attacker=name, among=among)
    return Membership(controls=max(measured.controls for measured in able.values()), rates=rates, auc=area)


def _best_rate(able: Mapping[str, Measurement], rate: float, among: int, headline: str) -> MembershipRate:
    """The strongest attacker at a rate: of those with an interval, or of all if none has one. Ties go to `headline`."""
    confidence = _confidence(among)
    powers = {name: measured.power_at(rate) for name, measured in able.items()}
    ordered = sorted(powers, key=lambda name: (-powers[name], name != headline))
    refused = None
    for name in ordered:
        interval = able[name].power_interval(rate, confidence)
        found = MembershipRate.of(interval, false_rate=rate, attacker=name, among=among)
        if interval.refused is None:
            return found
        refused = refused or found
    assert refused is not None  # noqa: S101 - there is an attacker
    return refused


def _confidence(among: int) -> float:
    return 1 - (1 - CONFIDENCE) / among
