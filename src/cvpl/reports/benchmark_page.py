"""The page of a benchmark: each data set with its releases in order, what stands behind the figures, what to doubt."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl import charts
from cvpl.charts import Numbers
from cvpl.reports.benchmark import benchmark_headline
from cvpl.reports.leaderboard import BEHIND, READ, RISK, SIZES, as_code, behind_cells, note, risk_cells
from cvpl.reports.page import Drawn, drawn, page
from cvpl.result import BenchmarkGroup, BenchmarkResult
from cvpl.wording import UNKNOWN, printable


@dataclass(frozen=True)
class _Shown:
    """One data set as the template takes it."""

    group: BenchmarkGroup
    risk: Numbers
    behind: Numbers
    risks: Drawn | None
    utilities: Drawn | None
    notes: list[tuple[str, str]]
    warnings: list[tuple[str, str, str]]


def benchmark_page(result: BenchmarkResult, *, opened: bool = False) -> str:
    """The page as HTML, from a result alone; `opened` for paper."""
    return page(
        "benchmark.html",
        opened=opened,
        title="Linkage risk of protected releases",
        answer=benchmark_headline(result),
        read=READ,
        shown=[_shown(result, group) for group in result.groups],
        files=_files(result),
        versions=", ".join(f"{name} {version}" for name, version in sorted(result.versions.items())),
        version=result.versions.get("cvpl", ""),
    )


def _shown(result: BenchmarkResult, group: BenchmarkGroup) -> _Shown:
    rows = result.of(group.name)
    warnings: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        columns = sum(item.rule == "columns" for item in row.warnings)
        parts = [(item.message, item.docs or "") for item in row.warnings if item.rule != "columns"]
        if columns:
            parts.append((f"{columns} on columns that are absent, empty or not declared; its own result has them", ""))
        for warning in parts:
            warnings.setdefault(warning, []).append(printable(row.name))
    return _Shown(
        group=group,
        risk=Numbers("", "", RISK, tuple(risk_cells(row, rows) for row in rows)),
        behind=Numbers("", "", (*BEHIND, *SIZES), tuple(behind_cells(row) for row in rows)),
        risks=drawn(charts.release_risks(rows, group.name)),
        utilities=drawn(charts.release_utilities(rows, group.name)),
        notes=[(printable(row.name), as_code(note(row))) for row in rows if note(row)],
        warnings=[
            (message, docs, "all releases" if len(names) == len(rows) else ", ".join(names))
            for (message, docs), names in warnings.items()
        ],
    )


def _files(result: BenchmarkResult) -> Numbers:
    """Every release with the SHA-256 of its bytes."""
    rows = []
    for row in result.rows:
        found = row.inputs.get("protected")
        rows.append((printable(f"{row.group}/{row.name}"), printable(row.file), _sha(found.sha256 if found else None)))
    return Numbers("", "", ("release", "file", "SHA-256"), tuple(rows))


def _sha(digest: str | None) -> str:
    return UNKNOWN if digest is None else digest
