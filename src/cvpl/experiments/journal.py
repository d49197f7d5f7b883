"""The journal of a run: every finished cell on a line, so that interrupted runs resume.

The first line identifies the run. An incomplete last line is removed. Timings are in a separate file: sorted by key,
the journal of an interrupted run equals that of an uninterrupted one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cvpl.errors import UsageError
from cvpl.files import record_kept

Figures = Mapping[str, Any]

JOURNAL = "journal.jsonl"
TIMINGS = "timings.jsonl"


class Journal:
    """The finished cells of a run, by key, and the duration of each."""

    def __init__(self, folder: Path, run: Mapping[str, Any], *, prefix: str = "") -> None:
        """Open the journal in `folder`, or create one; the journal of another run is refused.

        Runs of different kinds share a folder if their files have different prefixes.
        """
        self._file, self._timings = folder / f"{prefix}{JOURNAL}", folder / f"{prefix}{TIMINGS}"
        self.finished: dict[str, Figures] = {}
        head = json.dumps({"run": run}, sort_keys=True)
        lines = _whole_lines(self._file)
        if not lines:
            _append(self._file, head)
            return
        if lines[0] != head:
            raise UsageError(
                f"{self._file}: this is the journal of another run (other records, tables, seeds or version). "
                "Name another folder with --out, or delete the file to start over."
            )
        for line in lines[1:]:
            entry = json.loads(line)
            self.finished[entry["key"]] = entry["figures"]
        if self.finished:
            record_kept(self._file)

    def add(self, key: str, figures: Figures, seconds: float) -> Figures:
        """Record a finished cell, and return its figures as they will be read back."""
        line = json.dumps({"key": key, "figures": figures}, sort_keys=True, allow_nan=False)
        _append(self._timings, json.dumps({"key": key, "seconds": round(seconds, 4)}))
        _append(self._file, line)
        record_kept(self._file)
        self.finished[key] = json.loads(line)["figures"]
        return self.finished[key]

    def seconds(self) -> dict[str, float]:
        """The duration of each cell's last run."""
        return {entry["key"]: entry["seconds"] for entry in map(json.loads, _whole_lines(self._timings))}


def _whole_lines(file: Path) -> list[str]:
    """The lines of a file; an incomplete last line is also removed from the file."""
    if not file.exists():
        return []
    text = file.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        with file.open("rb+") as handle:
            handle.truncate(len(whole))
    return whole.decode().splitlines()


def _append(file: Path, line: str) -> None:
    """Append a line to a file, and flush it to disk."""
    with file.open("ab") as handle:
        handle.write(line.encode() + b"\n")
        handle.flush()
        os.fsync(handle.fileno())
