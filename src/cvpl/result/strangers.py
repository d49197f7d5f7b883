"""The people that the originals are read against, in words."""

from __future__ import annotations

from cvpl.result.audit import AuditResult


def others(result: AuditResult) -> str:
    """Whom the originals are held against: the control, or themselves without their own record."""
    rate = result.attributable_rate
    return "people without their own record" if rate is not None and rate.basis != "control" else "the control"
