"""The sheet of an audit as a value: what a decision needs, worded but not laid out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from cvpl.answers.headline import Headline, headline
from cvpl.answers.hundred_people import Square, hundred_people
from cvpl.answers.ruler import Ruler, risk_ruler
from cvpl.reports.sections.reviewers import requirements
from cvpl.reports.sections.sheet.actions import Actions, actions
from cvpl.reports.sections.sheet.cards import Card, cards
from cvpl.reports.sections.sheet.first_warning import FirstWarning, first_warning
from cvpl.reports.sections.sheet.strip import Strip, verdict_strip
from cvpl.result import AuditResult, Input
from cvpl.wording import UNKNOWN, count_in, counted, named, printable

_NAMES = 5
"""The sheet names at most this many attackers; the page lists all."""
_FINGERPRINT = 16
"""The sheet shows this many digits of a fingerprint; the page shows all."""
SIGNED = ("Name", "Position", "Decision", "Date", "Signature")
"""The lines to be filled in by hand."""


@dataclass(frozen=True)
class Sheet:
    """The verdict strip, the sentence, the pictures, three figures, a warning, the actions, and the record.

    `people` is the figure of the grid and `ruler` that of the ruler; None if nothing was measured. `legend` explains
    the marks of the grid. `record` lists files, version and attackers.
    """

    title: str
    strip: Strip
    sentence: str
    people: Headline | None
    legend: tuple[tuple[Square, str], ...]
    ruler: Ruler | None
    cards: tuple[Card, Card, Card]
    warning: FirstWarning | None
    actions: Actions
    record: tuple[tuple[str, str], ...]
    signed: tuple[str, ...] = SIGNED


def audit_sheet(result: AuditResult, title: str, date: date | None = None) -> Sheet:
    """The sheet of an audit; `title` names the audited tables, `date` is the day on which the report is written."""
    found = headline(result)
    return Sheet(
        title=title,
        strip=verdict_strip(result),
        sentence=printable(result.verdict.sentence),
        people=found,
        legend=() if found is None else grid_legend(found),
        ruler=risk_ruler(result),
        cards=cards(result),
        warning=first_warning(result),
        actions=actions(result),
        record=_record(result, date),
    )


def grid_legend(found: Headline) -> tuple[tuple[Square, str], ...]:
    """Every mark of the grid in words, in the order of the grid: solid and hatched squares, discs, empty squares."""
    squares = hundred_people(found)
    people = count_in(found.estimate, found.low, found.high, "").replace("  ", " ")
    alike = sum(square.kind == "look-alike" for square in squares)
    risk = found.kind == "risk"
    what = "linked because of the release" if risk else "the best candidate is the right person"
    words = {
        Square("linked", False): "solid: certain at the lower end",
        Square("linked", True): "hatched: up to the estimate",
        Square("look-alike", True): "hatched: look-alikes, up to the upper end",
        Square("look-alike", False): f"{alike} in 100: look-alikes, linked as strangers are too",
        Square("neither", True): "hatched outline: up to the upper end",
        Square("neither", False): "not linked by these attackers" if risk else "the best candidate is someone else",
    }
    marks = list(dict.fromkeys(squares))
    # Solid and hatched squares together are the figure with its interval, which the first of them tells.
    if marks[0].uncertain or marks[0].kind == "linked":
        words[marks[0]] = f"{people}: {what}; {words[marks[0]]}"
    return tuple((mark, words[mark]) for mark in marks)


def _record(result: AuditResult, date: date | None) -> tuple[tuple[str, str], ...]:
    """The date, files with fingerprints, version and seed, the attackers that were asked, and what was not measured."""
    day = () if date is None else (("Report written", date.isoformat()),)
    roles = {"original": "Original", "protected": "Release", "control": "Control"}
    files = tuple((roles.get(role, printable(role)), _file(item)) for role, item in result.inputs.items())
    version = printable(result.provenance.versions.get("cvpl", UNKNOWN))
    names = [row.name for row in sorted(result.attackers, key=lambda row: row.name != result.attacker)]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    asked = f"{len(names)} asked: {', '.join(printable(name) for name in names[:_NAMES])}{more}"
    tool = ("Tool", f"cvpl {version}, seed {result.provenance.seed}")
    return (*day, *files, tool, ("Attackers", asked), ("Not measured", _not_measured(result)))


def _not_measured(result: AuditResult) -> str:
    """What reviewers ask for and this audit has no figure of, and what no audit measures."""
    missing = [item.requirement.lower() for item in requirements(result) if item.status == "not measured"]
    always = "other tables or releases with the same people, stronger attackers, and what somebody may know or ask"
    return ", ".join([*missing, always])


def _file(item: Input) -> str:
    fingerprint = printable((item.sha256 or UNKNOWN)[:_FINGERPRINT])
    return f"{named(item.name)}, {counted(item.rows, 'row')}, SHA-256 {fingerprint}"
