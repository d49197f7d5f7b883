"""The comparison group of an audit."""

from __future__ import annotations

from cvpl.result.audit import AuditResult


def comparison_group(result: AuditResult) -> str:
    """The people that originals are compared with: the control, or the originals without their own record."""
    rate = result.attributable_rate
    return "people without their own record" if rate is not None and rate.basis != "control" else "the control"
