"""Why a policy is not met, where its value is not the reason."""

from __future__ import annotations

from cvpl.result.audit import PolicyOutcome

NOT_ASSESSABLE = "not assessable: "
"""A reason of a policy begins with this if no attacker is reliable."""


def exceeded(policy: PolicyOutcome) -> bool:
    """Whether the value of a policy is known and beyond its limit: above `max`, or below `min`."""
    if policy.value is None:
        return False
    above = policy.max is not None and policy.value > policy.max
    return above or (policy.min is not None and policy.value < policy.min)


def deciding_reason(policy: PolicyOutcome) -> str | None:
    """The reason that a policy is not met, if that is not its value; None if it is met, or its value decides.

    A release that is not assessable has no value that counts, however large. Otherwise a value beyond the limit
    decides, and an unknown value is itself the reason.
    """
    if policy.met:
        return None
    if any(reason.startswith(NOT_ASSESSABLE) for reason in policy.reasons):
        return "the audit is not assessable"
    if exceeded(policy) or policy.value is None or not policy.reasons:
        return None
    return policy.reasons[0]
