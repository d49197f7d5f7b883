"""The report of a comparison as a list of sections: the recommendation, the order, the map, and what is behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from cvpl.answers.releases import (
    HIGH,
    ColumnDrop,
    ReleaseFigure,
    best_first,
    compared_drops,
    compared_figure,
    compared_figures,
    costs,
    meets_policies,
    recommendation,
    reservations,
)
from cvpl.reports.leaderboard import INFERENCE, InferredRelease, as_code
from cvpl.reports.sections.audit import NO_GUARANTEE
from cvpl.reports.sections.reviewers import REPRODUCE, SAME, configuration_section, inputs_table, shell, versions
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    PAGE,
    REPORTS,
    SCREENS,
    TERMINAL,
    TITLE,
    Column,
    Figure,
    Item,
    Output,
    Remark,
    ReportSection,
    chart_of,
    table_of,
)
from cvpl.reports.sections.warnings import finding_lines, pointer_section, shared_items, warnings_section
from cvpl.result import (
    Attributable,
    BestCandidate,
    ComparedDraws,
    ComparedRelease,
    ComparedUtility,
    ComparisonResult,
    Criteria,
    PairedDifference,
    SingledOutRate,
)
from cvpl.wording import (
    UNKNOWN,
    bracketed_span,
    count_phrase,
    mark_name,
    mark_typed,
    percent,
    places,
    points,
    printable,
    rounding_in_words,
    sentence,
    span,
)

_WIDE_COLUMN = 90
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
            f"Releases of {mark_name(result.inputs['original'].name)} compared",
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
        Column("release", lambda row: mark_name(row[0].name), "left"),
        Column("place", lambda row: _place(row[0], ranked), least_width=_WIDE_COLUMN),
        Column(measured, lambda row: row[1].value),
        Column("95% interval", lambda row: row[1].interval if row[0].assessable else ""),
        Column("policy", lambda row: met[meets_policies(row[0])], "name", shown=judged),
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
            f"Not measured: set {mark_typed('sensitivity: true')} in the configuration to repeat the strongest "
            "attacker without each column."
        )
        return ReportSection("columns", heading, figures=(figure,), without_figure=nothing)
    if found.within_error:
        nothing_certain = f"No single column stands out: without any one of them, {found.figure} changes within error."
        return ReportSection("columns", heading, sentences=(Remark(nothing_certain),), outputs=SCREENS)
    columns: list[Column[str]] = [Column("column", mark_name, "left")]
    for release, drops in zip(found.releases, found.by_release, strict=True):
        columns.append(Column(mark_name(release), partial(_drop_in_words, drops)))
    # On a page, the same numbers are in the table under the chart.
    table = table_of(heading, found.columns, columns, outputs=TERMINAL, numbered=True)
    meaning = f"Change of {found.figure}, in percentage points, when the column is left out."
    return ReportSection("columns", heading, figures=(figure,), tables=(table,), notes=(meaning,), outputs=SCREENS)


def _drop_in_words(drops: Mapping[str, ColumnDrop], column: str) -> str:
    return points(-drops[column].drop) if column in drops else UNKNOWN


def _steps(result: ComparisonResult) -> list[str]:
    steps = []
    met = [release for release in best_first(result) if meets_policies(release)]
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
        limit = mark_typed(f"policy: {{figure: {figure}, max: 0.05}}")
        steps.append(f"Set a limit, such as {limit}. Without one, no figure can decide which trade-off is right.")
    if "control" not in result.inputs:
        steps.append("Set people aside as a control before protecting the data: only then can the risk be measured.")
    if any(difference.tied for difference in result.differences if difference.figure in ("risk", "power")):
        more = "a larger control" if "control" in result.inputs else "a control"
        steps.append(f"If releases are tied, more originals and {more} may distinguish them.")
    if len({len(release.attackers) for release in result.releases}) == 1 and len(result.releases[0].attackers) == 1:
        again = mark_typed("attacker: default")
        steps.append(f"Compare again with {again}: a single attacker may miss what another finds.")
    steps.append(f"Audit the release you choose: {mark_typed(_AUDIT)}. The audit decides; it shows who is at risk.")
    return steps


def _provenance(result: ComparisonResult) -> ReportSection:
    tables = [*result.inputs.items(), *(("release", release.input) for release in result.releases)]
    text = f"Seed {result.provenance.seed}. {versions(result.provenance.versions)} "
    text += rounding_in_words(result.suppress_below)
    return ReportSection(
        "provenance", "Provenance", sentences=(Remark(text),), tables=(inputs_table(tables),), starts_sheet=True
    )


def _setting(result: ComparisonResult) -> str:
    text = (
        f"{count_phrase(result.inputs['original'].rows, 'original')}, {count_phrase(len(result.releases), 'release')}"
    )
    if "control" in result.inputs:
        return f"{text}, {count_phrase(result.inputs['control'].rows, 'person', 'people')} in the control."
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
        Column("mechanism", lambda row: mark_name(row[0].name), "left"),
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


_KEPT = {
    "correlations": "correlation_preservation",
    "marginals": "marginal_similarity",
    "prediction": "downstream_accuracy_ratio",
    "distances": "distance_preservation",
}


def releases_section(result: ComparisonResult) -> ReportSection:
    """The verdict on each release, why it has no place, and the findings that close a gate."""
    remarks = []
    for release in best_first(result):
        label = f"'{printable(release.name)}'"
        if release.verdict is not None:
            remarks.append(Remark(printable(release.verdict.sentence), label=label))
        if release.unranked is not None and release.risk is not None:
            remarks.append(Remark(sentence(f"no place: {printable(release.unranked)}"), label=label))
        closing = [finding for finding in release.preflight if finding.closes_gate]
        for _, line in finding_lines(closing, result.suppress_below):
            remarks.append(Remark(f"{line} This closes the gate.", "alarm", label))
    return ReportSection("releases", "Each release on its own", sentences=tuple(remarks), outputs=REPORTS)


def utility_section(result: ComparisonResult) -> ReportSection:
    """The four figures of utility of each release, and their mean."""
    columns: tuple[Column[ComparedRelease], ...] = (
        Column("release", lambda release: mark_name(release.name), "left"),
        Column("correlations", lambda release: score_in_words(release.utility.correlation_preservation)),
        Column("marginals", lambda release: score_in_words(release.utility.marginal_similarity)),
        Column("prediction", lambda release: score_in_words(release.utility.downstream_accuracy_ratio)),
        Column("distances", lambda release: score_in_words(_distances(release.utility))),
        Column("score", lambda release: score_in_words(release.utility.score)),
    )
    counted = [name for name, field in _KEPT.items() if field in result.utility_figures]
    text = f"The score is the mean of {', '.join(counted)}." if counted else "No figure is known for all releases."
    return ReportSection(
        "utility",
        "Utility",
        tables=(table_of("Utility", best_first(result), columns, style="stacked"),),
        items=tuple(
            Item(f"'{printable(release.name)}' has no place: {printable(release.utility.reason)}.")
            for release in result.releases
            if release.utility.reason is not None
        ),
        notes=(f"{text} It has no interval: do not rely on small differences.",),
        outputs=SCREENS,
    )


def _distances(utility: ComparedUtility) -> float | None:
    """How well distances are kept, of the same people; of others it is close to 1 for almost any release."""
    return utility.distance_preservation if utility.distance_basis == "same_people" else None


def criteria_section(result: ComparisonResult) -> ReportSection:
    """The formal criteria of each release and who is singled out in it, beside the top-1 hit rate."""
    heading, k = "Formal criteria and singling out", result.suppress_below
    found = [(release, release.criteria) for release in best_first(result) if release.criteria is not None]
    if not found:
        return ReportSection("criteria", heading)
    columns: tuple[Column[tuple[ComparedRelease, Criteria]], ...] = (
        Column("release", lambda row: mark_name(row[0].name), "name"),
        Column("k", lambda row: f"{row[1].k:,}"),
        Column("unique", lambda row: percent(row[1].unique, k=k, of="records")),
        Column("1/k", lambda row: percent(row[1].risk.prosecutor_maximum)),
        Column("best candidate right", lambda row: _with_interval(row[0].best_candidate, k, "people")),
        Column("promise of k", lambda row: (row[0].one_over_k or UNKNOWN).replace("_", " ")),
        Column("l", lambda row: str(min((item.distinct_l for item in row[1].sensitive), default=UNKNOWN))),
        Column("singled out", lambda row: _with_interval(row[0].singled_out, k, "predicates")),
    )
    return ReportSection(
        "criteria",
        heading,
        tables=(table_of(heading, found, columns, style="stacked"),),
        notes=(
            "k promises that the best candidate is right for at most 1/k. It holds for an attacker who knows the "
            "quasi-identifiers only; contradicted: attackers who compare more columns are right more often, beyond "
            "error. l: the least distinct l of the sensitive columns. Singled out: the rate beyond chance, or the "
            "plain rate without a control.",
        ),
        outputs=SCREENS,
    )


def _with_interval(figure: BestCandidate | SingledOutRate | None, k: int, of: str) -> str:
    if figure is None:
        return UNKNOWN
    return percent(figure.estimate, k=k, of=of) + bracketed_span(figure.low, figure.high)


def attackers_section(result: ComparisonResult) -> ReportSection:
    """The strongest attacker of each release, with the paper's rates."""
    heading = "The strongest attacker per release"
    k = result.suppress_below
    rows = [(release, release.attributable_rate) for release in best_first(result)]
    columns: tuple[Column[tuple[ComparedRelease, Attributable | None]], ...] = (
        Column("release", lambda row: mark_name(row[0].name), "left"),
        Column("attacker", lambda row: mark_name(row[0].attacker), "left"),
        Column("attributable", lambda row: percent(None if row[1] is None else row[1].estimate, k=k)),
        Column("95% interval", lambda row: "" if row[1] is None else span(row[1].low, row[1].high)),
        Column("linked", lambda row: percent(row[0].linkage_rate.estimate, k=k)),
        Column("control", lambda row: percent(row[0].control_rate, k=k)),
        Column("top-1", lambda row: percent(row[0].top1_hit_rate, k=k)),
    )
    table = table_of(heading, rows, columns, style="stacked")
    note = "Compare releases by risk: a threshold means something different to each attacker."
    return ReportSection("attackers", heading, tables=(table,), notes=(note,), outputs=REPORTS)


def differences_section(result: ComparisonResult) -> ReportSection:
    """The differences of every pair of releases, folded away on a page."""
    heading = "Differences, pair by pair"
    if not result.differences:
        none = (
            "No pair of releases can be compared person by person: that takes two releases whose risks use the same "
            "control and the same false-positive rate."
        )
        return ReportSection("differences", heading, sentences=(Remark(none),), folded=PAGE)
    text = (
        "The first release's figure minus the second's, in percentage points, paired person by person. Each interval "
        "is corrected for the choice of the attackers."
    )
    columns: tuple[Column[PairedDifference], ...] = (
        Column("release", lambda item: mark_name(item.first), "left"),
        Column("minus", lambda item: mark_name(item.second), "left"),
        Column("figure", lambda item: "attributable rate" if item.figure == "attributable_rate" else "risk", "left"),
        Column("points", lambda item: points(item.estimate)),
        Column(
            "interval",
            lambda item: (
                "none" if item.low is None or item.high is None else f"{points(item.low)} to {points(item.high)}"
            ),
        ),
        Column("outcome", lambda item: "tied" if item.tied else "differ", "left"),
    )
    refused = dict.fromkeys(item.refused for item in result.differences if item.refused is not None)
    return ReportSection(
        "differences",
        heading,
        sentences=(Remark(text),),
        tables=(table_of(heading, result.differences, columns, style="stacked"),),
        items=tuple(Item(sentence(f"no interval: {printable(reason)}")) for reason in refused),
        outputs=SCREENS,
        folded=PAGE,
    )


def score_in_words(value: float | None) -> str:
    """A utility from 0 to 1; "n/a" if it is unknown."""
    return UNKNOWN if value is None else f"{value:.3f}"


_NOTE = (
    "Inference rate: how much more often a secret is guessed right for originals than for controls, relative to the "
    "share of controls that are not guessed right; the largest over secrets, attackers and scores. The upper end is "
    "the largest of all of them."
)


def compared_inference_section(
    releases: Sequence[InferredRelease],
    anchor: str = "inference",
    heading: str = "Attribute inference",
    folded: frozenset[Output] = frozenset(),
) -> ReportSection:
    """The inference rate of each release with its secret, or why there is none; one sentence if no release has one.

    Releases without any word on inference are left out, as in old results.
    """
    rows = [row for row in releases if row.found is not None]
    known = [row.found for row in rows if row.found is not None]
    reasons = {found.reason for found in known}
    level: Literal[2, 3] = 3 if folded else 2
    if not known or (len(reasons) == 1 and all(found.rate is None for found in known)):
        what = "no rate" if any(found.secrets for found in known) else "not measured"
        remarks = tuple(Remark(sentence(f"{what}: {as_code(printable(why))}")) for why in reasons if why)
        return ReportSection(anchor, heading, level=level, sentences=remarks, outputs=SCREENS, folded=folded)
    columns: tuple[Column[InferredRelease], ...] = (
        Column("release", lambda row: mark_name(row.name), "name"),
        *(replace(column, cell=_with_code(column.cell)) for column in INFERENCE),
    )
    return ReportSection(
        anchor,
        heading,
        level=level,
        tables=(table_of(heading, rows, columns, style="stacked").filled(),),
        notes=(_NOTE,),
        outputs=EVERYWHERE,
        folded=folded,
    )


def _with_code(cell: Callable[[InferredRelease], str]) -> Callable[[InferredRelease], str]:
    return lambda row: as_code(cell(row))
