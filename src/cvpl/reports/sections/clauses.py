"""Which clause of a standard, or which part of a template, each figure of the report is about.

Clauses of ISO/IEC 27559 are named as in its table of contents. A figure informs a clause; it does not comply with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cvpl.reports.sections.section import PAGE, Column, Remark, ReportSection, table_of
from cvpl.result import AuditResult

ISO = "ISO/IEC 27559:2022"
WP29 = "WP29 opinion 05/2014"
EDPB = "EDPB opinion 28/2024"
TEMPLATE = "EMA and Health Canada, anonymisation report"


class Clause(NamedTuple):
    """A clause, the sections of the report that inform it, and whether this audit has them."""

    source: str
    clause: str
    answered: str
    has: Callable[[AuditResult], bool]


def _always(result: AuditResult) -> bool:
    return bool(result.attackers)


CLAUSES: tuple[Clause, ...] = (
    Clause(WP29, "singling out", "Singling out", lambda result: result.singling_out is not None),
    Clause(WP29, "linkability", "The answer; The attackers", lambda result: result.risk is not None),
    Clause(WP29, "inference", "Attribute inference", lambda result: result.inference is not None),
    Clause(
        EDPB,
        "insignificant for each data subject (about AI models)",
        "The mean and the tail; Who is at risk",
        lambda result: bool(result.tail) or result.at_risk is not None,
    ),
    Clause(ISO, "6.2.3 Motives and capacity to re-identify", "The attackers; Scenario, if one was set", _always),
    Clause(ISO, "7.2.4 Attribute types", "What was done to each column", lambda result: bool(result.techniques)),
    Clause(
        ISO,
        "7.3.2 Maximum or average risk",
        "The figures behind the verdict; Who is at risk; The mean and the tail",
        lambda result: result.risk is not None,
    ),
    Clause(
        ISO,
        "7.3.3 Population or sample-based attack",
        "Membership; How often a link is right",
        lambda result: result.population is not None or result.membership is not None,
    ),
    Clause(
        ISO,
        "7.3.4 Data privacy models",
        "Formal criteria; Compliance beside attack",
        lambda result: result.criteria is not None,
    ),
    Clause(
        ISO,
        "8.2.2 Quantifying identifiability",
        "The figures behind the verdict",
        lambda result: result.risk is not None or result.best_candidate is not None,
    ),
    Clause(ISO, "8.2.3 Adversarial testing", "The attackers", _always),
    Clause(ISO, "8.3.3 Transforming the data", "What was done to each column", lambda result: bool(result.techniques)),
    Clause(ISO, "8.3.4 Re-evaluation", "What to do next: audit again, and compare the results", _always),
    Clause(
        TEMPLATE,
        "identification of data variables, and the technique for each",
        "What was done to each column",
        lambda result: bool(result.techniques),
    ),
    Clause(
        TEMPLATE,
        "initial risk, threshold, residual risk",
        "Initial risk, threshold, residual risk",
        lambda result: result.risk is not None or result.criteria is not None,
    ),
)


def clauses_section(result: AuditResult) -> ReportSection:
    """Every clause with the sections that inform it, folded on a page."""
    columns: tuple[Column[Clause], ...] = (
        Column("source", lambda item: item.source, "left"),
        Column("clause or topic", lambda item: item.clause, "left"),
        Column(
            "sections of this report",
            lambda item: item.answered if item.has(result) else "not measured in this audit",
            "left",
        ),
    )
    return ReportSection(
        "clauses",
        "Clauses that the figures are about",
        sentences=(
            Remark(
                "A figure informs a clause. It does not show that the clause is met: context, contracts and governance "
                "are not measured here."
            ),
        ),
        tables=(table_of("Clauses that the figures are about", CLAUSES, columns, style="stacked"),),
        outputs=PAGE,
    )
