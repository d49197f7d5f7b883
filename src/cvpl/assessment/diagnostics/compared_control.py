"""The comparison of an audit's control with its originals."""

from __future__ import annotations

from cvpl.evaluation.control_likeness import ControlLikeness, control_likeness
from cvpl.randomness import stream
from cvpl.result.published import Disclosure
from cvpl.tables.pair import Inputs


def compare_control(inputs: Inputs, seed: int, disclosure: Disclosure) -> ControlLikeness | None:
    """Compare the control with the originals; None without a control. Messages have published figures."""
    pair = inputs.pair
    if pair.control is None:
        return None
    return control_likeness(pair.original, pair.control, stream(seed, "likeness"), disclosure.grid("both"))
