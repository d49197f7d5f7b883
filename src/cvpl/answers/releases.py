"""Releases side by side: the figure that compares them, what columns add to it, and which release is recommended.

What leaving out a column does to a release, by the figure that counts. There are three figures, and only one of them
counts for a result:

risk             with a control: (power - α) / (1 - α) at the false-positive rate α = 5%, of the headline attacker
top1_hit_rate    without a control but with true matches: the power is blind to releases of equal records
power            otherwise: the power at 5% itself
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cvpl.answers.headline import headline_risk
from cvpl.estimates import FALSE_RATE
from cvpl.result.audit import AuditResult, PolicyOutcome
from cvpl.result.comparison import BenchmarkRow, ComparedRelease, ComparisonResult
from cvpl.result.figures import Power
from cvpl.result.setting import Contribution
from cvpl.result.verdict import BestCandidate, Risk
from cvpl.wording import FIGURES, count_phrase, percent, printable, span

LOST = 0.5
"""A utility figure below this, from 0 to 1, is called lost."""
_MANY = 3
_KEPT = {
    "correlation_preservation": "correlations",
    "marginal_similarity": "marginals",
    "downstream_accuracy_ratio": "predictions",
    "distance_preservation": "distances",
}
_POLICY_ON = {"risk": "risk", "best_candidate": "top1_hit_rate"}


def recommendation(result: ComparisonResult) -> str:
    """The release with the lowest risk, its cost, and the releases that meet the policy.

    Releases are compared by what can be measured: the risk with a control, else how often the best candidate is right.
    """
    ranked = _ranked_releases(result)
    if not ranked:
        return "The releases cannot be ranked: none of them has a known risk."
    return " ".join([_lowest(result, ranked), *_high(result, ranked[0]), *([policy_sentence(result) or ""])]).strip()


def reservations(result: ComparisonResult) -> list[str]:
    """What has to be said beside the recommendation: costs of tied releases, releases without a rank, and the basis."""
    ranked, parts = _ranked_releases(result), []
    least = _least(ranked)
    if len(least) > 1:
        for release in least[:_MANY]:
            if against := costs(release):
                parts.append(f"'{printable(release.name)}': {'; '.join(against)}.")
    if rest := len(result.releases) - len(ranked):
        parts.append(f"{count_phrase(rest, 'release')} cannot be ranked.")
    if ranked and all(release.risk is not None and release.risk.basis == "true_matches" for release in ranked):
        why = "The control is too small" if "control" in result.inputs else "There is no control"
        parts.append(f"{why}, so the order follows how often the best candidate is the right person.")
    return parts


def _ranked_releases(result: ComparisonResult) -> list[ComparedRelease]:
    return [release for release in best_first(result) if release.risk_places is not None]


def _least(ranked: Sequence[ComparedRelease]) -> list[ComparedRelease]:
    """The releases that may have the lowest figure."""
    return [item for item in ranked if item.risk_places is not None and item.risk_places.last == len(ranked)]


def policy_sentence(result: ComparisonResult) -> str | None:
    """Which releases meet the policy; None if the comparison has none."""
    judged = [release for release in best_first(result) if release.policies]
    if not judged:
        return None
    limits = _limits(judged[0].policies)
    met = [release for release in judged if meets_policies(release)]
    if not met:
        return f"None meets the policy ({limits})."
    if len(met) == 1:
        words = f"Only '{printable(met[0].name)}' meets the policy ({limits})"
        words = words.removeprefix("Only ") if len(judged) == 1 else words
    else:
        whole = len(result.releases)
        words = f"{f'All {whole}' if len(met) == whole else f'{len(met)} of {whole}'} meet the policy ({limits})"
    known = [release for release in met if release.utility.score is not None]
    if len(known) > 1:
        most = max(known, key=lambda release: release.utility.score or 0.0)
        words += f"; of these, '{printable(most.name)}' has the highest utility ({most.utility.score or 0.0:.2f} of 1)"
    return f"{words}."


def meets_policies(release: ComparedRelease) -> bool | None:
    """Whether a release meets all policies of the comparison; None if there is none."""
    return all(outcome.met for outcome in release.policies) if release.policies else None


def limit_shown(result: ComparisonResult) -> float | None:
    """The strictest limit of a policy on the figure that is shown; None if there is none, or if figures differ."""
    kinds = {figure.kind for figure in compared_figures(result) if figure.kind is not None}
    if len(kinds) != 1:
        return None
    figure = _POLICY_ON[kinds.pop()]
    policies = [item for release in result.releases for item in release.policies]
    limits = [item.max for item in policies if item.figure == figure and item.max is not None]
    return min(limits, default=None)


def costs(release: ComparedRelease) -> list[str]:
    """What speaks against a release although its figure is low, the most important first."""
    found = []
    if any(finding.closes_gate for finding in release.preflight):
        found.append("a check closes the gate")
    risk, best, verdict = release.risk, release.best_candidate, release.verdict
    if risk is not None and risk.basis == "control":
        if verdict is not None and verdict.kind == "linkable" and (risk.low or 0.0) <= 0:
            found.append("some people can be linked for certain")
        if best is not None and best.low is not None and risk.high is not None and best.low > risk.high:
            found.append(f"the best candidate is right for {percent(best.estimate)}")
    if release.lower_bound:
        found.append("the search skipped some pairs, so its figure is a lower bound")
    lost = [words for field, words in _KEPT.items() if _is_lost(getattr(release.utility, field))]
    if release.utility.distance_basis != "same_people" and "distances" in lost:
        lost.remove("distances")
    if lost:
        found.append(f"{' and '.join([', '.join(lost[:-1]), lost[-1]] if len(lost) > 1 else lost)} are lost")
    if release.utility.reason is not None:
        found.append("it withholds columns that others have")
    return found


def _lowest(result: ComparisonResult, ranked: Sequence[ComparedRelease]) -> str:
    """The release, or the releases, that may have the lowest figure."""
    least = _least(ranked)
    best, values = least[0], [compared_figure(release, result.suppress_below) for release in least]
    against, name = costs(best), _figure_name(values[0])
    but = f", but {' and '.join(against[:2])}" if against else ""
    if len(ranked) == 1:
        ends = f"95% interval {values[0].interval}" if values[0].interval else "without an interval"
        return f"{name}: '{printable(best.name)}' ({values[0].value}, {ends}){but}."
    if len(least) == 1:
        return f"Lowest {name.lower()}: '{printable(best.name)}' ({values[0].short_text}){but}."
    if len(least) > _MANY:
        span = f"{values[0].short_text} to {values[-1].short_text}"
        return f"{len(least)} releases cannot be told apart: each may have the lowest {name.lower()} ({span})."
    listed = " and ".join(f"'{printable(item.name)}' ({item.short_text})" for item in values)
    return f"{listed} cannot be told apart: each may have the lowest {name.lower()}."


def _high(result: ComparisonResult, best: ComparedRelease) -> list[str]:
    """A word if even the lowest figure concerns more than half of the people."""
    figure = compared_figure(best, result.suppress_below)
    if not figure.is_high:
        return []
    if figure.kind == "risk":
        return [f"Even there, more than {HIGH:.0%} of the people can be linked."]
    return [f"Even there, the best candidate is right for more than {HIGH:.0%} of the people."]


def _figure_name(figure: ReleaseFigure) -> str:
    return "Risk" if figure.kind == "risk" else "Risk by the true matches"


def _limits(policies: Sequence[PolicyOutcome]) -> str:
    return ", ".join(
        f"{FIGURES[item.figure].removeprefix('the ')} at most {limit_in_words(item.max)}"
        for item in policies
        if item.max is not None
    )


def _is_lost(value: float | None) -> bool:
    return value is not None and value < LOST


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


EffectFigure = Literal["risk", "top1_hit_rate", "power"]
DropField = Literal["power_drop", "top1_drop"]
MATTERS = 0.02
"""A column is worth coarsening only if the figure falls by at least this much without it."""
EFFECT_NAMES: dict[EffectFigure, str] = {
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
        return EFFECT_NAMES[self.figure]

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
        return ColumnEffects("top1_hit_rate", _hits(result), _sort_drops(columns, "top1_drop"))
    risk, own = headline_risk(result), result.power_at(FALSE_RATE)
    if risk is None or risk.basis != "control" or own is None:
        return ColumnEffects("power", None if own is None else own.power, _sort_drops(columns, "power_drop"))
    # The published risk and power are rounded on their own: the one on the card is taken where it is the same figure.
    same = risk.attacker == result.attacker and risk.false_rate == FALSE_RATE
    before = risk.estimate if same else own.beyond_chance[0]
    return ColumnEffects("risk", before, _sort_drops(columns, "power_drop", 1 / (1 - FALSE_RATE)))


def _hits(result: AuditResult) -> float | None:
    best = result.best_candidate
    if best is not None and best.attacker == result.attacker:
        return best.estimate
    return None if result.truth is None else result.truth.top1_hit_rate


def _sort_drops(columns: list[Contribution], field: DropField, times: float = 1.0) -> dict[str, ColumnDrop]:
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
    figure = EFFECT_NAMES["top1_hit_rate" if by_hits else "power"]
    found = [
        {column.column: drop for column in release.feature_contribution.columns if (drop := drop_of(column, field))}
        for release in order
    ]
    return ComparedDrops(figure, tuple(release.name for release in order), tuple(found)) if any(found) else None
