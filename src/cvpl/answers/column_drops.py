"""What the releases of a comparison lose in risk without a column, by the figure that can be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvpl.answers.column_effects import NAMES, ColumnDrop, DropField, drop_of
from cvpl.answers.release_figure import best_first, compared_figure
from cvpl.result.comparison import ComparisonResult


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
