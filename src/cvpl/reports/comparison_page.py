"""The report of a comparison: which releases there are to choose from, how sure their order is, and what to doubt."""

from __future__ import annotations

import shlex

import yaml

from cvpl import charts
from cvpl.charts import Numbers
from cvpl.reports.comparison import compared_risk, comparison_headline, own_verdict
from cvpl.reports.page import drawn, page
from cvpl.result import ComparisonResult
from cvpl.wording import UNKNOWN, percent, places, points, printable, span, typed

_NEXT = "cvpl audit ORIGINAL RELEASE --config audit.yaml --control FILE --out DIR"


def comparison_page(result: ComparisonResult, *, opened: bool = False) -> str:
    """The page as HTML, from a result alone; `opened` for paper."""
    return page(
        "comparison.html",
        opened=opened,
        title=f"Releases of {printable(result.inputs['original'].name)} compared",
        result=result,
        original=printable(result.inputs["original"].name),
        answer=comparison_headline(result),
        setting=_setting(result),
        frontier=drawn(charts.frontier(result)),
        contributions=drawn(charts.compared_contributions(result)),
        order=_order(result),
        risk_read=compared_risk(result),
        verdicts=[
            (printable(release.name), own_verdict(release)) for release in result.releases if own_verdict(release)
        ],
        figures=_figures(result),
        differences=_differences(result),
        utility=_utility(result),
        beaten=_beaten(result),
        warnings=_warnings(result),
        steps=_steps(result),
        inputs_table=_inputs(result),
        versions=", ".join(f"{name} {version}" for name, version in sorted(result.provenance.versions.items())),
        command=command(result),
        configuration=str(yaml.safe_dump(result.provenance.config, sort_keys=False, allow_unicode=True, width=100)),
    )


def command(result: ComparisonResult) -> str:
    """The command that repeats the comparison, with the configuration saved as audit.yaml."""
    words = ["cvpl", "compare", result.inputs["original"].name, *(release.name for release in result.releases)]
    words += ["--config", "audit.yaml"]
    if "control" in result.inputs:
        words += ["--control", result.inputs["control"].name]
    return " ".join(shlex.quote(printable(word)) for word in words)


def _setting(result: ComparisonResult) -> str:
    text = f"{result.inputs['original'].rows:,} originals, {len(result.releases)} releases"
    if "control" in result.inputs:
        return f"{text}, {result.inputs['control'].rows:,} people in the control."
    return f"{text}, no control."


def _order(result: ComparisonResult) -> Numbers:
    rows = []
    for release in result.releases:
        rows.append(
            (
                printable(release.name),
                UNKNOWN if release.risk_places is None else places(release.risk_places.first, release.risk_places.last),
                percent(release.shown[0]) if release.assessable else "not assessable",
                span(release.shown[1], release.shown[2]) if release.assessable else "",
                UNKNOWN if release.utility.score is None else f"{release.utility.score:.3f}",
                UNKNOWN if release.on_frontier is None else "yes" if release.on_frontier else "no",
            )
        )
    heads = ("release", "place by risk", "risk", "95% interval", "utility", "efficient")
    return Numbers("", "", heads, tuple(rows))


def _figures(result: ComparisonResult) -> Numbers:
    rows = tuple(
        (
            printable(release.name),
            printable(release.attacker),
            percent(None if release.attributable_rate is None else release.attributable_rate.estimate),
            ""
            if release.attributable_rate is None
            else span(release.attributable_rate.low, release.attributable_rate.high),
            percent(release.linkage_rate.estimate),
            percent(release.control_rate),
            percent(release.top1_hit_rate),
        )
        for release in result.releases
    )
    heads = ("release", "attacker", "attributable", "95% interval", "linked", "control", "top-1")
    return Numbers("", "", heads, rows)


def _differences(result: ComparisonResult) -> Numbers:
    rows = tuple(
        (
            f"{printable(difference.first)} - {printable(difference.second)}",
            "attributable rate" if difference.figure == "attributable_rate" else "risk",
            points(difference.estimate),
            difference.method
            if difference.low is None or difference.high is None
            else f"{points(difference.low)} to {points(difference.high)}",
            "tied" if difference.tied else "differ",
        )
        for difference in result.differences
    )
    return Numbers("", "", ("releases", "figure", "points", "interval", "outcome"), rows)


def _utility(result: ComparisonResult) -> Numbers:
    rows = []
    for release in result.releases:
        kept = release.utility
        distances = kept.distance_preservation if kept.distance_basis == "same_people" else None
        values = (
            kept.correlation_preservation,
            kept.marginal_similarity,
            kept.downstream_accuracy_ratio,
            distances,
            kept.score,
        )
        cells = (UNKNOWN if value is None else f"{value:.3f}" for value in values)
        rows.append((printable(release.name), *cells, "" if kept.reason is None else printable(kept.reason)))
    heads = ("release", "correlations", "marginals", "prediction", "distances", "compared", "why not")
    return Numbers("", "", heads, tuple(rows))


def _beaten(result: ComparisonResult) -> list[str]:
    parts = []
    for release in result.releases:
        if release.beaten_by:
            by = ", ".join(printable(name) for name in release.clearly_beaten_by or release.beaten_by)
            clear = "with less risk beyond error" if release.clearly_beaten_by else "within error"
            parts.append(f"{printable(release.name)} is beaten by {by}, {clear}.")
    return parts


def _warnings(result: ComparisonResult) -> list[tuple[str, str, str]]:
    """Message, docs and whose it is; those that stand for every release once."""
    found: dict[tuple[str, str], list[str]] = {}
    for release in result.releases:
        for warning in release.warnings:
            found.setdefault((warning.message, warning.docs or ""), []).append(printable(release.name))
    whole = len(result.releases)
    return [
        (message, docs, "all releases" if len(names) == whole else ", ".join(names))
        for (message, docs), names in found.items()
    ]


def _steps(result: ComparisonResult) -> list[str]:
    steps = []
    if not result.frontier:
        steps.append("Pass a control, or tables with true matches: without either no risk is known.")
    elif len(result.frontier) > 1:
        steps.append("Choose among the efficient releases; which trade-off is right is no figure's to say.")
    if any(difference.tied for difference in result.differences if difference.figure in ("risk", "power")):
        more = "a larger control" if "control" in result.inputs else "a control"
        steps.append(f"Where releases are tied, more originals and {more} might tell them apart.")
    if len({len(release.attackers) for release in result.releases}) == 1 and len(result.releases[0].attackers) == 1:
        again = typed("attacker: default")
        steps.append(f"Compare again with {again}: one attacker alone may miss what another finds.")
    steps.append(f"Audit the release that you choose: {typed(_NEXT)}. It tells who is at risk, and what to coarsen.")
    return steps


def _inputs(result: ComparisonResult) -> Numbers:
    tables = [*result.inputs.items(), *(("release", release.input) for release in result.releases)]
    rows = tuple(
        (role, printable(item.name), f"{item.rows:,}", f"{item.columns:,}", item.sha256 or UNKNOWN)
        for role, item in tables
    )
    return Numbers("", "", ("table", "name", "rows", "columns", "SHA-256"), rows)
