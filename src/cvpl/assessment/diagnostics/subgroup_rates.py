"""The rates of one attack by subgroup and by rarity."""

from __future__ import annotations

from cvpl.evaluation.groups.groupings import by_columns, by_rarity
from cvpl.evaluation.groups.subgroups import Subgroups, subgroups
from cvpl.evaluation.measurement import Measurement
from cvpl.tables.pair import Inputs


def subgroup_rates(measured: Measurement, inputs: Inputs, suppress_below: int) -> Subgroups | None:
    """Rates by group; None if links are not defined."""
    linked = measured.linked
    if linked is None:
        return None
    done = measured.attack
    theirs = linked[1] if measured.basis == "control" else None
    control = done.held_control if theirs is not None else None
    groupings = by_columns(inputs.evaluation.columns, done.people, done.control_rows)
    groupings.append(by_rarity(done.held, control))
    return subgroups(groupings, linked[0], theirs, suppress_below)
