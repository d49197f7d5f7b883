"""The leaderboard of a benchmark: the text of its cells, and Markdown and CSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from cvpl.config.written import AuditConfig, ColumnConfig
from cvpl.estimates import FALSE_RATE
from cvpl.reports.markdown import code, text
from cvpl.reports.sections.questions import ATTACKERS, SCORES
from cvpl.reports.sections.section import PAGE, Column, ReportTable, table_of
from cvpl.reports.sections.warnings import shared_items
from cvpl.result import BenchmarkGroup, BenchmarkResult, BenchmarkRow, BenchmarkUtility, InferenceRate, ReleaseInference
from cvpl.wording import UNKNOWN, bracketed_span, mark_typed, percent, places, printable, span, with_full_stop

INFERENCE_CSV = (
    "inference_rate",
    "inference_low",
    "inference_high",
    "inference_secret",
    "inference_attacker",
    "inference_score",
    "inference_note",
)


class InferredRelease(NamedTuple):
    """A release: its name, what was inferred of it, and the k of its rounding."""

    name: str
    found: ReleaseInference | None
    k: int

    @property
    def rate(self) -> InferenceRate | None:
        """The inference rate; None if there is none."""
        return None if self.found is None else self.found.rate


def _rate(row: InferredRelease) -> str:
    if row.rate is not None:
        return percent(row.rate.estimate, k=row.k)
    return UNKNOWN if row.found is None or row.found.secrets else "not measured"


def _attacker(rate: InferenceRate) -> str:
    score = "" if rate.score == "accuracy" else f", {SCORES.get(rate.score, rate.score)}"
    return printable(f"{ATTACKERS.get(rate.attacker, rate.attacker)}{score}")


INFERENCE: tuple[Column[InferredRelease], ...] = (
    Column("inference rate", _rate),
    Column("interval", lambda row: "" if row.rate is None else span(row.rate.low, row.rate.high)),
    Column("secret", lambda row: "" if row.rate is None else printable(row.rate.column), "left"),
    Column("attacker", lambda row: "" if row.rate is None else _attacker(row.rate), "left"),
    Column("note", lambda row: "" if row.found is None else printable(row.found.reason or ""), "left"),
)
"""The rate of a release, or why there is none."""


def inference_values(found: ReleaseInference | None) -> tuple[object, ...]:
    """The values under `INFERENCE_CSV`; unknown ones are None."""
    if found is None or found.rate is None:
        return (*(None,) * 6, None if found is None else found.reason)
    rate = found.rate
    return rate.estimate, rate.low, rate.high, rate.column, rate.attacker, rate.score, found.reason


READ = (
    "The releases of each table are ranked by risk, the highest first. With a control, the risk is the share of people "
    "linked because of the release: the power at a false-positive rate of 5%, beyond the 5% expected by chance. If the "
    "control is too small for 5%, the row names the rate used. If only true matches are known, the risk is how often "
    "the best candidate is the right person, beyond a blind guess. Rows whose risk is measured in another way, or "
    "with another control, are not ranked against each other. A place such as 2-3 is a tie: the 95% intervals overlap."
)
"""How to read the leaderboard."""

AGAINST = {
    ("control", "file"): "control",
    ("control", "absent"): "originals not released",
    ("own_match_left_out", None): "own match left out",
}
_NOTHING = "nothing"


def comparison_group(row: BenchmarkRow) -> str:
    """The people that give the base rate of look-alikes."""
    if row.status != "assessed":
        return UNKNOWN
    if row.attributable_rate is None:
        return _NOTHING
    basis = row.attributable_rate.basis
    return AGAINST[basis, row.control_from if basis == "control" else None]


def place(row: BenchmarkRow, rows: Sequence[BenchmarkRow]) -> str:
    """The place among the rows ranked together, such as `2-3 of 10`; "n/a" if there is none."""
    if row.place is None:
        return UNKNOWN
    alike = [item for item in rows if item.place is not None and _rank_key(item) == _rank_key(row)]
    return f"{places(row.place.first, row.place.last)} of {len(alike)}"


def _rank_key(row: BenchmarkRow) -> tuple[str | float | None, ...]:
    control = row.inputs.get("control") if row.control_from == "file" else None
    rate = None if row.risk is None else row.risk.false_rate
    return comparison_group(row), row.ranked_by, rate, None if control is None else control.sha256


def _interval(rate: float | None, low: float | None, high: float | None, k: int) -> str:
    """A rate, followed by its interval if there is one."""
    return percent(rate, k=k) + bracketed_span(low, high)


def _place_or_status(row: BenchmarkRow, rows: Sequence[BenchmarkRow]) -> str:
    """The place, or the status of a release that failed or is not assessable."""
    return place(row, rows) if row.status == "assessed" else row.status.replace("_", " ")


def _risk(row: BenchmarkRow) -> str:
    """The risk with its interval, and the false-positive rate if it is not 5%."""
    return _interval(*row.shown, row.suppress_below) + (f", {false_rate_note(row)}" if false_rate_note(row) else "")


def false_rate_note(row: BenchmarkRow) -> str:
    """The false-positive rate of a risk if it is not 5%, else an empty text."""
    rate = None if row.risk is None else row.risk.false_rate
    return "" if rate in (None, FALSE_RATE) else f"at {rate:.0%}"


def _linkage_in_words(row: BenchmarkRow) -> str:
    """The raw linkage rate, followed by that of the control."""
    rate = percent(None if row.linkage_rate is None else row.linkage_rate.estimate, k=row.suppress_below)
    return rate if row.control is None else f"{rate}; control {percent(row.control.rate, k=row.suppress_below)}"


def _top1(row: BenchmarkRow) -> str:
    """The top-1 hit rate with its interval, and the largest one if another attacker has a larger one."""
    words = _interval(row.top1_hit_rate, row.top1_low, row.top1_high, row.suppress_below)
    most = row.largest_top1
    if most is None or percent(most.top1_hit_rate) == percent(row.top1_hit_rate):
        return words
    return f"{words}; {percent(most.top1_hit_rate)} by {printable(most.attacker)}"


def utility(found: BenchmarkUtility | None, *, short: bool = False) -> str:
    """The utility score, and the number of columns it covers if some are withheld."""
    if found is None or found.score is None:
        return UNKNOWN
    here, whole = len(found.columns), len(found.columns) + len(found.withheld)
    words = f" ({here}/{whole})" if short else f" ({here} of {whole} columns)"
    return f"{found.score:.3f}" + (words if found.withheld else "")


def mechanism_in_words(row: BenchmarkRow) -> str:
    """How the release was made: mechanism, strength, author."""
    strength = [f"{name} = {value}" for name, value in row.made.strength.items()]
    by = [] if row.made.by is None else [f"by {row.made.by}"]
    return printable(", ".join([row.made.mechanism, *strength, *by]))


def seconds(row: BenchmarkRow) -> str:
    """The time of the audit in seconds."""
    return UNKNOWN if row.seconds is None else f"{row.seconds:.0f}" if row.seconds >= 10 else f"{row.seconds:.1f}"


def _sizes(row: BenchmarkRow) -> str:
    """The numbers of originals, controls and released records."""
    parts = [f"{row.inputs[role].rows:,}" if role in row.inputs else UNKNOWN for role in ("original", "control")]
    released = f"{row.inputs['protected'].rows:,}" if "protected" in row.inputs else UNKNOWN
    return f"{parts[0]} / {parts[1]} / {released}"


def rules(row: BenchmarkRow) -> list[str]:
    """The distinct rules of the warnings, without warnings on columns."""
    return list(dict.fromkeys(warning.rule for warning in row.warnings if warning.rule != "columns"))


def messages(row: BenchmarkRow) -> list[tuple[str, str]]:
    """The warnings of a release with their docs; warnings on columns are counted, because there can be many."""
    columns = sum(item.rule == "columns" for item in row.warnings)
    found = [(item.message, item.docs or "") for item in row.warnings if item.rule != "columns"]
    if columns:
        found.append((f"{columns} on columns that are absent, empty or not declared; its own result has them", ""))
    return found


def risk_table(label: str, rows: Sequence[BenchmarkRow]) -> ReportTable:
    """The releases of a data set with their risks; the page and the Markdown file show it."""
    columns: tuple[Column[BenchmarkRow], ...] = (
        Column("release", lambda row: printable(row.name), "left"),
        Column("place", lambda row: _place_or_status(row, rows), "left"),
        Column("risk", _risk, "left"),
        Column("compared with", comparison_group, "left"),
        Column("linked", _linkage_in_words, "left"),
        Column("top-1", _top1, "left"),
        Column("utility", lambda row: utility(row.utility), "left"),
    )
    return table_of(label, rows, columns, style="stacked", outputs=PAGE)


def details_table(label: str, rows: Sequence[BenchmarkRow]) -> ReportTable:
    """How each release was made, and the figures behind its risk."""
    columns: tuple[Column[BenchmarkRow], ...] = (
        Column("release", lambda row: printable(row.name), "left"),
        Column("how it was made", lambda row: f"{row.made.family}: {mechanism_in_words(row)}", "left"),
        Column("attacker", lambda row: UNKNOWN if row.attacker is None else printable(row.attacker), "left"),
        Column("linked, 95% interval", _linked_with_interval, "left"),
        Column("paper's attacker", _linked_by_paper, "left"),
        Column("blocking recall", lambda row: percent(row.blocking_recall, k=row.suppress_below), "left"),
        Column("rows (original / control / release)", _sizes, "left"),
        Column("seconds", seconds, "left"),
    )
    return table_of(label, rows, columns, style="stacked")


def _linked_with_interval(row: BenchmarkRow) -> str:
    raw = row.linkage_rate
    return UNKNOWN if raw is None else _interval(raw.estimate, raw.low, raw.high, row.suppress_below)


def _linked_by_paper(row: BenchmarkRow) -> str:
    paper = row.paper_linkage_rate
    return percent(None if paper is None else paper.estimate, k=row.suppress_below)


def _inference_table(rows: Sequence[BenchmarkRow]) -> ReportTable:
    columns: tuple[Column[InferredRelease], ...] = (
        Column("release", lambda row: printable(row.name)),
        *INFERENCE,
    )
    releases = [InferredRelease(row.name, row.inference, row.suppress_below) for row in rows]
    return table_of("Attribute inference", releases, columns)


def reasons(row: BenchmarkRow) -> str:
    """Why there is no figure, as one text. The reasons of a failed release are full sentences."""
    parts = [printable(reason) for reason in row.reasons]
    if row.status == "failed":
        return " ".join(with_full_stop(reason) for reason in parts)
    return with_full_stop("; ".join(parts)) if parts else ""


def note(row: BenchmarkRow) -> str:
    """Why there is no figure, and the rules of the warnings; empty if there is neither."""
    why = reasons(row)
    named = [rule.replace("_", " ") for rule in rules(row) if not (why and rule == "not_assessable")]
    warned = with_full_stop(f"{'Warnings' if why else 'warnings'}: {', '.join(named)}") if named else ""
    return f"{why} {warned}".strip()


_QUOTED = re.compile(r"`((--[a-z-]+( [A-Z]+)?)|([a-z_0-9]+)(\.[a-z_0-9]+)*(: [a-z_0-9]+)?)`")
_SETTINGS = {*AuditConfig.model_fields, *ColumnConfig.model_fields}


def as_code(words: str) -> str:
    """Return `words` with options and settings, which messages put in backticks, marked as text to type.

    Only text in the form of an option or a known setting is marked: names of files and columns may contain backticks.
    """
    return _QUOTED.sub(lambda item: mark_typed(item[1]) if item[2] or item[4] in _SETTINGS else item[0], words)


def leaderboard_markdown(result: BenchmarkResult) -> str:
    """All groups as one Markdown page; names and texts of manifests are escaped."""
    lines = ["# Leaderboard", "", READ, ""]
    lines += ["Estimates under the stated attackers, no guarantee; a stronger attacker may do better.", ""]
    for group in result.groups:
        rows = result.of(group.name)
        lines += [f"## {text(group.title)}", "", *_setting(group), ""]
        lines += _table(risk_table(group.title, rows))
        lines += ["", "Details behind these figures:", ""]
        lines += [*_table(details_table(group.title, rows)), ""]
        if any(row.inference is not None and row.inference.secrets for row in rows):
            lines += ["Attribute inference:", "", *_table(_inference_table(rows)), ""]
        noted = [f"- {code(row.name)}: {text(as_code(note(row)))}" for row in rows if note(row)]
        lines += [*noted, ""] if noted else []
        warned = shared_items([(row.name, messages(row)) for row in rows])
        words = [f"- {text(as_code(' '.join((item.text, *item.more))))}" for item in warned]
        lines += ["What the warnings say:", "", *words, ""] if words else []
    versions = ", ".join(f"{name} {version}" for name, version in sorted(result.versions.items()))
    lines.append(text(f"Made with {versions}."))
    return "\n".join(lines) + "\n"


def _setting(group: BenchmarkGroup) -> list[str]:
    control = {None: "no control", "absent": "control: the originals that are not released"}
    message = control.get(group.control, f"control {code(group.control or '')}")
    # No full stop after the texts of a manifest: it would become part of a URL.
    words = [f"- {what}: {text(item)}" for what, item in (("Source", group.source), ("Licence", group.licence))]
    return [f"Original {code(group.original)}, {message}.", "", *words]


def _table(table: ReportTable) -> list[str]:
    cells = [" | ".join(text(cell) for cell in row) for row in table.rows]
    heads = " | ".join(head.name for head in table.heads)
    return [f"| {heads} |", "|" + "---|" * len(table.heads), *(f"| {line} |" for line in cells)]


_CSV = (
    "group", "release", "file", "family", "mechanism", "strength", "by", "status", "place_first", "place_last",
    "ranked_by", "held_against", "attacker", "verdict", "risk", "risk_low", "risk_high", "power", "power_low",
    "power_high", "attributable_rate",
    "attributable_low", "attributable_high", "linkage_rate", "linkage_low", "linkage_high", "control_rate",
    "top1_hit_rate", "top1_low", "top1_high", "largest_top1", "largest_top1_attacker", "blocking_recall",
    "paper_linkage_rate", *INFERENCE_CSV, "utility", "columns", "columns_withheld", "originals", "controls", "released",
    "warnings", "reasons", "seconds",
)  # fmt: skip


def leaderboard_csv(result: BenchmarkResult) -> str:
    """One line per release with unrounded figures; unknown values are empty cells."""
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
        *(row.ranked_by, comparison_group(row) if row.status == "assessed" else None, row.attacker),
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
        *inference_values(row.inference),
        *((None,) * 3 if kept is None else (kept.score, len(kept.columns), len(kept.withheld))),
        *sizes,
        *("; ".join(rules(row)), reasons(row), row.seconds),
    )


def _cell(value: object) -> object:
    """Prefix a text that a spreadsheet would read as a formula with an apostrophe."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) and shown != UNKNOWN else shown
