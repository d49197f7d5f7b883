"""Result sections on the reliability of the figures and on subgroups, from diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from cvpl import result as out
from cvpl.assessment.diagnostics.all_diagnostics import Diagnostics
from cvpl.assessment.diagnostics.canaries import Canaries, Canary
from cvpl.assessment.diagnostics.contributions import ColumnContribution, ColumnContributions
from cvpl.assessment.diagnostics.progressive import Progressive
from cvpl.assessment.diagnostics.self_linkage import SelfLinkage
from cvpl.assessment.diagnostics.sensitivity import Sensitivity
from cvpl.assessment.diagnostics.validity import Validity
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.control_likeness import ControlLikeness
from cvpl.evaluation.groups.subgroups import Subgroups


def validity(valid: Validity, reasons: tuple[str, ...]) -> out.Validity:
    """The headline's validity, and why no figure can be read as risk, if so."""
    shift = valid.shift if valid.shift is not None and np.isfinite(valid.shift) else None
    fields = {**vars(valid), "reasons": list(reasons), "shift": shift}
    return out.Validity(assessable=not reasons, **fields)


def self_rate(found: SelfLinkage) -> out.SelfRate:
    """One of the self-linkage diagnostics."""
    return out.SelfRate(rate=found.rate, top1_hit_rate=found.top1_hit_rate, asked=found.asked, records=found.records)


def canaries(found: Canaries | None) -> out.Canaries | None:
    """Both canaries of an attacker; null if they were not run."""
    if found is None:
        return None
    return out.Canaries(identity=_canary(found.identity), independent=_canary(found.independent))


def _canary(found: Canary) -> out.Canary:
    fields = asdict(found)
    del fields["fault"]
    return out.Canary(attainable_top1=fields.pop("attainable"), **fields)


def sensitivity(name: str | None, found: Sensitivity | None) -> out.Sensitivity | None:
    """The variations of attacker `name`, and their spread; null if they were not run."""
    if name is None or found is None:
        return None
    return out.Sensitivity(
        attacker=name,
        asked=found.asked,
        variations=[out.Variation(**asdict(variation)) for variation in found.variations],
        spread_by_blocking=found.spread("blocking"),
        spread_by_encoding=found.spread("encoding and scaling"),
    )


def likeness(found: ControlLikeness | None) -> out.ControlLikeness | None:
    """The comparison of control and originals; null without a control."""
    if found is None:
        return None
    return out.ControlLikeness(
        alike=found.alike,
        enough=found.enough,
        area=found.joint.area,
        copies_beyond_chance=found.copies.beyond_chance,
        columns=[
            out.ColumnLikeness(
                column=column.column, distance=column.distance, missing=column.missing, differs=column.differs
            )
            for column in found.columns
        ],
        alarms=list(found.alarms),
    )


def at_risk(found: Subgroups | None, suppress_below: int) -> out.AtRisk | None:
    """Rates by group; null if links are not defined."""
    if found is None:
        return None
    return out.AtRisk(
        average=found.average,
        maximum=out.MaximumRate(**asdict(found.maximum)),
        maximum_attributable=found.maximum_attributable,
        controlled=found.controlled,
        suppress_below=suppress_below,
        tables=[
            out.GroupRates(name=table.name, rows=[out.GroupRate(**asdict(row)) for row in table.rows])
            for table in found.tables
        ],
    )


def contributions(found: ColumnContributions) -> out.Contributions:
    """The contribution of each column."""
    return out.Contributions(
        columns=[_contribution(column) for column in found.columns],
        removal_asked=found.removal_asked,
        power_asked=found.power_asked,
        top1_asked=found.top1_asked,
    )


def _contribution(found: ColumnContribution) -> out.Contribution:
    low, high = found.structural_bounds or (None, None)
    drop, hits = found.power_drop, found.top1_drop
    return out.Contribution(
        column=found.column,
        role=found.role,
        structural=found.structural,
        structural_low=low,
        structural_high=high,
        link=found.link,
        removal=found.removal,
        power_drop=None if drop is None else drop.drop,
        power_drop_low=None if drop is None else drop.low,
        power_drop_high=None if drop is None else drop.high,
        top1_drop=None if hits is None else hits.drop,
        top1_drop_low=None if hits is None else hits.low,
        top1_drop_high=None if hits is None else hits.high,
    )


def self_linkage(found: Diagnostics, copied: SelfLinkage | None) -> out.SelfLinkage:
    """The three self-linkage diagnostics; the perturbed one is null if it was not run."""
    return out.SelfLinkage(
        original=self_rate(found.self_linkage["original"]),
        protected=self_rate(found.self_linkage["protected"]),
        perturbed=None if copied is None else self_rate(copied),
    )


def ladder(found: Progressive | None) -> out.Ladder | None:
    """The rate along the ladder; null without one."""
    if found is None:
        return None
    return out.Ladder(rungs=[out.RungRate(**vars(rung)) for rung in found.rungs], stopped_early=found.stopped_early)


def warnings(found: Sequence[AuditWarning]) -> list[out.Warning_]:
    """Warnings with a link to their documentation."""
    return [out.Warning_(rule=warning.rule, message=warning.message, docs=warning.docs) for warning in found]
