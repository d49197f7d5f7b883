"""Result sections on the reliability of the figures and on subgroups, from diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from cvpl import result as out
from cvpl.assessment.diagnostics.all_diagnostics import Diagnostics
from cvpl.assessment.diagnostics.contributions import ColumnContribution, ColumnContributions
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.control_likeness import ControlLikeness
from cvpl.evaluation.groups.subgroups import Subgroups


def validity(ensemble: EnsembleOutcome) -> out.Validity:
    """The headline's validity, with the reasons why no attacker's figure can be read as risk."""
    reasons = list(ensemble.reasons)
    return ensemble.chosen.valid.model_copy(update={"assessable": not reasons, "reasons": reasons})


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


def self_linkage(found: Diagnostics, copied: out.SelfRate | None) -> out.SelfLinkage:
    """The three self-linkage diagnostics; the perturbed one is null if it was not run."""
    return out.SelfLinkage(
        original=found.self_linkage["original"],
        protected=found.self_linkage["protected"],
        perturbed=copied,
    )


def warnings(found: Sequence[AuditWarning]) -> list[out.Warning_]:
    """Warnings with a link to their documentation."""
    return [out.Warning_(rule=warning.rule, message=warning.message, docs=warning.docs) for warning in found]
