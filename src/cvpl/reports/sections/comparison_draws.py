"""The draws of mechanisms in the report of a comparison, and the command that repeats it."""

from __future__ import annotations

from cvpl.reports.sections.provenance import REPRODUCE, SAME, shell
from cvpl.reports.sections.section import SCREENS, Column, Item, Remark, ReportSection, table_of
from cvpl.result import ComparedDraws, ComparedRelease, ComparisonResult
from cvpl.wording import UNKNOWN, named, percent, points, printable, span


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
