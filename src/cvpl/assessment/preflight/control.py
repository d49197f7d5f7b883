"""Checks of the control: its columns, whether it contains only other people, and its size."""

from __future__ import annotations

import math
from statistics import NormalDist

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.estimates import CONFIDENCE, FALSE_RATE
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.evaluation.measurement import FEWEST_LINKED_CONTROLS, LARGER_FALSE_RATES, can_be_read
from cvpl.result.publishing import Disclosure
from cvpl.tables.pair import Inputs
from cvpl.wording import count_phrase

HALF_WIDTH = 0.05
"""The half-width of the risk's interval that a control should allow."""


def control_findings(
    resolved: ResolvedConfig, inputs: Inputs, likeness: ControlTests | None, disclosure: Disclosure
) -> list[out.Finding]:
    """The findings on the control; empty without one."""
    if inputs.pair.control is None:
        return []
    return [
        *_columns(inputs),
        *_overlap(likeness, disclosure),
        *_related_rows_findings(likeness, disclosure),
        *_doubles(likeness, disclosure),
        *_other_population_findings(likeness),
        *_size(resolved, inputs),
    ]


def _columns(inputs: Inputs) -> list[out.Finding]:
    others = {name for role in ("original", "protected") for name in inputs.whole.lacking.get(role, ())}
    lacking = [name for name in inputs.whole.lacking.get("control", ()) if name not in others]
    if not lacking:
        return []
    names = ", ".join(f"'{name}'" for name in lacking)
    columns = "column" if len(lacking) == 1 else "columns"
    message = f"the control lacks the {columns} {names}: no attacker can use them, and the risk may be too low"
    return [out.Finding(check="control_lacks_columns", closes_gate=True, message=message, count=len(lacking))]


def _overlap(likeness: ControlTests | None, disclosure: Disclosure) -> list[out.Finding]:
    if likeness is None or not likeness.copies.suspicious:
        return []
    copies = likeness.copies
    return [
        out.Finding(
            check="control_overlaps",
            closes_gate=True,
            message=copies.message,
            share=disclosure.share(copies.control_share, "both"),
            expected=disclosure.share(copies.original_share, "both"),
        )
    ]


def _related_rows_findings(likeness: ControlTests | None, disclosure: Disclosure) -> list[out.Finding]:
    """Rows that belong together although no column declares it, so that figures take few people for many."""
    if likeness is None or likeness.relations.found is None:
        return []
    relations = likeness.relations
    share = disclosure.share(likeness.relations.found.share, "both")
    check = "control_related" if relations.across else "related_rows"
    return [out.Finding(check=check, closes_gate=True, message=relations.message, share=share)]


def _doubles(likeness: ControlTests | None, disclosure: Disclosure) -> list[out.Finding]:
    """Rows that occur in the control more than once: told if they are unusual, closing if beyond chance."""
    if likeness is None:
        return []
    doubles = likeness.doubles
    share = disclosure.share(doubles.share, "controls")
    if not doubles.suspicious and (doubles.usual or share == 0):
        return []
    return [
        out.Finding(
            check="control_duplicates",
            closes_gate=doubles.suspicious,
            message=doubles.message,
            share=share,
            expected=disclosure.share(doubles.expected, "controls"),
        )
    ]


def _other_population_findings(likeness: ControlTests | None) -> list[out.Finding]:
    """A control from another population: its rate does not estimate the originals' base rate."""
    if likeness is None:
        return []
    looks = likeness.differences
    if not looks:
        return []
    more = f" (and {len(looks) - 1} more)" if len(looks) > 1 else ""
    message = f"the control is unlike the originals: {looks[0]}{more}"
    return [out.Finding(check="control_unlike", closes_gate=True, message=message, count=len(looks))]


def _size(resolved: ResolvedConfig, inputs: Inputs) -> list[out.Finding]:
    control, originals = inputs.pair.control, inputs.pair.original.rows
    assert control is not None  # noqa: S101 - called only with a control
    running = resolved.able(control.rows, inputs.pair)
    halved = any(attacker.needs_reference for attacker in running.values())
    read = control.rows // 2 if halved else control.rows
    rates = (FALSE_RATE, *LARGER_FALSE_RATES)
    rate = next((rate for rate in rates if can_be_read(rate, read)), rates[-1])
    half = math.sqrt(_variance(len(running), rate) * (1 / originals + 1 / max(1, read)))
    if half <= HALF_WIDTH:
        return []
    readable = min(read, originals) >= FEWEST_RECORDS and can_be_read(rate, read)
    variance = _variance(len(running), FALSE_RATE)
    left = HALF_WIDTH**2 / variance - 1 / originals
    points = f"±{100 * HALF_WIDTH:.0f} points"
    message = f"{count_phrase(control.rows, 'control')} and {count_phrase(originals, 'original')} give the risk "
    message += f"an interval of about ±{100 * half:.0f} points" if readable else "no interval"
    if left > 0:
        needed = max(math.ceil(1 / left), math.ceil(FEWEST_LINKED_CONTROLS / FALSE_RATE)) * (2 if halved else 1)
        message += f"; {points} need about {needed:,} controls"
    else:
        message += f"; {points} need more originals, about {math.ceil(2 * variance / HALF_WIDTH**2):,}"
        needed = None
    return [out.Finding(check="control_small", closes_gate=False, message=message, count=needed)]


def _variance(attackers: int, rate: float) -> float:
    """The squared half-width of the risk for one original and one control each, if nobody can be linked.

    Then power is α, and the ROC has slope 1: originals and controls each add z² α (1 - α) / n to the squared half-width
    of the power, with z corrected for the pick. Dividing by (1 - α)² gives that of the risk.
    """
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / (2 * max(1, attackers)))
    return z * z * LEAST_EFFECT * rate / (1 - rate)
