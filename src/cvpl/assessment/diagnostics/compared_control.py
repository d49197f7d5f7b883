"""The comparison of an audit's control with its originals."""

from __future__ import annotations

from cvpl.evaluation.control_likeness import ControlTests, control_likeness
from cvpl.evaluation.groups.units import one_row_a_unit
from cvpl.randomness import stream
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs


def compare_control(inputs: Inputs, seed: int, disclosure: Disclosure) -> ControlTests | None:
    """Compare the control with the originals; None without a control. Messages have published figures.

    Rows of one unit are not independent, so one row of each is compared, drawn by the seed. None also if these leave a
    table empty.
    """
    pair = inputs.pair
    if pair.control is None:
        return None
    original, control, codes = pair.original, pair.control, inputs.evaluation.unit.codes
    if codes is not None:
        mine, others = one_row_a_unit(codes, stream(seed, "one row a unit"))
        original, control = original.take(mine), control.take(others)
    if not original.rows or not control.rows:
        return None
    return control_likeness(original, control, stream(seed, "likeness"), disclosure.grid("both"))
