"""The attackers' figures, and their figures on canaries: releases with a known answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from cvpl.result.figures import Attributable, Power, Rate
from cvpl.result.section import Section
from cvpl.result.verdict import Risk


class Canary(Section):
    """An attacker's figures on a release with a known answer, over `asked` originals.

    `low` and `high` are the ends of the 99.9% interval of the attributable rate. `top1_hit_rate`, and
    `attainable_top1`, the largest hit rate that duplicate records allow, are for the identity release.
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
    """The two ends of the scale: the originals released unchanged, and independently drawn columns."""

    identity: Canary
    independent: Canary


class Picked(Section):
    """How the headline attacker was chosen: it has the largest risk of `among` attackers.

    Each interval has the confidence `confidence` = 1 - 0.05 / among, so that the one that was picked has at least 95%.
    `screened` are those that a quick look tried on a part of a large release only: others were stronger there.
    """

    among: int
    confidence: float
    screened: list[str] = Field(default_factory=list)


class AttackerRow(Section):
    """One attacker's main figures, over `asked` originals.

    `disqualified` lists why it does not count. `risk` is computed as for the headline attacker, even if the attacker
    does not count; null if it is unknown.
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
