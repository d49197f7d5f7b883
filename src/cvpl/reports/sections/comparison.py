"""The report of a comparison as a list of sections: the ranking, its uncertainty, the details, the warnings."""

from __future__ import annotations

from collections.abc import Mapping

from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.audit import NO_GUARANTEE, steps_section
from cvpl.reports.sections.comparison_draws import draws_section, repeat_section
from cvpl.reports.sections.provenance import configuration_section, inputs_table, versions
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
    Section,
    Table,
    chart_of,
)
from cvpl.reports.sections.warnings import pointer_section, shared_items, warnings_section
from cvpl.result import ComparedRelease, ComparisonResult, Contribution, Places
from cvpl.wording import (
    UNKNOWN,
    counted,
    named,
    percent,
    places,
    points,
    printable,
    rounding_in_words,
    sentence,
    span,
    typed,
)

_KEPT = {
    "correlations": "correlation_preservation",
    "marginals": "marginal_similarity",
    "prediction": "downstream_accuracy_ratio",
    "distances": "distance_preservation",
}
_AUDIT = "cvpl audit ORIGINAL RELEASE --config audit.yaml --control FILE --out DIR"


def comparison_sections(result: ComparisonResult) -> list[Section]:
    """All sections of the report, from the ranking to the provenance."""
    multiple = "The intervals are not corrected for multiple comparisons: among many pairs, some differ by chance."
    closing = f"{NO_GUARANTEE} {multiple}"
    warnings = shared_items(
        [(release.name, [(item.message, item.docs or "") for item in release.warnings]) for release in result.releases]
    )
    return [
        Section(
            TITLE,
            f"Releases of {named(result.inputs['original'].name)} compared",
            sentences=(Remark(comparison_headline(result)),),
            outputs=EVERYWHERE,
        ),
        pointer_section([warning for release in result.releases for warning in release.warnings], len(warnings)),
        _order(result),
        _each_release(result),
        _frontier(result),
        _differences(result),
        draws_section(result),
        _attackers(result),
        _columns(result),
        _utility(result),
        warnings_section(warnings),
        steps_section(_steps(result)),
        _provenance(result),
        repeat_section(result),
        configuration_section(result.provenance.config),
        Section(CLOSING, sentences=(Remark(closing, "quiet"),), outputs=REPORTS),
    ]


def comparison_headline(result: ComparisonResult) -> str:
    """The ranking in one sentence."""
    parts = [release for release in result.releases if release.risk_places is not None]
    count = len(result.releases)
    if not parts:
        return "The releases cannot be ranked: none of them has a known risk."
    most = [item for item in parts if item.risk_places is not None and item.risk_places.first == 1]
    least = [item for item in parts if item.risk_places is not None and item.risk_places.last == len(parts)]
    if len(parts) == 1:
        risk, low, high = parts[0].shown
        ends = span(low, high)
        told = percent(risk, k=result.suppress_below)
        text = f"'{printable(parts[0].name)}' has a risk of {told} (95% interval {ends})."
        if not ends:
            text = f"The risk of '{printable(parts[0].name)}' has no interval."
    elif len(most) == len(parts) and len(least) == len(parts):
        text = f"The risks of {len(parts)} releases cannot be distinguished."
    else:
        text = f"{_one_of(most)} has the highest risk, {_one_of(least)} the lowest."
    if len(parts) < count:
        rest = count - len(parts)
        text += f" {rest} release{'s' * (rest != 1)} cannot be ranked."
    if all(item.risk is not None and item.risk.basis == "true_matches" for item in parts):
        why = "The control is too small" if "control" in result.inputs else "There is no control"
        text += f" {why}: the risks are based on the true matches, on how often the best candidate is right."
    return text


def _one_of(found: list[ComparedRelease]) -> str:
    """The name of a release, or of several that are tied."""
    if len(found) > 3:
        return f"one of {len(found)} releases"
    return " or ".join(f"'{printable(item.name)}'" for item in found)


def _order(result: ComparisonResult) -> Section:
    heading = "From the highest risk to the lowest"
    columns = (
        Column("place"),
        Column("release", "left"),
        Column("risk"),
        Column("95% interval"),
        Column("utility"),
        Column("by utility"),
        Column("efficient", "left"),
    )
    rows = []
    for release in result.releases:
        risk, low, high = release.shown
        rows.append(
            (
                _place(release.risk_places),
                named(release.name),
                percent(risk, k=result.suppress_below) if release.assessable else "not assessable",
                span(low, high) if release.assessable else "",
                _score(release.utility.score),
                _place(release.utility_places),
                UNKNOWN if release.on_frontier is None else "yes" if release.on_frontier else "no",
            )
        )
    tied = "A place such as 2-3 is a tie: the difference is within error."
    efficient = "Efficient: no other release has less risk and more utility."
    note = f"{_risk_read(result)} {tied} {efficient} {_setting(result)}".strip()
    return Section("order", heading, tables=(Table(heading, columns, tuple(rows)),), notes=(note,), outputs=EVERYWHERE)


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
    return "Risk: how often the best candidate is the right person, beyond a blind guess." if risks else ""


def _each_release(result: ComparisonResult) -> Section:
    """The verdict on each release, why it has no place, and the findings that close a gate."""
    remarks = []
    for release in result.releases:
        label = f"'{printable(release.name)}'"
        if release.verdict is not None:
            remarks.append(Remark(printable(release.verdict.sentence), label=label))
        if release.unranked is not None and release.risk is not None:
            remarks.append(Remark(sentence(f"no place: {printable(release.unranked)}"), label=label))
        closing = [finding for finding in release.preflight if finding.closes_gate]
        for _, line in finding_lines(closing, result.suppress_below):
            remarks.append(Remark(f"{line} This closes the gate.", "alarm", label))
    return Section("releases", "Each release on its own", sentences=tuple(remarks), outputs=REPORTS)


def _frontier(result: ComparisonResult) -> Section:
    beaten = []
    for release in result.releases:
        if release.beaten_by:
            by = ", ".join(f"'{printable(name)}'" for name in release.clearly_beaten_by or release.beaten_by)
            clear = "with less risk beyond error" if release.clearly_beaten_by else "within error"
            beaten.append(Item(f"'{printable(release.name)}' is beaten by {by}, {clear}."))
    return Section(
        "frontier",
        "Utility against risk",
        figures=(Figure(chart_of("frontier", result)),),
        without_figure="No release has both a comparable risk and a comparable utility.",
        items=tuple(beaten),
        outputs=SCREENS,
    )


def _differences(result: ComparisonResult) -> Section:
    heading = "Differences"
    if not result.differences:
        none = (
            "No pair of releases can be compared person by person: that takes two releases whose risks use the same "
            "control and the same false-positive rate."
        )
        return Section("differences", heading, sentences=(Remark(none),))
    text = (
        "The first release's figure minus the second's, in percentage points, paired person by person. Each interval "
        "is corrected for the choice of the attackers."
    )
    columns = (
        Column("release", "left"),
        Column("minus", "left"),
        Column("figure", "left"),
        Column("points"),
        Column("interval"),
        Column("outcome", "left"),
    )
    rows = tuple(
        (
            named(item.first),
            named(item.second),
            "attributable rate" if item.figure == "attributable_rate" else "risk",
            points(item.estimate),
            "none" if item.low is None or item.high is None else f"{points(item.low)} to {points(item.high)}",
            "tied" if item.tied else "differ",
        )
        for item in result.differences
    )
    refused = dict.fromkeys(item.refused for item in result.differences if item.refused is not None)
    return Section(
        "differences",
        heading,
        sentences=(Remark(text),),
        tables=(Table(heading, columns, rows),),
        items=tuple(Item(sentence(f"no interval: {printable(reason)}")) for reason in refused),
        outputs=SCREENS,
    )


def _attackers(result: ComparisonResult) -> Section:
    heading = "The strongest attacker per release"
    names = ("attributable", "95% interval", "linked", "control", "top-1")
    rows = tuple(
        (
            named(release.name),
            named(release.attacker),
            percent(
                None if release.attributable_rate is None else release.attributable_rate.estimate,
                k=result.suppress_below,
            ),
            ""
            if release.attributable_rate is None
            else span(release.attributable_rate.low, release.attributable_rate.high),
            percent(release.linkage_rate.estimate, k=result.suppress_below),
            percent(release.control_rate, k=result.suppress_below),
            percent(release.top1_hit_rate, k=result.suppress_below),
        )
        for release in result.releases
    )
    columns = (Column("release", "left"), Column("attacker", "left"), *map(Column, names))
    note = "Compare releases by risk: a threshold means something different to each attacker."
    return Section("attackers", heading, tables=(Table(heading, columns, rows),), notes=(note,), outputs=REPORTS)


def _columns(result: ComparisonResult) -> Section:
    heading, figure = "Which columns give people away", Figure(chart_of("compared_contributions", result))
    field, meaning = _drop_or_share(result)
    of = [{item.column: item for item in release.feature_contribution.columns} for release in result.releases]
    columns = dict.fromkeys(column for found in of for column in found)
    if not columns:
        nothing = "No figures for single columns: the scores cannot be split by column."
        return Section("columns", heading, figures=(figure,), without_figure=nothing)
    order = sorted(columns, key=lambda name: -max(_value(found, name, field) or 0.0 for found in of))
    rows = tuple((named(name), *(_contribution(_value(found, name, field), field) for found in of)) for name in order)
    heads = (Column("column", "left"), *(Column(named(release.name)) for release in result.releases))
    # On a page, the same numbers are in the table under the chart.
    table = Table(heading, heads, rows, outputs=TERMINAL, numbered=True)
    return Section("columns", heading, figures=(figure,), tables=(table,), notes=(meaning,), outputs=SCREENS)


def _drop_or_share(result: ComparisonResult) -> tuple[str, str]:
    """The figure shown for columns, and its meaning: drops in power if any is known, else shares."""
    columns = [column for release in result.releases for column in release.feature_contribution.columns]
    if any(column.power_drop is not None for column in columns):
        return "power_drop", "Change of the power at 5%, in percentage points, when the column is left out."
    if any(column.link is not None for column in columns):
        return "link", "Share of the similarity of the links that were found."
    return "structural", "Share of the space in which records are compared."


def _value(found: Mapping[str, Contribution], name: str, field: str) -> float | None:
    value: float | None = getattr(found[name], field) if name in found else None
    return value


def _contribution(value: float | None, field: str) -> str:
    return points(None if value is None else -value) if field == "power_drop" else percent(value)


def _utility(result: ComparisonResult) -> Section:
    rows = []
    for release in result.releases:
        kept = {name: getattr(release.utility, field) for name, field in _KEPT.items()}
        if release.utility.distance_basis != "same_people":  # close to 1 for almost any release, so not comparable
            kept["distances"] = None
        rows.append((named(release.name), *map(_score, kept.values()), _score(release.utility.score)))
    counted = [name for name, field in _KEPT.items() if field in result.utility_figures]
    text = f"The score is the mean of {', '.join(counted)}." if counted else "No figure is known for all releases."
    columns = (Column("release", "left"), *map(Column, _KEPT), Column("score"))
    return Section(
        "utility",
        "Utility",
        tables=(Table("Utility", columns, tuple(rows)),),
        items=tuple(
            Item(f"'{printable(release.name)}' has no place: {printable(release.utility.reason)}.")
            for release in result.releases
            if release.utility.reason is not None
        ),
        notes=(f"{text} It has no interval: do not rely on small differences.",),
        outputs=SCREENS,
    )


def _steps(result: ComparisonResult) -> list[str]:
    steps = []
    if not result.frontier:
        steps.append("Pass a control, or tables with true matches: without either, the risk is unknown.")
    elif len(result.frontier) > 1:
        steps.append("Choose among the efficient releases. No figure can decide which trade-off is right.")
    if any(difference.tied for difference in result.differences if difference.figure in ("risk", "power")):
        more = "a larger control" if "control" in result.inputs else "a control"
        steps.append(f"If releases are tied, more originals and {more} may distinguish them.")
    if len({len(release.attackers) for release in result.releases}) == 1 and len(result.releases[0].attackers) == 1:
        again = typed("attacker: default")
        steps.append(f"Compare again with {again}: a single attacker may miss what another finds.")
    steps.append(f"Audit the release you choose: {typed(_AUDIT)}. The audit shows who is at risk and what to coarsen.")
    return steps


def _provenance(result: ComparisonResult) -> Section:
    tables = [*result.inputs.items(), *(("release", release.input) for release in result.releases)]
    text = f"Seed {result.provenance.seed}. {versions(result.provenance.versions)} "
    text += rounding_in_words(result.suppress_below)
    return Section(
        "provenance", "Provenance", sentences=(Remark(text),), tables=(inputs_table(tables),), starts_sheet=True
    )


def _setting(result: ComparisonResult) -> str:
    text = f"{counted(result.inputs['original'].rows, 'original')}, {counted(len(result.releases), 'release')}"
    if "control" in result.inputs:
        return f"{text}, {counted(result.inputs['control'].rows, 'person', 'people')} in the control."
    return f"{text}, no control."


def _score(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3f}"


def _place(found: Places | None) -> str:
    return UNKNOWN if found is None else places(found.first, found.last)
