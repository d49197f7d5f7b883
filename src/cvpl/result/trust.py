"""How far the figures can be trusted: self-linkage, validity, control likeness, sensitivity, warnings."""

from __future__ import annotations

from cvpl.result.section import Section


class SelfRate(Section):
    """A self-linkage diagnostic over `asked` of `records` records."""

    rate: float | None
    top1_hit_rate: float | None
    asked: int
    records: int


class SelfLinkage(Section):
    """Whether the representation can distinguish records: within each table, and in a slightly perturbed copy."""

    original: SelfRate
    protected: SelfRate
    perturbed: SelfRate | None


class Validity(Section):
    """Whether the figures can be interpreted as risk, the reasons if not, and the measures behind it."""

    assessable: bool
    reasons: list[str]
    explained_variance: float | None
    perturbed_top1: float | None
    attainable_top1: float
    zero_share_original: float
    zero_share_protected: float
    duplicate_share: float
    shift: float | None
    covariance_distance: float | None
    correlation_preservation: float | None


class ColumnLikeness(Section):
    """The distance between a column's distributions in the control and the originals."""

    column: str
    distance: float
    missing: float
    differs: bool


class ControlLikeness(Section):
    """Whether control and originals look like one population; `alarms` has a sentence for each difference."""

    alike: bool
    enough: bool
    area: float
    copies_beyond_chance: float
    columns: list[ColumnLikeness]
    alarms: list[str]


class Variation(Section):
    """Figures under another choice of blocking, or of encoding and scaling; power at a false-positive rate of 5%."""

    choice: str
    name: str
    linkage_rate: float
    control_rate: float | None
    attributable_rate: float | None
    power: float | None


class Sensitivity(Section):
    """How much the figures vary: largest minus smallest power (linkage rate if the power is unknown)."""

    attacker: str
    asked: int
    variations: list[Variation]
    spread_by_blocking: float | None
    spread_by_encoding: float | None


class Warning_(Section):  # noqa: N801 - Warning is Python's own
    """A warning: its rule, its sentence, and the page of the docs that explains it."""

    rule: str
    message: str
    docs: str | None = None
