"""How often a link is right when the population is as large as stated."""

from __future__ import annotations

from cvpl.reports.sections.section import REPORTS, Column, Remark, ReportSection, table_of
from cvpl.result import AuditResult, Population
from cvpl.wording import UNKNOWN, counted, percent, span


def population_section(result: AuditResult) -> ReportSection:
    """One sentence, and the precision at each false-positive rate; nothing if the population is not given."""
    heading, found = "How often a link is right", result.population
    if found is None:
        return ReportSection("population", heading)
    powers = {power.false_rate: power.power for power in result.power or ()}
    table = table_of(
        heading,
        found.precision,
        (
            Column("false-positive rate", lambda item: f"{item.false_rate:.0%}"),
            Column("power", lambda item: percent(powers[item.false_rate], k=result.suppress_below)),
            Column("links that are right", lambda item: UNKNOWN if item.low is None else percent(item.precision)),
            Column("95% interval", lambda item: span(item.low, item.high)),
        ),
    )
    return ReportSection(
        "population",
        heading,
        sentences=(Remark(_sentence(result, found)),),
        tables=(table,) if table.rows else (),
        notes=("A link is right if the person is in the table, whichever record it points to.",) if table.rows else (),
        outputs=REPORTS,
    )


def _sentence(result: AuditResult, found: Population) -> str:
    are_in = "is" if found.people == 1 else "are"
    people = f"{counted(found.people, 'person', 'people')} of a population of {found.size:,} {are_in} in the table"
    first = None if result.risk is None else result.risk.false_rate
    read = next((item for item in found.precision if item.false_rate == first and item.low is not None), None)
    if read is None or read.precision is None:
        reason = "how often a link is right is not known without a control, or with too few controls"
        return f"{people}; {reason}."
    right = f"{percent(read.precision)} ({span(read.low, read.high)})"
    return (
        f"{people}. If an attacker looks for everybody in the population and links {read.false_rate:.0%} of those who "
        f"are not in the table, {right} of the links are right; by guessing, {percent(found.share)} would be."
    )
