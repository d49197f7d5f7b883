"""Figures from the true matches, and how well similarities separate matches from wrong candidates."""

from __future__ import annotations

from cvpl.reports.sections.facts import Fact
from cvpl.reports.sections.figures import figures_table
from cvpl.reports.sections.section import SCREENS, Figure, ReportSection, chart_of
from cvpl.result import AuditResult
from cvpl.wording import UNKNOWN, percent


def matches_section(result: AuditResult) -> ReportSection:
    """Precision and recall, and how many true pairs remain after each step."""
    heading, truth = "Figures from the true matches", result.truth
    if truth is None:
        return ReportSection("matches", heading)
    found = [
        Fact(
            "precision at 1",
            percent(truth.precision_at_1, k=result.suppress_below),
            "",
            "linked originals whose best candidate is right",
        ),
        Fact(
            "blocking recall",
            percent(truth.blocking_recall, k=result.suppress_below),
            "",
            "true pairs that share a block",
        ),
        Fact(
            "matching recall",
            percent(truth.matching_recall, k=result.suppress_below),
            "",
            "of these, pairs above the threshold",
        ),
        Fact("total recall", percent(truth.total_recall, k=result.suppress_below), "", "true pairs that are linked"),
        Fact(
            "false link rate",
            percent(truth.false_link_rate, k=result.suppress_below),
            "",
            "originals with a wrong candidate",
        ),
    ]
    # Without a threshold there are no links, only best candidates.
    known = [fact for fact in found if result.threshold is not None or fact.value != UNKNOWN]
    tables = (figures_table(heading, known),) if known else ()
    return ReportSection(
        "matches", heading, figures=(Figure(chart_of("funnel", result)),), tables=tables, outputs=SCREENS
    )


def similarities_section(result: AuditResult) -> ReportSection:
    """The evidence for links, and the similarities of matches and of wrong candidates."""
    known = result.truth is not None and result.truth.similarities is not None
    unknown = "Matches and wrong candidates cannot be distinguished: the true matches are not known."
    return ReportSection(
        "similarities",
        "Similarities",
        figures=(Figure(chart_of("evidence", result)), Figure(chart_of("similarities", result))),
        notes=() if known else (unknown,),
    )
