"""The report of a comparison as a list of sections: the recommendation, the order, the map, and what is behind them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from cvpl.answers.column_effects import ColumnDrop, compared_drops
from cvpl.answers.recommendation import costs, meets, recommendation, reservations
from cvpl.answers.release_figure import HIGH, ReleaseFigure, best_first, compared_figure, compared_figures
from cvpl.reports.inferred_releases import InferredRelease
from cvpl.reports.sections.audit import NO_GUARANTEE
from cvpl.reports.sections.compared_inference import compared_inference_section
from cvpl.reports.sections.comparison_details import (
    attackers_section,
    criteria_section,
    differences_section,
    releases_section,
    score_in_words,
    utility_section,
)
from cvpl.reports.sections.provenance import REPRODUCE, SAME, configuration_section, inputs_table, shell, versions
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    REPORTS,
    SCREENS,
    TERMINAL,
    TITLE,
    Column,
    Figure,
    Item,
    Remark,
    ReportSection,
    chart_of,
    table_of,
)
from cvpl.reports.sections.warnings import pointer_section, shared_items, warnings_section
from cvpl.result import ComparedDraws, ComparedRelease, ComparisonResult
from cvpl.wording import (
    UNKNOWN,
    counted,
    named,
    percent,
    places,
    points,
    printable,
    rounding_in_words,
    span,
    typed,
)

_WIDE = 90
"""Terminals at least this wide show the places."""
_AUDIT = "cvpl audit ORIGINAL RELEASE --config audit.yaml --control FILE --out DIR"


def comparison_sections(result: ComparisonResult) -> list[ReportSection]:
    """All sections of the report, from the recommendation to the provenance."""
    multiple = "The intervals are not corrected for multiple comparisons: among many pairs, some differ by chance."
    warnings = shared_items(
        [(release.name, [(item.message, item.docs or "") for item in release.warnings]) for release in result.releases]
    )
    return [
        ReportSection(
            TITLE,
            f"Releases of {named(result.inputs['original'].name)} compared",
            sentences=(Remark(recommendation(result)),),
            outputs=EVERYWHERE,
        ),
        ReportSection("reservations", sentences=tuple(map(Remark, reservations(result))), outputs=EVERYWHERE),
        pointer_section([warning for release in result.releases for warning in release.warnings], len(warnings)),
        _order(result),
        _map(result),
        draws_section(result),
        _steps_section(_steps(result)),
        _columns(result),
        releases_section(result),
        warnings_section(warnings),
        utility_section(result),
        criteria_section(result),
        compared_inference_section(
            [InferredRelease(release.name, release.inference, result.suppress_below) for release in best_first(result)]
        ),
        attackers_section(result),
        differences_section(result),
        _provenance(result),
        repeat_section(result),
        configuration_section(result.provenance.config),
        ReportSection(CLOSING, sentences=(Remark(f"{NO_GUARANTEE} {multiple}", "quiet"),), outputs=REPORTS),
    ]


def _steps_section(steps: list[str]) -> ReportSection:
    return ReportSection(
        "next", "What to do next", items=tuple(Item(step) for step in steps), items_as="steps", outputs=REPORTS
    )


def _order(result: ComparisonResult) -> ReportSection:
    """The releases, best first: a ruler for each, and one table."""
    heading = "The releases, best first"
    ranked = sum(release.risk_places is not None for release in result.releases)
    figures = compared_figures(result)
    kinds = list(dict.fromkeys(figure.kind for figure in figures if figure.kind is not None))
    judged = any(release.policies for release in result.releases)
    measured = {"risk": "risk", "best_candidate": "top-1"}[kinds[0]] if len(kinds) == 1 else "figure"
    met = {True: "met", False: "not met", None: UNKNOWN}
    columns: tuple[Column[tuple[ComparedRelease, ReleaseFigure]], ...] = (
        Column("release", lambda row: named(row[0].name), "left"),
        Column("place", lambda row: _place(row[0], ranked), least_width=_WIDE),
        Column(measured, lambda row: row[1].value),
        Column("95% interval", lambda row: row[1].interval if row[0].assessable else ""),
        Column("policy", lambda row: met[meets(row[0])], "name", shown=judged),
        Column("utility", lambda row: score_in_words(row[0].utility.score)),
        Column("efficient", lambda row: efficient_in_words(row[0], result.suppress_below), "name"),
        Column("but", lambda row: "; ".join(costs(row[0])) if row[0].assessable else "", "left", least_width=130),
    )
    table = table_of(heading, zip(best_first(result), figures, strict=True), columns, style="stacked")
    tied = "A place such as 2-3 is a tie: the difference is within error."
    efficient = (
        "Efficient: no other release has less risk and more utility. It may still be high: the word stands beside a "
        f"figure above {HIGH:.0%}."
    )
    policy = "" if judged else "No policy is set, so nothing here says which risk is too high."
    return ReportSection(
        "order",
        heading,
        figures=(Figure(chart_of("compared_rulers", result), tabled=True, in_notebook=True),),
        tables=(table,),
        tables_open=True,
        notes=(f"{_risk_read(result)} {_setting(result)}".strip(), f"{tied} {efficient} {policy}".strip()),
        outputs=EVERYWHERE,
    )


def efficient_in_words(release: ComparedRelease, k: int) -> str:
    """Whether a release is efficient; a high figure is said beside it, since efficient is not low."""
    if release.on_frontier is None:
        return UNKNOWN
    if not release.on_frontier:
        return "no"
    return "yes, high" if compared_figure(release, k).is_high else "yes"


def _risk_read(result: ComparisonResult) -> str:
    """The meaning of the risk column, and the share expected by chance; empty if no risk is known."""
    risks = [release.risk for release in result.releases if release.risk is not None]
    rates = sorted({risk.false_rate for risk in risks if risk.false_rate is not None})
    if not risks and any(release.power is not None for release in result.releases):
        rates = [result.false_rate]
    if rates:
        chance = " or ".join(f"{rate:.0%}" for rate in rates)
        text = f"Risk: the share of people linked because of the release, beyond chance ({chance} of the control)."
        return text if len(rates) == 1 else f"{text} Risks at different false-positive rates are not ranked together."
    return "Top-1: the share of people whose best candidate is the right person." if risks else ""


def _map(result: ComparisonResult) -> ReportSection:
    beaten = []
    for release in best_first(result):
        if release.beaten_by:
            by = ", ".join(f"'{printable(name)}'" for name in release.clearly_beaten_by or release.beaten_by)
            clear = "with less risk beyond error" if release.clearly_beaten_by else "within error"
            beaten.append(Item(f"'{printable(release.name)}' is beaten by {by}, {clear}."))
    return ReportSection(
        "frontier",
        "Risk and utility",
        figures=(Figure(chart_of("frontier", result)),),
        without_figure="No release has both a comparable risk and a comparable utility.",
        items=tuple(beaten),
        outputs=SCREENS,
    )


def _columns(result: ComparisonResult) -> ReportSection:
    """The columns by release; a sentence takes the chart's place if nothing is known or all is within error."""
    heading, figure = "Which columns give people away", Figure(chart_of("compared_contributions", result))
    found = compared_drops(result)
    if found is None:
        nothing = (
            f"Not measured: set {typed('sensitivity: true')} in the configuration to repeat the strongest attacker "
            "without each column."
        )
        return ReportSection("columns", heading, figures=(figure,), without_figure=nothing)
    if found.within_error:
        nothing_certain = f"No single column stands out: without any one of them, {found.figure} changes within error."
        return ReportSection("columns", heading, sentences=(Remark(nothing_certain),), outputs=SCREENS)
    columns: list[Column[str]] = [Column("column", named, "left")]
    for release, drops in zip(found.releases, found.by_release, strict=True):
        columns.append(Column(named(release), partial(_dropped, drops)))
    # On a page, the same numbers are in the table under the chart.
    table = table_of(heading, found.columns, columns, outputs=TERMINAL, numbered=True)
    meaning = f"Change of {found.figure}, in percentage points, when the column is left out."
    return ReportSection("columns", heading, figures=(figure,), tables=(table,), notes=(meaning,), outputs=SCREENS)


def _dropped(drops: Mapping[str, ColumnDrop], column: str) -> str:
    return points(-drops[column].drop) if column in drops else UNKNOWN


def _steps(result: ComparisonResult) -> list[str]:
    steps = []
    met = [release for release in best_first(result) if meets(release)]
    judged = any(release.policies for release in result.releases)
    if not any(release.risk_places for release in result.releases):
        steps.append("Pass a control, or tables with true matches: without either, the risk is unknown.")
    elif judged and not met:
        steps.append(
            "Protect more strongly, or withhold the columns that give people away: no release meets the policy."
        )
    elif met:
        steps.append("Choose among the releases that meet the policy: the one with the highest utility keeps the most.")
    elif len(result.frontier) > 1:
        figure = "risk" if "control" in result.inputs else "top1_hit_rate"
        limit = typed(f"policy: {{figure: {figure}, max: 0.05}}")
        steps.append(f"Set a limit, such as {limit}. Without one, no figure can decide which trade-off is right.")
    if "control" not in result.inputs:
        steps.append("Set people aside as a control before protecting the data: only then can the risk be measured.")
    if any(difference.tied for difference in result.differences if difference.figure in ("risk", "power")):
        more = "a larger control" if "control" in result.inputs else "a control"
        steps.append(f"If releases are tied, more originals and {more} may distinguish them.")
    if len({len(release.attackers) for release in result.releases}) == 1 and len(result.releases[0].attackers) == 1:
        again = typed("attacker: default")
        steps.append(f"Compare again with {again}: a single attacker may miss what another finds.")
    steps.append(f"Audit the release you choose: {typed(_AUDIT)}. The audit decides; it shows who is at risk.")
    return steps


def _provenance(result: ComparisonResult) -> ReportSection:
    tables = [*result.inputs.items(), *(("release", release.input) for release in result.releases)]
    text = f"Seed {result.provenance.seed}. {versions(result.provenance.versions)} "
    text += rounding_in_words(result.suppress_below)
    return ReportSection(
        "provenance", "Provenance", sentences=(Remark(text),), tables=(inputs_table(tables),), starts_sheet=True
    )


def _setting(result: ComparisonResult) -> str:
    text = f"{counted(result.inputs['original'].rows, 'original')}, {counted(len(result.releases), 'release')}"
    if "control" in result.inputs:
        return f"{text}, {counted(result.inputs['control'].rows, 'person', 'people')} in the control."
    return f"{text}, no control."


def _place(release: ComparedRelease, ranked: int) -> str:
    """The place counted from the lowest risk."""
    found = release.risk_places
    return UNKNOWN if found is None else places(ranked + 1 - found.last, ranked + 1 - found.first)


def draws_section(result: ComparisonResult) -> ReportSection:
    """How much draws of each mechanism differ, and which releases are a single draw; empty without mechanisms."""
    heading = "Draws of the mechanisms"
    drawn = [(release, release.draws) for release in result.releases if release.draws is not None]
    if not drawn:
        return ReportSection("draws", heading)
    text = (
        "The risk of a mechanism is the mean over its draws, by the attacker that is strongest on average. Its "
        "interval is over people and draws: Student's t, with one degree of freedom less than draws. Columns, linkage "
        "rates and warnings are those of the first draw."
    )
    columns: tuple[Column[tuple[ComparedRelease, ComparedDraws]], ...] = (
        Column("mechanism", lambda row: named(row[0].name), "left"),
        Column("draws", lambda row: str(row[1].count)),
        Column("risk, mean", lambda row: _mean(row[0], result.suppress_below)),
        Column(
            "lowest to highest draw",
            lambda row: span(min(row[1].risks), max(row[1].risks)) if row[1].risks else UNKNOWN,
        ),
        Column(
            "spread",
            lambda row: UNKNOWN if row[1].deviation is None else points(row[1].deviation).lstrip("+"),
        ),
    )
    note = "Spread: the standard deviation between draws beyond what people explain, in percentage points."
    single = [f"'{printable(release.name)}'" for release in result.releases if release.draws is None]
    which = ", ".join(single)
    what = "is one release" if len(single) == 1 else "are one release each"
    return ReportSection(
        "draws",
        heading,
        sentences=(Remark(text),),
        tables=(table_of(heading, drawn, columns),),
        items=(Item(f"{which} {what}: how much another draw would differ is unknown."),) if single else (),
        notes=(note,),
        outputs=SCREENS,
    )


def _mean(release: ComparedRelease, k: int) -> str:
    mean = None if release.risk is None else release.risk.estimate
    return percent(mean, k=k) if release.assessable else "not assessable"


def repeat_section(result: ComparisonResult) -> ReportSection:
    """The command that reproduces the comparison; for a mechanism that is a function there is none."""
    command = _command(result)
    text = f"{SAME}:" if command else f"{SAME}; a mechanism was a user-defined function."
    return ReportSection("repeat", REPRODUCE, level=3, sentences=(Remark(text),), code=command or "")


def _command(result: ComparisonResult) -> str | None:
    """The command with the configuration saved as audit.yaml; None for a user-defined function."""
    files = [release.name for release in result.releases if release.draws is None]
    words = ["cvpl", "compare", result.inputs["original"].name, *files, "--config", "audit.yaml"]
    if "control" in result.inputs:
        words += ["--control", result.inputs["control"].name]
    count = 0
    for release in result.releases:
        if release.draws is None:
            continue
        by, count = release.draws.mechanism, release.draws.count
        if by.kind == "function":
            return None
        words += ["--mechanism", f"{release.name}={by.name}" + ("" if by.strength is None else f" {by.strength}")]
    return shell([*words, "--draws", str(count)] if count else words)
