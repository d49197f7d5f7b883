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
        verdicts=[(printable(it.name), own_verdict(it)) for it in result.releases if own_verdict(it)],
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
    words = ["cvpl", "compare", result.inputs["original"].name, *(it.name for it in result.releases)]
    words += ["--config", "audit.yaml"]
    if "control" in result.inputs:
        words += ["--control", result.inputs["control"].name]
    return " ".join(shlex.quote(printable(word)) for word in words)


def _setting(result: ComparisonResult) -> str:
    told = f"{result.inputs['original'].rows:,} originals, {len(result.releases)} releases"
    if "control" in result.inputs:
        return f"{told}, {result.inputs['control'].rows:,} people in the control."
    return f"{told}, no control."


def _order(result: ComparisonResult) -> Numbers:
    rows = []
    for it in result.releases:
        rows.append(
            (
                printable(it.name),
                UNKNOWN if it.risk_places is None else places(it.risk_places.first, it.risk_places.last),
                percent(it.shown[0]) if it.assessable else "not assessable",
                span(it.shown[1], it.shown[2]) if it.assessable else "",
                UNKNOWN if it.utility.score is None else f"{it.utility.score:.3f}",
                UNKNOWN if it.on_frontier is None else "yes" if it.on_frontier else "no",
            )
        )
    heads = ("release", "place by risk", "risk", "95% interval", "utility", "efficient")
    return Numbers("", "", heads, tuple(rows))


def _figures(result: ComparisonResult) -> Numbers:
    rows = tuple(
        (
            printable(it.name),
            printable(it.attacker),
            percent(None if it.attributable_rate is None else it.attributable_rate.estimate),
            "" if it.attributable_rate is None else span(it.attributable_rate.low, it.attributable_rate.high),
            percent(it.linkage_rate.estimate),
            percent(it.control_rate),
            percent(it.top1_hit_rate),
        )
        for it in result.releases
    )
    heads = ("release", "attacker", "attributable", "95% interval", "linked", "control", "top-1")
    return Numbers("", "", heads, rows)


def _differences(result: ComparisonResult) -> Numbers:
    rows = tuple(
        (
            f"{printable(it.first)} - {printable(it.second)}",
            "attributable rate" if it.figure == "attributable_rate" else "risk",
            points(it.estimate),
            it.method if it.low is None or it.high is None else f"{points(it.low)} to {points(it.high)}",
            "tied" if it.tied else "differ",
        )
        for it in result.differences
    )
    return Numbers("", "", ("releases", "figure", "points", "interval", "outcome"), rows)


def _utility(result: ComparisonResult) -> Numbers:
    rows = []
    for it in result.releases:
        kept = it.utility
        distances = kept.distance_preservation if kept.distance_basis == "same_people" else None
        values = (
            kept.correlation_preservation,
            kept.marginal_similarity,
            kept.downstream_accuracy_ratio,
            distances,
            kept.score,
        )
        cells = (UNKNOWN if value is None else f"{value:.3f}" for value in values)
        rows.append((printable(it.name), *cells, "" if kept.reason is None else printable(kept.reason)))
    heads = ("release", "correlations", "marginals", "prediction", "distances", "compared", "why not")
    return Numbers("", "", heads, tuple(rows))


def _beaten(result: ComparisonResult) -> list[str]:
    told = []
    for it in result.releases:
        if it.beaten_by:
            by = ", ".join(printable(name) for name in it.clearly_beaten_by or it.beaten_by)
            clear = "with less risk beyond error" if it.clearly_beaten_by else "within error"
            told.append(f"{printable(it.name)} is beaten by {by}, {clear}.")
    return told


def _warnings(result: ComparisonResult) -> list[tuple[str, str, str]]:
    """Message, docs and whose it is; those that stand for every release once."""
    found: dict[tuple[str, str], list[str]] = {}
    for it in result.releases:
        for warning in it.warnings:
            found.setdefault((warning.message, warning.docs or ""), []).append(printable(it.name))
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
    if any(it.tied for it in result.differences if it.figure in ("risk", "power")):
        more = "a larger control" if "control" in result.inputs else "a control"
        steps.append(f"Where releases are tied, more originals and {more} might tell them apart.")
    if len({len(it.attackers) for it in result.releases}) == 1 and len(result.releases[0].attackers) == 1:
        again = typed("attacker: default")
        steps.append(f"Compare again with {again}: one attacker alone may miss what another finds.")
    steps.append(f"Audit the release that you choose: {typed(_NEXT)}. It tells who is at risk, and what to coarsen.")
    return steps


def _inputs(result: ComparisonResult) -> Numbers:
    tables = [*result.inputs.items(), *(("release", it.input) for it in result.releases)]
    rows = tuple(
        (role, printable(it.name), f"{it.rows:,}", f"{it.columns:,}", it.sha256 or UNKNOWN) for role, it in tables
    )
    return Numbers("", "", ("table", "name", "rows", "columns", "SHA-256"), rows)
