"""The two ends of the risk scale: the same attacker's risk on the two canaries."""

from __future__ import annotations

from cvpl.result.audit import AuditResult

_FALSE_RATE = 0.05
"""The false-positive rate of the canaries' power."""


def scale_ends(result: AuditResult) -> tuple[float, float] | None:
    """The risk if no original is in the release, and if the originals are released unchanged.

    It is (power - 0.05) / 0.95 of each canary, at least 0. None if the canaries were not run, or if the risk of the
    release is measured at another false-positive rate.
    """
    risk, ends = result.risk, result.canaries
    if risk is None or risk.false_rate != _FALSE_RATE or ends is None:
        return None
    low, high = ends.independent.power, ends.identity.power
    if low is None or high is None:
        return None
    return _risk(low), _risk(high)


def _risk(power: float) -> float:
    return max(0.0, (power - _FALSE_RATE) / (1 - _FALSE_RATE))
