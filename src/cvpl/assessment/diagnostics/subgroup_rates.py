"""The rates of one attack by subgroup and by rarity."""

from __future__ import annotations

from dataclasses import asdict

from cvpl.evaluation.groups.subgroups import Subgroups, by_columns, by_rarity, rounded_rates, subgroups
from cvpl.evaluation.measurement import Measurement
from cvpl.result import AtRisk, GroupRate, GroupRates, MaximumRate
from cvpl.tables.pair import Inputs


def subgroup_rates(measured: Measurement, inputs: Inputs, suppress_below: int) -> Subgroups | None:
    """Rates by group as they are published; None if links are not defined."""
    linked = measured.linked
    if linked is None:
        return None
    done = measured.attack
    control_linked = linked[1] if measured.basis == "control" else None
    control = done.held_control if control_linked is not None else None
    groupings = by_columns(inputs.evaluation.columns, done.people, done.control_rows)
    groupings.append(by_rarity(done.held, control))
    originals = measured.spread.originals
    unit = originals.unit if originals.alike else None
    return rounded_rates(subgroups(groupings, linked[0], control_linked, suppress_below, unit), suppress_below)


def at_risk(found: Subgroups | None, suppress_below: int) -> AtRisk | None:
    """Rates by group; null if links are not defined."""
    if found is None:
        return None
    return AtRisk(
        average=found.average,
        maximum=MaximumRate(**asdict(found.maximum)),
        maximum_attributable=found.maximum_attributable,
        controlled=found.controlled,
        suppress_below=suppress_below,
        tables=[
            GroupRates(name=table.name, rows=[GroupRate(**asdict(row)) for row in table.rows]) for table in found.tables
        ],
    )
