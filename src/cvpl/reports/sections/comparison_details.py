"""What is behind a comparison: each release on its own, utility, attackers, and the differences pair by pair."""

from __future__ import annotations

from cvpl.answers.release_figure import best_first
from cvpl.reports.preflight import finding_lines
from cvpl.reports.sections.section import PAGE, REPORTS, SCREENS, Head, Item, Remark, ReportSection, ReportTable
from cvpl.result import ComparedRelease, ComparisonResult
from cvpl.wording import UNKNOWN, named, percent, points, printable, sentence, span

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
    rows = []
    for release in best_first(result):
        kept = {name: getattr(release.utility, field) for name, field in _KEPT.items()}
        if release.utility.distance_basis != "same_people":  # close to 1 for almost any release, so not comparable
            kept["distances"] = None
        rows.append((named(release.name), *map(score_in_words, kept.values()), score_in_words(release.utility.score)))
    counted = [name for name, field in _KEPT.items() if field in result.utility_figures]
    text = f"The score is the mean of {', '.join(counted)}." if counted else "No figure is known for all releases."
    columns = (Head("release", "left"), *map(Head, _KEPT), Head("score"))
    return ReportSection(
        "utility",
        "Utility",
        tables=(ReportTable("Utility", columns, tuple(rows), "stacked"),),
        items=tuple(
            Item(f"'{printable(release.name)}' has no place: {printable(release.utility.reason)}.")
            for release in result.releases
            if release.utility.reason is not None
        ),
        notes=(f"{text} It has no interval: do not rely on small differences.",),
        outputs=SCREENS,
    )


def criteria_section(result: ComparisonResult) -> ReportSection:
    """The formal criteria of each release and who is singled out in it, beside the top-1 hit rate."""
    rows = tuple(_criteria_row(release, result.suppress_below) for release in best_first(result) if release.criteria)
    heading = "Formal criteria and singling out"
    if not rows:
        return ReportSection("criteria", heading)
    heads = ("k", "unique", "1/k", "best candidate right", "promise of k", "l", "singled out")
    columns = (Head("release", "name"), *map(Head, heads))
    return ReportSection(
        "criteria",
        heading,
        tables=(ReportTable(heading, columns, rows, "stacked"),),
        notes=(
            "k promises that the best candidate is right for at most 1/k. It holds for an attacker who knows the "
            "quasi-identifiers only; contradicted: attackers who compare more columns are right more often, beyond "
            "error. l: the least distinct l of the sensitive columns. Singled out: the rate beyond chance, or the "
            "plain rate without a control.",
        ),
        outputs=SCREENS,
    )


def _criteria_row(release: ComparedRelease, k: int) -> tuple[str, ...]:
    found, rate, best = release.criteria, release.singled_out, release.best_candidate
    assert found is not None  # noqa: S101 - only such releases have a row
    right = UNKNOWN if best is None else percent(best.estimate, k=k) + _within(best.low, best.high)
    singled = UNKNOWN
    if rate is not None:
        singled = percent(rate.estimate, k=k, of="predicates") + _within(rate.low, rate.high)
    return (
        named(release.name),
        f"{found.k:,}",
        percent(found.unique, k=k, of="records"),
        percent(found.risk.prosecutor_maximum),
        right,
        UNKNOWN if release.one_over_k is None else release.one_over_k.replace("_", " "),
        UNKNOWN if not found.sensitive else str(min(item.distinct_l for item in found.sensitive)),
        singled,
    )


def _within(low: float | None, high: float | None) -> str:
    ends = span(low, high)
    return f" ({ends})" if ends else ""


def attackers_section(result: ComparisonResult) -> ReportSection:
    """The strongest attacker of each release, with the paper's rates."""
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
        for release in best_first(result)
    )
    columns = (Head("release", "left"), Head("attacker", "left"), *map(Head, names))
    note = "Compare releases by risk: a threshold means something different to each attacker."
    return ReportSection(
        "attackers", heading, tables=(ReportTable(heading, columns, rows, "stacked"),), notes=(note,), outputs=REPORTS
    )


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
    columns = (
        Head("release", "left"),
        Head("minus", "left"),
        Head("figure", "left"),
        Head("points"),
        Head("interval"),
        Head("outcome", "left"),
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
    return ReportSection(
        "differences",
        heading,
        sentences=(Remark(text),),
        tables=(ReportTable(heading, columns, rows, "stacked"),),
        items=tuple(Item(sentence(f"no interval: {printable(reason)}")) for reason in refused),
        outputs=SCREENS,
        folded=PAGE,
    )


def score_in_words(value: float | None) -> str:
    """A utility from 0 to 1; "n/a" if it is unknown."""
    return UNKNOWN if value is None else f"{value:.3f}"
