"""Results of earlier versions, upgraded to the current schema when they are read.

Version 1 of an audit (`cvpl/audit/1`) has no verdict. Earlier results of every kind state why an interval is refused,
and the measured coverage, as sentences in `method` and `coverage`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.result.verdict import BestCandidate, Risk, VerdictFigures, verdict_of

EARLIER = "cvpl/audit/1"
PRESENT = "cvpl/audit/2"
UNLIKE = "the control is unlike the originals"
_REFUSED = "refused: "
_COVERAGE = re.compile(r"(\d(?:\.\d+)?)(?: measured at 95%, (\d(?:\.\d+)?) at 99\.9%)?")


def with_interval_fields(data: Any) -> Any:
    """Return `data` with earlier sentences on intervals parsed into `refused` and the measured coverage."""
    if isinstance(data, list):
        return [with_interval_fields(item) for item in data]
    if not isinstance(data, Mapping):
        return data
    found = {key: with_interval_fields(item) for key, item in data.items()}
    if not {"low", "high"} <= found.keys():
        return found
    method, coverage = found.get("method"), found.get("coverage")
    if isinstance(method, str) and method.startswith(_REFUSED):
        found |= {"method": "none", "refused": method.removeprefix(_REFUSED)}
    if isinstance(coverage, str):
        shares = measured.groups() if (measured := _COVERAGE.fullmatch(coverage)) else (None, None)
        at_95, at_999 = (None if share is None else float(share) for share in shares)
        found |= {"coverage": at_95, "coverage_at_999": at_999}
    return found


def upgraded(data: Any) -> Any:
    """Add the verdict to an audit result of version 1, from its own figures; return anything else unchanged.

    Version 1 has no checks before the attack and no figure at 1% for the other attackers, so `preflight` is empty and
    `certain` is null.
    """
    if not isinstance(data, Mapping) or data.get("schema") != EARLIER:
        return data
    try:
        figures = _figures(data)
    except (KeyError, TypeError, ValueError, AttributeError):
        return data  # not an audit result; validation will report it
    found = {
        "attackers": [_with_risk(row, data.get("control") is not None) for row in data.get("attackers") or []],
        "verdict": verdict_of(figures).model_dump(),
        "risk": None if figures.risk is None else figures.risk.model_dump(),
        "best_candidate": None if figures.best_candidate is None else figures.best_candidate.model_dump(),
    }
    return {**data, **found, "schema": PRESENT}


def _figures(data: Mapping[str, Any]) -> VerdictFigures:
    attacker, picked, truth = data["attacker"], data.get("picked") or {}, data.get("truth")
    among = picked.get("among", 1)
    best = None
    if truth is not None and truth.get("top1_hit_rate") is not None:
        ends = truth.get("top1_low"), truth.get("top1_high")
        best = BestCandidate(estimate=truth["top1_hit_rate"], low=ends[0], high=ends[1], attacker=attacker, among=among)
    risk = None
    if data.get("control") is not None:
        risk = _risk(data.get("power"), attacker, among, picked.get("confidence", 0.95))
    missing = "there is no control"
    if data.get("control") is not None:
        missing = "the power at a false-positive rate of 5% " + ("is not known" if risk is None else "has no interval")
    validity, likeness = data["validity"], data.get("control_likeness")
    return VerdictFigures(
        reasons=[] if validity["assessable"] else list(validity["reasons"]),
        risk=risk,
        best_candidate=best,
        missing=missing,
        control_fault=None if likeness is None or likeness.get("alike", True) else UNLIKE,
        checked=False,
        lower_bound=bool(data.get("lower_bound")),
    )


def _risk(powers: Any, attacker: str, among: int = 1, confidence: float = 0.95) -> Risk | None:
    """The risk at a false-positive rate of 5%; None if the powers do not include that rate."""
    power = next((point for point in powers or [] if point["false_rate"] == FALSE_RATE), None)
    if power is None:
        return None
    low, high = (None if power.get(end) is None else beyond_chance(power[end], FALSE_RATE) for end in ("low", "high"))
    return Risk(
        estimate=beyond_chance(power["power"], FALSE_RATE),
        low=low,
        high=high,
        power=power["power"],
        false_rate=FALSE_RATE,
        basis="control",
        attacker=attacker,
        among=among,
        confidence=confidence,
        method=power.get("method", "none"),
        refused=power.get("refused"),
        coverage=power.get("coverage"),
        coverage_at_999=power.get("coverage_at_999"),
    )


def _with_risk(row: Mapping[str, Any], with_control: bool) -> Mapping[str, Any]:
    risk = _risk(row.get("power"), row["name"]) if with_control else None
    return {**row, "risk": None if risk is None else risk.model_dump()}
