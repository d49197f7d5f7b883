"""How far the figures can be trusted: self-linkage, validity, control likeness, sensitivity, warnings."""

from __future__ import annotations

from typing import Annotated

from cvpl.result.marks import Measured, OfBoth, OfControls, OfOriginals, OfRisk, OfTables, Share, Whole
from cvpl.result.section import Section

OfAsked = Annotated[float, Share("asked")]


class SelfRate(Section):
    """A self-linkage diagnostic over `asked` of `records` records."""

    rate: OfAsked | None
    top1_hit_rate: OfAsked | None
    asked: Whole
    records: Whole


class SelfLinkage(Section):
    """Whether the representation can distinguish records: within each table, and in a slightly perturbed copy."""

    original: SelfRate
    protected: SelfRate
    perturbed: SelfRate | None


class Validity(Section):
    """Whether the figures can be interpreted as risk, the reasons if not, and the measures behind it."""

    assessable: bool
    reasons: list[str]
    explained_variance: OfTables | None
    perturbed_top1: OfTables | None
    attainable_top1: OfTables
    zero_share_original: OfTables
    zero_share_protected: OfTables
    duplicate_share: OfTables
    shift: Measured | None
    covariance_distance: Measured | None
    correlation_preservation: OfTables | None


class ColumnLikeness(Section):
    """The distance between a column's distributions in the control and the originals."""

    column: str
    distance: OfBoth
    missing: OfBoth
    differs: bool


class ControlLikeness(Section):
    """Whether control and originals look like one population; `alarms` has a sentence for each difference."""

    alike: bool
    enough: bool
    area: OfBoth
    copies_beyond_chance: OfBoth
    columns: list[ColumnLikeness]
    alarms: list[str]


class Variation(Section):
    """Figures under another choice of blocking, or of encoding and scaling; power at a false-positive rate of 5%."""

    choice: str
    name: str
    linkage_rate: OfOriginals
    control_rate: OfControls | None
    attributable_rate: OfBoth | None
    power: OfRisk | None


class Sensitivity(Section):
    """How much the figures vary: largest minus smallest power (linkage rate if the power is unknown)."""

    attacker: str
    asked: Whole
    variations: list[Variation]
    spread_by_blocking: OfRisk | None
    spread_by_encoding: OfRisk | None


class Warning_(Section):  # noqa: N801 - Warning is Python's own
    """A warning: its rule, its sentence, and the page of the docs that explains it."""

    rule: str
    message: str
    docs: str | None = None
