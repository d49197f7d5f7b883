"""The inference rate of one of several releases, as the text of cells: in a comparison and on a leaderboard."""

from __future__ import annotations

from typing import Literal

from cvpl.reports.sections.inference import ATTACKERS, SCORES
from cvpl.result import ReleaseInference
from cvpl.wording import UNKNOWN, percent, printable, span

INFERENCE: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("inference rate", "right"),
    ("interval", "right"),
    ("secret", "left"),
    ("attacker", "left"),
    ("note", "left"),
)
"""The heads of the cells, and their side."""
INFERENCE_CSV = (
    "inference_rate",
    "inference_low",
    "inference_high",
    "inference_secret",
    "inference_attacker",
    "inference_score",
    "inference_note",
)


def inference_cells(found: ReleaseInference | None, k: int = 1) -> tuple[str, ...]:
    """The cells under `INFERENCE`: the rate, or why there is none."""
    if found is None:
        return (UNKNOWN, *("",) * 4)
    reason = printable(found.reason or "")
    if found.rate is None:
        return ("not measured" if not found.secrets else UNKNOWN, "", "", "", reason)
    rate = found.rate
    score = "" if rate.score == "accuracy" else f", {SCORES.get(rate.score, rate.score)}"
    return (
        percent(rate.estimate, k=k),
        span(rate.low, rate.high),
        printable(rate.column),
        printable(f"{ATTACKERS.get(rate.attacker, rate.attacker)}{score}"),
        reason,
    )


def inference_values(found: ReleaseInference | None) -> tuple[object, ...]:
    """The values under `INFERENCE_CSV`; unknown ones are None."""
    if found is None or found.rate is None:
        return (*(None,) * 6, None if found is None else found.reason)
    rate = found.rate
    return rate.estimate, rate.low, rate.high, rate.column, rate.attacker, rate.score, found.reason
