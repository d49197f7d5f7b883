"""What is behind a comparison: each release on its own, utility, attackers, and the differences pair by pair."""

from __future__ import annotations

from cvpl.answers.release_figure import best_first
from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.section import PAGE, REPORTS, SCREENS, Column, Item, Remark, ReportSection, table_of
from cvpl.result import (
    Attributable,
    BestCandidate,
    ComparedRelease,
    ComparedUtility,
    ComparisonResult,
    Criteria,
    PairedDifference,
    SingledOutRate,
)
from cvpl.wording import UNKNOWN, bracketed_span, named, percent, points, printable, sentence, span

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
        Column("release", lambda release: named(release.name), "left"),
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
        Column("release", lambda row: named(row[0].name), "name"),
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
        Column("release", lambda row: named(row[0].name), "left"),
        Column("attacker", lambda row: named(row[0].attacker), "left"),
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
        Column("release", lambda item: named(item.first), "left"),
        Column("minus", lambda item: named(item.second), "left"),
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
