"""The two ends of the risk scale: the same attacker's risk on the two canaries."""

from __future__ import annotations

from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.result.audit import AuditResult


def scale_ends(result: AuditResult) -> tuple[float, float] | None:
    """The risk if no original is in the release, and if the originals are released unchanged.

    It is (power - 0.05) / 0.95 of each canary, at least 0. None if the canaries were not run, or if the risk of the
    release is measured at another false-positive rate.
    """
    risk, ends = result.risk, result.canaries
    if risk is None or risk.false_rate != FALSE_RATE or ends is None:
        return None
    low, high = ends.independent.power, ends.identity.power
    if low is None or high is None:
        return None
    return _risk(low), _risk(high)


def _risk(power: float) -> float:
    return max(0.0, beyond_chance(power, FALSE_RATE))
