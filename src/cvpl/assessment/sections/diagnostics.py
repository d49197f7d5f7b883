"""How far the figures can be trusted, and who is at risk: from diagnostics to the sections of a result."""

from __future__ import annotations

from dataclasses import asdict
from typing import TypedDict

import numpy as np

from cvpl import result as out
from cvpl.assessment.diagnostics.canaries import Canaries, Canary
from cvpl.assessment.diagnostics.power_drop import PowerDrops
from cvpl.assessment.diagnostics.removal import removal
from cvpl.assessment.diagnostics.self_linkage import SelfLinkage
from cvpl.assessment.diagnostics.sensitivity import Sensitivity
from cvpl.assessment.diagnostics.validity import Validity
from cvpl.attack.representation import linear
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.contribution import link, structural, structural_spread
from cvpl.evaluation.control_likeness import ControlLikeness
from cvpl.evaluation.groups.groupings import by_columns, by_rarity
from cvpl.evaluation.groups.subgroups import Subgroups, subgroups
from cvpl.evaluation.measurement import Measurement
from cvpl.operators.projection import Saved
from cvpl.randomness import stream
from cvpl.tables.pair import Inputs
from cvpl.utility import Utility
from cvpl.utility import utility as utility_by


def validity(valid: Validity, reasons: tuple[str, ...]) -> out.Validity:
    """The headline's validity, and why nothing can be read as risk, if so."""
    shift = valid.shift if valid.shift is not None and np.isfinite(valid.shift) else None
    fields = {**vars(valid), "reasons": list(reasons), "shift": shift}
    return out.Validity(assessable=not reasons, **fields)


def utility(resolved: ResolvedConfig, inputs: Inputs) -> Utility:
    """The utility of a release, by one vectorization for all releases, whoever speaks for them.

    The draws depend on the seed alone, so that the same people are tested in every release of one original.
    """
    matches = None
    if inputs.matches is not None and len(inputs.matches.original):
        matches = inputs.matches.original, inputs.matches.protected
    vectorization = next(iter(resolved.attackers.values())).vectorization
    rng = stream(resolved.config.seed, "utility")
    return utility_by(inputs.pair, rng, vectorization=vectorization, matches=matches)


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
        variations=[out.Variation(**asdict(variation)) for variation in found.variations],
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
            out.ColumnLikeness(
                column=column.column, distance=column.distance, missing=column.missing, differs=column.differs
            )
            for column in found.columns
        ],
        alarms=list(found.alarms),
    )


def at_risk(found: Subgroups, suppress_below: int) -> out.AtRisk:
    """Rates by group."""
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


def rates_by_group(measured: Measurement, resolved: ResolvedConfig, inputs: Inputs) -> Subgroups | None:
    """Rates by group; None where nobody can be called linked or not."""
    linked = measured.linked
    if linked is None:
        return None
    done = measured.attack
    theirs = linked[1] if measured.basis == "control" else None
    control = done.held_control if theirs is not None else None
    groupings = by_columns(inputs.subgroups, done.people, done.control_rows)
    groupings.append(by_rarity(done.held, control))
    return subgroups(groupings, linked[0], theirs, resolved.config.report.suppress_below)


def contributions(measured: Measurement, drops_of_power: PowerDrops | None) -> out.Contributions:
    """What each column adds: to the space, to the links, and to rate and power if it were taken out."""
    done, threshold = measured.attack, measured.threshold
    space, fitted = done.representation.space, linear(done.representation.projection)
    shares: dict[str, float] = {}
    spread: dict[str, tuple[float, float]] = {}
    if fitted is not None and fitted.variances is not None:
        shares = structural(space, fitted.loadings, fitted.variances)
        spread = structural_spread(done, stream(done.seed, "structural"))
    linked = measured.linked
    links = None if linked is None else link(done, np.flatnonzero(linked[0] > 0), stream(done.seed, "links"))
    columns = dict.fromkeys([*done.attacker.vectorization.compared(done.original), *space.owners])
    drops: dict[str, float] = {}
    asked = None
    # A map of both tables at once would have to be drawn anew, and a saved one is not fitted at all.
    refitted = done.representation.maps_others and not isinstance(done.attacker.projection, Saved)
    if threshold is not None and len(columns) > 1 and refitted:
        for column in columns:
            drops[column], rows = removal(done, column, threshold, stream(done.seed, "removal"))
            asked = len(rows)
    roles = {spec.name: spec.role for spec in done.original.specs}
    return out.Contributions(
        columns=[
            out.Contribution(
                column=column,
                role=roles[column],
                structural=shares.get(column),
                structural_low=spread[column][0] if column in spread else None,
                structural_high=spread[column][1] if column in spread else None,
                link=None if links is None else links.get(column),
                removal=drops.get(column),
                **_drop(drops_of_power, column),
            )
            for column in columns
        ],
        removal_asked=asked,
        power_asked=None if drops_of_power is None else drops_of_power.asked,
    )


class _Drop(TypedDict):
    power_drop: float | None
    power_drop_low: float | None
    power_drop_high: float | None


def _drop(drops: PowerDrops | None, column: str) -> _Drop:
    found = None if drops is None else drops.by_column.get(column)
    if found is None:
        return {"power_drop": None, "power_drop_low": None, "power_drop_high": None}
    return {"power_drop": found.drop, "power_drop_low": found.low, "power_drop_high": found.high}
