"""Digests of what a kept result depends on: the bytes of files, and the code that computes figures."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from cvpl.tables.source.source import locate

_PACKAGE = Path(__file__).parents[1]
_ONLY_SHOWS = ("cli", "reports", "charts", "answers", "schemas", "datasets")
"""Parts of the package that no audit figure depends on."""


def file_digest(data: Path) -> str:
    """A digest of a file; of one of its tables also the name."""
    file, part = locate(data)
    try:
        # Not remembered: a file that changes within one tick of the clock keeps its size and its time.
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return "cannot be read"
    return digest if part is None else f"{digest} {part}"


@cache
def code_digest(package: Path = _PACKAGE) -> str:
    """A digest of the code that computes figures."""
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        part = file.relative_to(package)
        if part.parts[0] not in _ONLY_SHOWS:
            digest.update(part.as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
