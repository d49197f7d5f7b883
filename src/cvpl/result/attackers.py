"""The attackers' figures, and their figures on canaries: releases with a known answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from cvpl.result.figures import Attributable, Power, Rate
from cvpl.result.marks import Number, OfControlsOrStated, OfMatched, Share, Threshold, Whole
from cvpl.result.section import Section
from cvpl.result.verdict import Risk

NEAR_ZERO = 0.02
"""Risks up to this distance from 0 lie on each other in a chart."""
OfAsked = Annotated[float, Share("asked")]


class Canary(Section):
    """An attacker's figures on a release with a known answer, over `asked` originals.

    `low` and `high` are the ends of the 99.9% interval of the attributable rate. `top1_hit_rate`, and
    `attainable_top1`, the largest hit rate that duplicate records allow, are for the identity release.
    """

    asked: Whole
    linkage_rate: OfAsked | None
    control_rate: OfAsked | None
    attributable_rate: Annotated[float, Share("asked", ends="")] | None
    low: Annotated[float, Share("asked", "low")] | None
    high: Annotated[float, Share("asked", "high")] | None
    power: OfAsked | None
    top1_hit_rate: OfAsked | None
    attainable_top1: OfAsked | None


class Canaries(Section):
    """The two ends of the scale: the originals released unchanged, and independently drawn columns.

    Both are rounded. The records of `independent` are invented, but every figure is a share of originals and controls
    who find a look-alike there, and the values of the records are theirs too.
    """

    identity: Canary
    independent: Canary


class Picked(Section):
    """How the headline attacker was chosen: it has the largest risk of `among` attackers.

    Each interval has the confidence `confidence` = 1 - 0.05 / among, so that the one that was picked has at least 95%.
    `screened` are those that a quick look tried on a part of a large release only: others were stronger there.
    """

    among: Whole
    confidence: Number
    screened: list[str] = Field(default_factory=list)


class AttackerRow(Section):
    """One attacker's main figures, over `asked` originals.

    `disqualified` lists why it does not count. `risk` is computed as for the headline attacker, even if the attacker
    does not count; null if it is unknown.
    """

    name: str
    threshold: Threshold | None
    linkage_rate: Rate
    control_rate: OfControlsOrStated | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    top1_hit_rate: OfMatched | None
    settings: dict[str, Any]
    asked: Whole | None = None
    disqualified: list[str] = Field(default_factory=list)
    canaries: Canaries | None = None
    risk: Risk | None = None


def near_zero(rows: Sequence[AttackerRow]) -> list[Risk]:
    """The risks of the attackers if there are several and all are within 2 points of 0, else nothing.

    |risk| <= 0.02 for every attacker that has one, also those that do not count.
    """
    risks = [row.risk for row in rows if row.risk is not None]
    return risks if len(risks) > 1 and all(abs(risk.estimate) <= NEAR_ZERO for risk in risks) else []
