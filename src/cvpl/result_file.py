"""Reading a `result.json` that a person names."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from cvpl.errors import InputError, Problem
from cvpl.result import AuditResult


def read_result(path: Path) -> AuditResult:
    """The result in a file, or in a folder's `result.json`."""
    file = path / "result.json" if path.is_dir() else path
    try:
        return AuditResult.from_json(file.read_bytes())
    except OSError:
        cure = "Name a result.json that `cvpl audit --out` wrote, or its folder."
        raise InputError([Problem(str(file), "there is no such file, or it cannot be opened", cure)]) from None
    except ValidationError:
        cure = "Name a result.json that `cvpl audit --out` wrote with this version or an earlier one."
        raise InputError([Problem(str(file), "this is not the result of an audit", cure)]) from None


def read_results(before: Path, after: Path) -> tuple[AuditResult, AuditResult]:
    """Two results, or the problems of both."""
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
