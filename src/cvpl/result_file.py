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
        raise InputError(
            [Problem(str(path), "there is no result to read", "Name a result.json or its folder.")]
        ) from None
    except ValidationError:
        cure = "Name a file that `cvpl audit --out` wrote."
        raise InputError([Problem(file.name, "this is not a result of an audit", cure)]) from None
