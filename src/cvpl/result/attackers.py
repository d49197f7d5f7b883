"""The attackers side by side, and the releases with a known answer that each of them was tried on."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from cvpl.result.figures import Attributable, Power, Rate
from cvpl.result.section import Section
from cvpl.result.verdict import Risk


class Canary(Section):
    """An attacker's figures on a release whose answer is known, over `asked` originals.

    `low` and `high` are the ends of the attributable rate's 99.9% interval; `top1_hit_rate` and `attainable_top1`, the
    most that equal records allow, belong to the identity release.
    """

    asked: int
    linkage_rate: float | None
    control_rate: float | None
    attributable_rate: float | None
    low: float | None
    high: float | None
    power: float | None
    top1_hit_rate: float | None
    attainable_top1: float | None


class Canaries(Section):
    """The two ends of the scale: the originals released as they are, and columns drawn independently."""

    identity: Canary
    independent: Canary


class Picked(Section):
    """How the headline attacker came to be it: the one of `among` with the largest risk.

    Its intervals hold at `confidence` = 1 - 0.05 / among each, so that 95% is left for the one that was picked.
    """

    among: int
    confidence: float


class AttackerRow(Section):
    """One attacker's main figures, over `asked` originals.

    `disqualified` says why it does not count. `risk` is read as the headline's is, also where it does not count; null
    where nothing tells it.
    """

    name: str
    threshold: float | None
    linkage_rate: Rate
    control_rate: float | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    top1_hit_rate: float | None
    settings: dict[str, Any]
    asked: int | None = None
    disqualified: list[str] = Field(default_factory=list)
    canaries: Canaries | None = None
    risk: Risk | None = None
