"""The inference rate of one of several releases, as columns: in a comparison and on a leaderboard."""

from __future__ import annotations

from typing import NamedTuple

from cvpl.reports.sections.inference import ATTACKERS, SCORES
from cvpl.reports.sections.section import Column
from cvpl.result import InferenceRate, ReleaseInference
from cvpl.wording import UNKNOWN, percent, printable, span

INFERENCE_CSV = (
    "inference_rate",
    "inference_low",
    "inference_high",
    "inference_secret",
    "inference_attacker",
    "inference_score",
    "inference_note",
)


class InferredRelease(NamedTuple):
    """A release: its name, what was inferred of it, and the k of its rounding."""

    name: str
    found: ReleaseInference | None
    k: int

    @property
    def rate(self) -> InferenceRate | None:
        """The inference rate; None if there is none."""
        return None if self.found is None else self.found.rate


def _rate(row: InferredRelease) -> str:
    if row.rate is not None:
        return percent(row.rate.estimate, k=row.k)
    return UNKNOWN if row.found is None or row.found.secrets else "not measured"


def _attacker(rate: InferenceRate) -> str:
    score = "" if rate.score == "accuracy" else f", {SCORES.get(rate.score, rate.score)}"
    return printable(f"{ATTACKERS.get(rate.attacker, rate.attacker)}{score}")


INFERENCE: tuple[Column[InferredRelease], ...] = (
    Column("inference rate", _rate),
    Column("interval", lambda row: "" if row.rate is None else span(row.rate.low, row.rate.high)),
    Column("secret", lambda row: "" if row.rate is None else printable(row.rate.column), "left"),
    Column("attacker", lambda row: "" if row.rate is None else _attacker(row.rate), "left"),
    Column("note", lambda row: "" if row.found is None else printable(row.found.reason or ""), "left"),
)
"""The rate of a release, or why there is none."""


def inference_values(found: ReleaseInference | None) -> tuple[object, ...]:
    """The values under `INFERENCE_CSV`; unknown ones are None."""
    if found is None or found.rate is None:
        return (*(None,) * 6, None if found is None else found.reason)
    rate = found.rate
    return rate.estimate, rate.low, rate.high, rate.column, rate.attacker, rate.score, found.reason
