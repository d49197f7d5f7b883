"""What leaving out a column does to a release, by the figure that counts.

There are three figures, and only one of them counts for a result:

risk             with a control: (power - α) / (1 - α) at the false-positive rate α = 5%, of the headline attacker
top1_hit_rate    without a control but with true matches: the power is blind to releases of equal records
power            otherwise: the power at 5% itself
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cvpl.answers.headline import headline_risk
from cvpl.answers.release_figure import best_first, compared_figure
from cvpl.estimates import FALSE_RATE
from cvpl.result.audit import AuditResult
from cvpl.result.comparison import ComparisonResult
from cvpl.result.setting import Contribution

EffectFigure = Literal["risk", "top1_hit_rate", "power"]
DropField = Literal["power_drop", "top1_drop"]
MATTERS = 0.02
"""A column is worth coarsening only if the figure falls by at least this much without it."""
NAMES: dict[EffectFigure, str] = {
    "risk": "the risk",
    "top1_hit_rate": "the top-1 hit rate",
    "power": "the power at 5%",
}


@dataclass(frozen=True)
class ColumnDrop:
    """How far the figure falls without the column, with its interval; negative if it rises."""

    drop: float
    low: float | None = None
    high: float | None = None

    @property
    def within_error(self) -> bool:
        """Whether the interval includes 0; false without an interval."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high

    @property
    def certain(self) -> bool:
        """Whether the figure falls beyond error: the whole interval is above 0."""
        return self.low is not None and self.low > 0


@dataclass(frozen=True)
class ColumnEffects:
    """The figure, its value with all columns (None if not known), and the drop without each column, largest first."""

    figure: EffectFigure
    before: float | None
    drops: dict[str, ColumnDrop]

    @property
    def name(self) -> str:
        """The figure in the middle of a sentence."""
        return NAMES[self.figure]

    @property
    def telling(self) -> list[str]:
        """The columns without which the figure falls for certain and by at least 2 points, the largest drop first."""
        return [column for column, found in self.drops.items() if found.certain and found.drop >= MATTERS]

    @property
    def none_certain(self) -> bool:
        """Whether the figure falls beyond error without no column; true if no drop is known."""
        return not any(found.certain for found in self.drops.values())

    def after(self, column: str) -> float | None:
        """The figure without a column, before - drop, between 0 and 1; None if the figure is not known."""
        return None if self.before is None else min(1.0, max(0.0, self.before - self.drops[column].drop))


def drop_of(column: Contribution, field: DropField) -> ColumnDrop | None:
    """The drop of one kind with its interval; None if it was not measured."""
    drop, low, high = (getattr(column, name) for name in (field, f"{field}_low", f"{field}_high"))
    return None if drop is None else ColumnDrop(drop, low, high)


def column_effects(result: AuditResult) -> ColumnEffects:
    """The effect of each column by the figure that counts; no drops if none was measured.

    A drop d of the power at α is a drop d / (1 - α) of the risk.
    """
    columns = result.feature_contribution.columns
    if result.control is None and any(item.top1_drop is not None for item in columns):
        return ColumnEffects("top1_hit_rate", _hits(result), _sorted(columns, "top1_drop"))
    risk, own = headline_risk(result), result.power_at(FALSE_RATE)
    if risk is None or risk.basis != "control" or own is None:
        return ColumnEffects("power", None if own is None else own.power, _sorted(columns, "power_drop"))
    # The published risk and power are rounded on their own: the one on the card is taken where it is the same figure.
    same = risk.attacker == result.attacker and risk.false_rate == FALSE_RATE
    before = risk.estimate if same else own.beyond_chance[0]
    return ColumnEffects("risk", before, _sorted(columns, "power_drop", 1 / (1 - FALSE_RATE)))


def _hits(result: AuditResult) -> float | None:
    best = result.best_candidate
    if best is not None and best.attacker == result.attacker:
        return best.estimate
    return None if result.truth is None else result.truth.top1_hit_rate


def _sorted(columns: list[Contribution], field: DropField, times: float = 1.0) -> dict[str, ColumnDrop]:
    found = {item.column: drop for item in columns if (drop := drop_of(item, field)) is not None}
    return {
        name: ColumnDrop(drop.drop * times, *(None if end is None else end * times for end in (drop.low, drop.high)))
        for name, drop in sorted(found.items(), key=lambda item: -item[1].drop)
    }


@dataclass(frozen=True)
class ComparedDrops:
    """The name of the figure, the releases best first, and the drop of each column in each of them."""

    figure: str
    releases: tuple[str, ...]
    by_release: tuple[Mapping[str, ColumnDrop], ...]

    @property
    def columns(self) -> list[str]:
        """The columns, the largest drop first."""
        names = dict.fromkeys(name for found in self.by_release for name in found)
        return sorted(names, key=lambda name: -max(found[name].drop for found in self.by_release if name in found))

    @property
    def within_error(self) -> bool:
        """Whether every drop is within error."""
        return all(item.within_error for found in self.by_release for item in found.values())


def compared_drops(result: ComparisonResult) -> ComparedDrops | None:
    """The drops in every release; None if none is known.

    With a control it is the power at a false-positive rate of 5% that falls. Without one, that power is blind to
    releases of equal records, and the top-1 hit rate takes its place.
    """
    order = best_first(result)
    by_hits = any(compared_figure(release).kind == "best_candidate" for release in order)
    field: DropField = "top1_drop" if by_hits else "power_drop"
    figure = NAMES["top1_hit_rate" if by_hits else "power"]
    found = [
        {column.column: drop for column in release.feature_contribution.columns if (drop := drop_of(column, field))}
        for release in order
    ]
    return ComparedDrops(figure, tuple(release.name for release in order), tuple(found)) if any(found) else None
