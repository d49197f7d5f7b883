"""How far the figures can be trusted, and who is at risk: from diagnostics to the sections of a result."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from cvpl import result as out
from cvpl.diagnostics.canaries import Canaries, Canary
from cvpl.diagnostics.self_linkage import SelfLinkage
from cvpl.diagnostics.sensitivity import Sensitivity
from cvpl.diagnostics.validity import Validity
from cvpl.evaluation.control_likeness import ControlLikeness
from cvpl.evaluation.subgroups import Subgroups


def validity(valid: Validity, reasons: tuple[str, ...]) -> out.Validity:
    """The headline's validity, and why nothing can be read as risk, if so."""
    shift = valid.shift if valid.shift is not None and np.isfinite(valid.shift) else None
    fields = {**vars(valid), "reasons": list(reasons), "shift": shift}
    return out.Validity(assessable=not reasons, **fields)


def self_rate(found: SelfLinkage) -> out.SelfRate:
    """One of the self-linkage diagnostics."""
    return out.SelfRate(rate=found.rate, top1_hit_rate=found.top1_hit_rate, asked=found.asked, records=found.records)


def canaries(found: Canaries | None) -> out.Canaries | None:
    """Both canaries of an attacker; null where they were not run."""
    if found is None:
        return None
    return out.Canaries(identity=_canary(found.identity), independent=_canary(found.independent))


def _canary(found: Canary) -> out.Canary:
    fields = asdict(found)
    del fields["fault"]
    return out.Canary(attainable_top1=fields.pop("attainable"), **fields)


def sensitivity(name: str, found: Sensitivity) -> out.Sensitivity:
    """The variations, and how far they lie apart."""
    return out.Sensitivity(
        attacker=name,
        asked=found.asked,
        variations=[out.Variation(**asdict(it)) for it in found.variations],
        spread_by_blocking=found.spread("blocking"),
        spread_by_encoding=found.spread("encoding and scaling"),
    )


def likeness(found: ControlLikeness) -> out.ControlLikeness:
    """How alike control and originals are."""
    return out.ControlLikeness(
        alike=found.alike,
        enough=found.enough,
        area=found.joint.area,
        copies_beyond_chance=found.copies.beyond_chance,
        columns=[
            out.ColumnLikeness(column=it.column, distance=it.distance, missing=it.missing, differs=it.differs)
            for it in found.columns
        ],
        alarms=list(found.alarms),
    )


def at_risk(found: Subgroups, suppress_below: int) -> out.AtRisk:
    """Rates by group."""
    return out.AtRisk(
        average=found.average,
        maximum=out.MaximumRate(**asdict(found.maximum)),
        maximum_attributable=found.maximum_attributable,
        suppress_below=suppress_below,
        tables=[
            out.GroupRates(name=table.name, rows=[out.GroupRate(**asdict(row)) for row in table.rows])
            for table in found.tables
        ],
    )
