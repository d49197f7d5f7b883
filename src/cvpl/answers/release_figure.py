"""The figure by which a release is compared with others, for the comparison and the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cvpl.result.comparison import BenchmarkRow, ComparedRelease, ComparisonResult
from cvpl.result.figures import Power
from cvpl.result.verdict import BestCandidate, Risk
from cvpl.wording import percent, span

FigureKind = Literal["risk", "best_candidate"]
NAMES: dict[FigureKind, str] = {"risk": "risk", "best_candidate": "best candidate is right"}
"""The figures in words."""
IN_SENTENCES: dict[FigureKind, str] = {"risk": "the risk", "best_candidate": "how often the best candidate is right"}
"""The figures in the middle of a sentence."""
HIGH = 0.5
"""A figure whose lower end is above this is called high: it concerns more than half of the people."""


def limit_in_words(limit: float) -> str:
    """A limit that somebody chose, without needless decimals: "5%"."""
    return f"{100 * limit:.4g}%"


@dataclass(frozen=True)
class ReleaseFigure:
    """One release: the figure that can be measured, with its interval, and its utility.

    With a control the figure is the risk. Without one it is the share of people whose best candidate is right. The
    estimate is None if nothing was measured; `instead` then says why. `utility` is None if it cannot be compared. A
    figure that is measured in another way than the others is not `ranked`.
    """

    name: str
    kind: FigureKind | None
    estimate: float | None
    low: float | None
    high: float | None
    utility: float | None = None
    efficient: bool | None = None
    instead: str = ""
    k: int = 1
    ranked: bool = True

    @property
    def value(self) -> str:
        """The estimate in words."""
        return self.instead if self.estimate is None else percent(self.estimate, k=self.k)

    @property
    def interval(self) -> str:
        """The interval in words; empty if there is none."""
        return span(self.low, self.high)

    @property
    def value_and_interval(self) -> str:
        """The estimate with its interval in words."""
        return f"{self.value} ({self.interval})" if self.interval else self.value

    @property
    def short_text(self) -> str:
        """The estimate in words, or the upper end if the interval includes 0: "4.0%", "at most 0.4%"."""
        if self.low is not None and self.high is not None and self.low <= 0:
            return f"at most {percent(self.high)}"
        return self.value

    @property
    def is_high(self) -> bool:
        """Whether more than half of the people are concerned: the lower end is above 50%, or there is no interval."""
        least = self.estimate if self.low is None else self.low
        return least is not None and least > HIGH


def compared_figures(result: ComparisonResult) -> list[ReleaseFigure]:
    """The releases of a comparison, best first: the lowest figure, then those without a rank, in their order."""
    return [compared_figure(release, result.suppress_below) for release in best_first(result)]


def best_first(result: ComparisonResult) -> list[ComparedRelease]:
    """The releases from the lowest risk to the highest; those without a rank come last."""
    ranked = [release for release in result.releases if release.risk_places is not None]
    return [*reversed(ranked), *(release for release in result.releases if release.risk_places is None)]


def compared_figure(release: ComparedRelease, k: int = 1) -> ReleaseFigure:
    """The figure of one release of a comparison."""
    found = _figure(release.risk, release.best_candidate, release.power) if release.assessable else None
    instead = "unknown" if release.assessable else "not assessable"
    kind, estimate, low, high = found or (None, None, None, None)
    useful, efficient = release.utility.score, release.on_frontier
    ranked = release.risk_places is not None
    return ReleaseFigure(release.name, kind, estimate, low, high, useful, efficient, instead, k, ranked)


def benchmark_figures(rows: Sequence[BenchmarkRow]) -> list[ReleaseFigure]:
    """The releases of one data set in their order."""
    found = []
    for row in rows:
        best = None
        if row.largest_top1 is not None and row.top1_hit_rate == row.largest_top1.top1_hit_rate:
            best = BestCandidate(
                estimate=row.largest_top1.top1_hit_rate, low=row.top1_low, high=row.top1_high, attacker="", among=1
            )
        figure = _figure(row.risk, best, row.power) if row.ranked_by is not None else None
        kind, estimate, low, high = figure or (None, None, None, None)
        instead = "unknown" if row.status == "assessed" else row.status.replace("_", " ")
        useful = None if row.utility is None else row.utility.score
        found.append(ReleaseFigure(row.name, kind, estimate, low, high, useful, None, instead, row.suppress_below))
    return found


Found = tuple[FigureKind, float, float | None, float | None]


def _figure(risk: Risk | None, best: BestCandidate | None, power: Power | None) -> Found | None:
    """The figure that can be measured; results of earlier versions have a power and no risk."""
    if risk is not None and risk.basis == "true_matches":
        if best is not None:
            return "best_candidate", best.estimate, best.low, best.high
        return "best_candidate", risk.estimate, risk.low, risk.high
    if risk is not None:
        return "risk", risk.estimate, risk.low, risk.high
    if power is not None and power.beyond_chance[0] is not None:
        return "risk", power.beyond_chance[0], power.beyond_chance[1], power.beyond_chance[2]
    return None
