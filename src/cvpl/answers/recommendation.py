"""The answer of a comparison: which release has the lowest risk, at what cost, and which ones are allowed."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.answers.release_figure import (
    HIGH,
    ReleaseFigure,
    best_first,
    compared_figure,
    compared_figures,
    limit_in_words,
)
from cvpl.result.audit import PolicyOutcome
from cvpl.result.comparison import ComparedRelease, ComparisonResult
from cvpl.wording import FIGURES, counted, percent, printable

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
    ranked = _ranked(result)
    if not ranked:
        return "The releases cannot be ranked: none of them has a known risk."
    return " ".join([_lowest(result, ranked), *_high(result, ranked[0]), *([policy_sentence(result) or ""])]).strip()


def reservations(result: ComparisonResult) -> list[str]:
    """What has to be said beside the recommendation: costs of tied releases, releases without a rank, and the basis."""
    ranked, parts = _ranked(result), []
    least = _least(ranked)
    if len(least) > 1:
        for release in least[:_MANY]:
            if against := costs(release):
                parts.append(f"'{printable(release.name)}': {'; '.join(against)}.")
    if rest := len(result.releases) - len(ranked):
        parts.append(f"{counted(rest, 'release')} cannot be ranked.")
    if ranked and all(release.risk is not None and release.risk.basis == "true_matches" for release in ranked):
        why = "The control is too small" if "control" in result.inputs else "There is no control"
        parts.append(f"{why}, so the order follows how often the best candidate is the right person.")
    return parts


def _ranked(result: ComparisonResult) -> list[ComparedRelease]:
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
    met = [release for release in judged if meets(release)]
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


def meets(release: ComparedRelease) -> bool | None:
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
    against, name = costs(best), _named(values[0])
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


def _named(figure: ReleaseFigure) -> str:
    return "Risk" if figure.kind == "risk" else "Risk by the true matches"


def _limits(policies: Sequence[PolicyOutcome]) -> str:
    return ", ".join(
        f"{FIGURES[item.figure].removeprefix('the ')} at most {limit_in_words(item.max)}"
        for item in policies
        if item.max is not None
    )


def _is_lost(value: float | None) -> bool:
    return value is not None and value < LOST
