"""The two ends of the scale on which a risk is read: the same attacker's risk on the two canaries."""

from __future__ import annotations

from cvpl.result.audit import AuditResult

_FALSE_RATE = 0.05
"""The canaries are read at this false rate."""


def scale_ends(result: AuditResult) -> tuple[float, float] | None:
    """The risk where nobody is in the release, and where the originals are released as they are.

    (power - 0.05) / 0.95 of each canary, at least 0. None where they were not run, or the release is read elsewhere.
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
