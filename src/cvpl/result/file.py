"""Reading result files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cvpl.errors import InputError, Problem
from cvpl.files.reading import read_bounded
from cvpl.result import AuditResult, BenchmarkResult, ComparisonResult, SurfaceResult, TrialResult
from cvpl.wording import printable

AnyResult = AuditResult | ComparisonResult | SurfaceResult | BenchmarkResult | TrialResult

MOST_MEGABYTES = 100
"""The largest result that is read; it holds figures, never records."""

_LONGEST_PLACE = 100


def read_result(path: Path) -> AuditResult:
    """Read the result of an audit from a file, or from the `result.json` of a folder."""
    file = path / "result.json" if path.is_dir() else path
    cure = "Name a result.json that `cvpl audit --out` wrote, or its folder."
    content = read_bounded(file, str(file), "result", MOST_MEGABYTES, cure)
    try:
        return AuditResult.from_json(content)
    except ValidationError as error:
        cure = "Name a result.json that `cvpl audit --out` wrote with this version or an earlier one."
        what = f"this is not the result of an audit{_first_fault(error, content)}"
        raise InputError([Problem(str(file), what, cure)]) from None


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
    why = ""
    for kind in KINDS.values():
        try:
            return kind.from_json(content), file
        except ValidationError as error:
            why = why or _first_fault(error, content)
    cure = f"Name a file that cvpl wrote ({', '.join(KINDS)}) with this version or an earlier one."
    raise InputError([Problem(str(file), f"this is not a result{why}", cure)])


def _first_fault(error: ValidationError, content: bytes) -> str:
    """Where a file of the kind that it says it is departs from it first, for a message; empty for any other file."""
    faults = error.errors(include_url=False, include_context=True, include_input=False)
    if any(fault["loc"] == ("schema",) for fault in faults) or not _has_schema(content):
        return ""
    place = ".".join(str(part) for part in faults[0]["loc"])
    shown = printable(place if len(place) <= _LONGEST_PLACE else f"{place[:_LONGEST_PLACE]}...")
    return f": {f'`{shown}` ' if shown else 'it '}{_wrong(faults[0])}"


def _has_schema(content: bytes) -> bool:
    try:
        found = json.loads(content)
    except ValueError:
        return False
    return isinstance(found, dict) and isinstance(found.get("schema"), str)


def _wrong(fault: Mapping[str, Any]) -> str:
    """What is wrong at a place, without what was found there."""
    if fault["type"] == "literal_error":
        return f"has a name that this version does not know; allowed is {fault['ctx']['expected']}"
    return "is missing" if fault["type"] == "missing" else "has a value that no result has there"


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
