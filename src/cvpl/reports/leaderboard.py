"""The leaderboard as text, cell by cell, and as Markdown and CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from cvpl.config.written import AuditConfig, ColumnConfig
from cvpl.evaluation.control import FALSE_RATE
from cvpl.reports.markdown import code, text
from cvpl.result import BenchmarkGroup, BenchmarkResult, BenchmarkRow, BenchmarkUtility
from cvpl.wording import UNKNOWN, percent, places, printable, span, stopped, typed

READ = (
    "Releases of one table are in order of their risk, the highest first. With a control, risk is the share of the "
    "people linked because of the release: the power where 5% of the control is linked, beyond these 5%, which are "
    "chance; a control too small for that is read at the share that is named. Where only true matches are known, risk "
    "is how often the best candidate is the right person, beyond a blind guess. Rows whose risk is read in another "
    "way, or against other people, are not ranked against each other. Places such as 2-3 are tied: the 95% intervals "
    "meet."
)
"""How to read it, in a paragraph."""

AGAINST = {
    ("control", "file"): "control",
    ("control", "absent"): "originals not released",
    ("own_match_left_out", None): "own match left out",
}
_NOTHING = "nothing"


def held_against(row: BenchmarkRow) -> str:
    """Which people tell how many look-alikes anybody finds."""
    if row.status != "assessed":
        return UNKNOWN
    if row.attributable_rate is None:
        return _NOTHING
    basis = row.attributable_rate.basis
    return AGAINST[basis, row.control_from if basis == "control" else None]


def place(row: BenchmarkRow, rows: Sequence[BenchmarkRow]) -> str:
    """The place among the rows that it is ranked against, such as `2-3 of 10`; "n/a" where it has none."""
    if row.place is None:
        return UNKNOWN
    alike = [item for item in rows if item.place is not None and _ranked(item) == _ranked(row)]
    return f"{places(row.place.first, row.place.last)} of {len(alike)}"


def _ranked(row: BenchmarkRow) -> tuple[str | float | None, ...]:
    control = row.inputs.get("control") if row.control_from == "file" else None
    rate = None if row.risk is None else row.risk.false_rate
    return held_against(row), row.ranked_by, rate, None if control is None else control.sha256


def interval(rate: float | None, low: float | None, high: float | None) -> str:
    """A rate with its interval behind it, where there is one."""
    ends = span(low, high)
    return percent(rate) + (f" ({ends})" if ends else "")


def standing(row: BenchmarkRow, rows: Sequence[BenchmarkRow]) -> str:
    """The place, or why there can be none: the release failed, or is not assessable."""
    return place(row, rows) if row.status == "assessed" else row.status.replace("_", " ")


def risk(row: BenchmarkRow) -> str:
    """The risk with its interval, and where it is read if not at a false rate of 5%."""
    return interval(*row.shown) + (f", {read_at(row)}" if read_at(row) else "")


def read_at(row: BenchmarkRow) -> str:
    """The false rate at which a risk is read, where it is another than 5%."""
    rate = None if row.risk is None else row.risk.false_rate
    return "" if rate in (None, FALSE_RATE) else f"read at {rate:.0%}"


def linked(row: BenchmarkRow) -> str:
    """The raw linkage rate, and the control's beside it."""
    rate = percent(None if row.linkage_rate is None else row.linkage_rate.estimate)
    return rate if row.control is None else f"{rate}; control {percent(row.control.rate)}"


def top1(row: BenchmarkRow) -> str:
    """The top-1 hit rate with its interval, and the largest where another attacker's is larger."""
    words = interval(row.top1_hit_rate, row.top1_low, row.top1_high)
    most = row.largest_top1
    if most is None or percent(most.top1_hit_rate) == percent(row.top1_hit_rate):
        return words
    return f"{words}; {percent(most.top1_hit_rate)} by {printable(most.attacker)}"


def utility(found: BenchmarkUtility | None, *, short: bool = False) -> str:
    """The utility that the group is compared by, and of how many columns where some are withheld."""
    if found is None or found.score is None:
        return UNKNOWN
    here, whole = len(found.columns), len(found.columns) + len(found.withheld)
    words = f" ({here}/{whole})" if short else f" ({here} of {whole} columns)"
    return f"{found.score:.3f}" + (words if found.withheld else "")


def made(row: BenchmarkRow) -> str:
    """How it was made: mechanism, strength, by whom."""
    strength = [f"{name} = {value}" for name, value in row.made.strength.items()]
    by = [] if row.made.by is None else [f"by {row.made.by}"]
    return printable(", ".join([row.made.mechanism, *strength, *by]))


def seconds(row: BenchmarkRow) -> str:
    """The time of the audit."""
    return UNKNOWN if row.seconds is None else f"{row.seconds:.0f}" if row.seconds >= 10 else f"{row.seconds:.1f}"


def rows_of(row: BenchmarkRow) -> str:
    """How many originals, strangers and released records there were."""
    parts = [f"{row.inputs[role].rows:,}" if role in row.inputs else UNKNOWN for role in ("original", "control")]
    released = f"{row.inputs['protected'].rows:,}" if "protected" in row.inputs else UNKNOWN
    return f"{parts[0]} / {parts[1]} / {released}"


def rules(row: BenchmarkRow) -> list[str]:
    """The rules that warn, each once; columns that are left out are no rule to doubt a figure by."""
    return list(dict.fromkeys(warning.rule for warning in row.warnings if warning.rule != "columns"))


RISK = ("release", "place", "risk", "held against", "linked", "top-1", "utility")
BEHIND = ("release", "how it was made", "attacker", "linked, 95% interval", "paper's attacker", "blocking recall")
SIZES = ("rows (original / control / release)", "seconds")


def risk_cells(row: BenchmarkRow, rows: Sequence[BenchmarkRow]) -> tuple[str, ...]:
    """The cells under `RISK`."""
    cells = printable(row.name), standing(row, rows), risk(row), held_against(row)
    return *cells, linked(row), top1(row), utility(row.utility)


def behind_cells(row: BenchmarkRow) -> tuple[str, ...]:
    """The cells under `BEHIND` and `SIZES`."""
    raw, paper = row.linkage_rate, row.paper_linkage_rate
    return (
        printable(row.name),
        f"{row.made.family}: {made(row)}",
        UNKNOWN if row.attacker is None else printable(row.attacker),
        UNKNOWN if raw is None else interval(raw.estimate, raw.low, raw.high),
        percent(None if paper is None else paper.estimate),
        percent(row.blocking_recall),
        rows_of(row),
        seconds(row),
    )


def reasons(row: BenchmarkRow) -> str:
    """Why there is no figure, as one text: of a release that failed each reason is a sentence or more of its own."""
    parts = [printable(reason) for reason in row.reasons]
    if row.status == "failed":
        return " ".join(stopped(reason) for reason in parts)
    return stopped("; ".join(parts)) if parts else ""


def note(row: BenchmarkRow) -> str:
    """Why there is no figure, or which rules warn of those that there are; empty where neither is to be told."""
    if row.status != "assessed" or not rules(row):
        return reasons(row)
    return stopped("warnings: " + ", ".join(rule.replace("_", " ") for rule in rules(row)))


_QUOTED = re.compile(r"`((--[a-z-]+( [A-Z]+)?)|([a-z_0-9]+)(\.[a-z_0-9]+)*(: [a-z_0-9]+)?)`")
_SETTINGS = {*AuditConfig.model_fields, *ColumnConfig.model_fields}


def as_code(words: str) -> str:
    """The same with options and settings, which stand between backticks in messages, marked as words to be typed.

    Only what has the name of an option's or a setting's form is: names of files and columns may hold backticks too.
    """
    return _QUOTED.sub(lambda item: typed(item[1]) if item[2] or item[4] in _SETTINGS else item[0], words)


def leaderboard_markdown(result: BenchmarkResult) -> str:
    """All groups as one Markdown page; names and texts of manifests are taken at their face value."""
    lines = ["# Leaderboard", "", READ, ""]
    lines += ["Estimates under the stated attackers, no guarantee; a stronger attacker may do better.", ""]
    for group in result.groups:
        rows = result.of(group.name)
        lines += [f"## {text(group.title)}", "", *_setting(group), ""]
        lines += _table(RISK, [risk_cells(row, rows) for row in rows])
        lines += ["", "What stands behind these figures:", ""]
        lines += [*_table((*BEHIND, *SIZES), [behind_cells(row) for row in rows]), ""]
        noted = [f"- {code(row.name)}: {text(as_code(note(row)))}" for row in rows if note(row)]
        lines += [*noted, ""] if noted else []
    versions = ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))
    lines.append(text(f"Made with {versions}."))
    return "\n".join(lines) + "\n"


def _setting(group: BenchmarkGroup) -> list[str]:
    control = {None: "no control", "absent": "control: the originals that are not released"}
    message = control.get(group.control, f"control {code(group.control or '')}")
    # The texts of a manifest stay as they are: an address with a full stop behind it leads elsewhere.
    words = [f"- {what}: {text(item)}" for what, item in (("Source", group.source), ("Licence", group.licence))]
    return [f"Original {code(group.original)}, {message}.", "", *words]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [" | ".join(text(cell) for cell in row) for row in rows]
    return [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *(f"| {line} |" for line in cells)]


_CSV = (
    "group", "release", "file", "family", "mechanism", "strength", "by", "status", "place_first", "place_last",
    "ranked_by", "held_against", "attacker", "verdict", "risk", "risk_low", "risk_high", "power", "power_low",
    "power_high", "attributable_rate",
    "attributable_low", "attributable_high", "linkage_rate", "linkage_low", "linkage_high", "control_rate",
    "top1_hit_rate", "top1_low", "top1_high", "largest_top1", "largest_top1_attacker", "blocking_recall",
    "paper_linkage_rate", "utility", "columns", "columns_withheld", "originals", "controls", "released", "warnings",
    "reasons", "seconds",
)  # fmt: skip


def leaderboard_csv(result: BenchmarkResult) -> str:
    """One line a release, with figures as they are; what is not known is an empty cell."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(_CSV)
    for row in result.rows:
        writer.writerow([_cell(value) for value in _values(row)])
    return page.getvalue()


def _values(row: BenchmarkRow) -> tuple[object, ...]:
    attributed, strong, raw = row.attributable_rate, row.power, row.linkage_rate
    kept, most = row.utility, row.largest_top1
    sizes = (row.inputs[item].rows if item in row.inputs else None for item in ("original", "control", "protected"))
    return (
        *(row.group, row.name, row.file, row.made.family, row.made.mechanism),
        "; ".join(f"{name} = {value}" for name, value in row.made.strength.items()),
        *(row.made.by, row.status),
        *((None, None) if row.place is None else (row.place.first, row.place.last)),
        *(row.ranked_by, held_against(row) if row.status == "assessed" else None, row.attacker),
        None if row.verdict is None else row.verdict.kind,
        *((None,) * 3 if row.risk is None else (row.risk.estimate, row.risk.low, row.risk.high)),
        *((None,) * 3 if strong is None else (strong.power, strong.low, strong.high)),
        *((None,) * 3 if attributed is None else (attributed.estimate, attributed.low, attributed.high)),
        *((None,) * 3 if raw is None else (raw.estimate, raw.low, raw.high)),
        None if row.control is None else row.control.rate,
        *(row.top1_hit_rate, row.top1_low, row.top1_high),
        *((None, None) if most is None else (most.top1_hit_rate, most.attacker)),
        row.blocking_recall,
        None if row.paper_linkage_rate is None else row.paper_linkage_rate.estimate,
        *((None,) * 3 if kept is None else (kept.score, len(kept.columns), len(kept.withheld))),
        *sizes,
        *("; ".join(rules(row)), reasons(row), row.seconds),
    )


def _cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) and shown != UNKNOWN else shown
