"""Reading result files."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from cvpl.errors import InputError, Problem
from cvpl.input_file import read_bounded
from cvpl.result import AuditResult, BenchmarkResult, ComparisonResult, SurfaceResult, TrialResult

AnyResult = AuditResult | ComparisonResult | SurfaceResult | BenchmarkResult | TrialResult

MOST_MEGABYTES = 100
"""The largest result that is read; it holds figures, never records."""


def read_result(path: Path) -> AuditResult:
    """Read the result of an audit from a file, or from the `result.json` of a folder."""
    file = path / "result.json" if path.is_dir() else path
    cure = "Name a result.json that `cvpl audit --out` wrote, or its folder."
    content = read_bounded(file, str(file), "result", MOST_MEGABYTES, cure)
    try:
        return AuditResult.from_json(content)
    except ValidationError:
        cure = "Name a result.json that `cvpl audit --out` wrote with this version or an earlier one."
        raise InputError([Problem(str(file), "this is not the result of an audit", cure)]) from None


KINDS: dict[str, type[AnyResult]] = {
    "result.json": AuditResult,
    "comparison.json": ComparisonResult,
    "surface.json": SurfaceResult,
    "benchmark.json": BenchmarkResult,
    "trial.json": TrialResult,
}
"""The files that commands write, and the type of their content."""


def read_any(path: Path) -> tuple[AnyResult, Path]:
    """Read the result of any command, and return it with its file; for a folder, the first known file in it."""
    file = path
    if path.is_dir():
        file = next((path / name for name in KINDS if (path / name).is_file()), path / "result.json")
    cure = f"Name a file that cvpl wrote ({', '.join(KINDS)}), or its folder."
    content = read_bounded(file, str(file), "result", MOST_MEGABYTES, cure)
    for kind in KINDS.values():
        try:
            return kind.from_json(content), file
        except ValidationError:
            continue
    cure = f"Name a file that cvpl wrote ({', '.join(KINDS)}) with this version or an earlier one."
    raise InputError([Problem(str(file), "this is not a result", cure)])


def read_results(before: Path, after: Path) -> tuple[AuditResult, AuditResult]:
    """Read two results. Raises InputError with the problems of both."""
    found: list[AuditResult] = []
    problems: list[Problem] = []
    for path in (before, after):
        try:
            found.append(read_result(path))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return found[0], found[1]
