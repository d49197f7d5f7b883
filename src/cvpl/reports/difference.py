"""What changed between two audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cvpl.result import AuditResult


@dataclass(frozen=True)
class Change:
    """One figure before and after. `beyond_error` is None where there are no intervals to compare.

    Two intervals that do not meet say that the difference is beyond error; meeting ones leave it open.
    """

    figure: str
    before: float | None
    after: float | None
    beyond_error: bool | None = None

    @property
    def difference(self) -> float | None:
        """After - before, None where either is not known."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class Difference:
    """All figures side by side, and what else differs: inputs, settings, warnings that came or went."""

    changes: tuple[Change, ...]
    inputs: tuple[str, ...]
    settings: tuple[str, ...]
    new_warnings: tuple[str, ...]
    gone_warnings: tuple[str, ...]


def difference(before: AuditResult, after: AuditResult) -> Difference:
    """Compare two results."""
    changes = [
        Change(
            "linkage rate",
            before.linkage_rate.estimate,
            after.linkage_rate.estimate,
            _apart(before.linkage_rate, after.linkage_rate),
        ),
        Change(
            "control rate",
            None if before.control is None else before.control.rate,
            None if after.control is None else after.control.rate,
            _apart(before.control, after.control),
        ),
        Change(
            "attributable rate",
            None if before.attributable_rate is None else before.attributable_rate.estimate,
            None if after.attributable_rate is None else after.attributable_rate.estimate,
            _apart(before.attributable_rate, after.attributable_rate),
        ),
        Change("worst-case risk", before.worst_case_risk, after.worst_case_risk),
        Change("integrated risk", before.integrated_risk, after.integrated_risk),
    ]
    for name in ("top1_hit_rate", "precision_at_1", "blocking_recall", "total_recall", "false_link_rate"):
        pair = [None if side.truth is None else getattr(side.truth, name) for side in (before, after)]
        if pair != [None, None]:
            changes.append(Change(name.replace("top1", "top-1").replace("_", " "), pair[0], pair[1]))
    powers = [{it.false_rate: it.power for it in side.power or []} for side in (before, after)]
    for rate in sorted({*powers[0], *powers[1]}):
        changes.append(Change(f"power at {rate:.0%}", powers[0].get(rate), powers[1].get(rate)))
    rules = [{warning.rule for warning in side.warnings} for side in (before, after)]
    return Difference(
        changes=tuple(changes),
        inputs=tuple(_inputs(before, after)),
        settings=tuple(_settings(before, after)),
        new_warnings=tuple(sorted(rules[1] - rules[0])),
        gone_warnings=tuple(sorted(rules[0] - rules[1])),
    )


def _apart(before: Any, after: Any) -> bool | None:
    if before is None or after is None or None in (before.low, before.high, after.low, after.high):
        return None
    return bool(before.high < after.low or after.high < before.low)


def _inputs(before: AuditResult, after: AuditResult) -> list[str]:
    """The tables that are not the same, by their fingerprints."""
    found = []
    for role in dict.fromkeys([*before.inputs, *after.inputs]):
        one, other = before.inputs.get(role), after.inputs.get(role)
        if one is None or other is None:
            found.append(f"{role}: only in the {'second' if one is None else 'first'} audit")
        elif one.sha256 is None or other.sha256 is None:
            found.append(f"{role}: a dataframe without a fingerprint, so it may differ")
        elif one.sha256 != other.sha256:
            found.append(f"{role}: another file ({one.rows:,} and {other.rows:,} rows)")
    return found


def _settings(before: AuditResult, after: AuditResult) -> list[str]:
    one, other = _flat(before.provenance.config), _flat(after.provenance.config)
    changed = [key for key in dict.fromkeys([*one, *other]) if one.get(key) != other.get(key)]
    versions = [
        f"version of {name}"
        for name in dict.fromkeys([*before.provenance.versions, *after.provenance.versions])
        if before.provenance.versions.get(name) != after.provenance.versions.get(name)
    ]
    return changed + versions


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found
