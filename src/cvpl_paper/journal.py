"""The journal of a run: every finished cell on a line, so that interrupted runs resume.

The first line identifies the run. Every line ends with a checksum: of the first line, and of that line and itself for
the others, so that a line counts only in the run that wrote it, and only as it was written. A damaged or incomplete
line is removed, and its cell is run again. Timings are in a separate file: sorted by key, the journal of an interrupted
run equals that of an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cvpl.errors import UsageError
from cvpl.files import append_line, read_lines, record_kept, write_whole
from cvpl.wording import count_phrase

Figures = Mapping[str, Any]

JOURNAL = "journal.jsonl"
TIMINGS = "timings.jsonl"


class Journal:
    """The finished cells of a run, by key, and the duration of each."""

    def __init__(
        self,
        folder: Path,
        run: Mapping[str, Any],
        *,
        prefix: str = "",
        on_damaged: Callable[[str], None] | None = None,
    ) -> None:
        """Open the journal in `folder`, or create one; the journal of another run is refused.

        Runs of different kinds share a folder if their files have different prefixes. `on_damaged` is called with a
        sentence if a line is not as it was written.
        """
        self._file, self._timings = folder / f"{prefix}{JOURNAL}", folder / f"{prefix}{TIMINGS}"
        self.finished: dict[str, Figures] = {}
        self._run = json.dumps({"run": run}, sort_keys=True)
        head = _line({"run": run})
        lines = read_lines(self._file)
        if not lines:
            append_line(self._file, head)
            return
        whole = [line for line in lines[1:] if _read(line, self._run) is not None]
        if lines[0] != head and not whole and (len(lines) > 1 or _read(lines[0]) is not None):
            raise UsageError(
                f"{self._file}: this is the journal of another run (other records, tables, seeds or version). "
                "Name another folder with --out, or delete the file to start over."
            )
        content = b"".join(line + b"\n" for line in (head, *whole))
        if content != self._file.read_bytes():
            write_whole(self._file, content)
            if on_damaged is not None:
                on_damaged(f"{self._file}: {_damage(len(lines) - 1 - len(whole))}")
        for line in whole:
            entry = json.loads(line)
            self.finished[entry["key"]] = entry["figures"]
        if self.finished:
            record_kept(self._file)

    def add(self, key: str, figures: Figures, seconds: float) -> Figures:
        """Record a finished cell, and return its figures as they will be read back."""
        line = _line({"key": key, "figures": figures}, self._run)
        append_line(self._timings, _line({"key": key, "seconds": round(seconds, 4)}))
        append_line(self._file, line)
        record_kept(self._file)
        self.finished[key] = json.loads(line)["figures"]
        return self.finished[key]

    def seconds(self) -> dict[str, float]:
        """The duration of each cell's last run; damaged lines do not count."""
        entries = (_read(line) for line in read_lines(self._timings))
        return {entry["key"]: entry["seconds"] for entry in entries if entry is not None}


def _damage(cells: int) -> str:
    if not cells:
        return "one line was damaged and is written again. All finished cells are used."
    return f"{count_phrase(cells, 'line')} {'was' if cells == 1 else 'were'} damaged. What is missing is run again."


def _line(entry: Mapping[str, Any], run: str = "") -> bytes:
    """An entry as a line, with the checksum of it and of the run that it belongs to."""
    text = json.dumps(entry, sort_keys=True, allow_nan=False)
    digest = hashlib.sha256(f"{run}\n{text}".encode()).hexdigest()
    return json.dumps({**entry, "sha256": digest}, sort_keys=True, allow_nan=False).encode()


def _read(line: bytes, run: str = "") -> dict[str, Any] | None:
    """The entry of a line; None if the line is not, to the last byte, what was written in this run."""
    try:
        entry = json.loads(line)
        del entry["sha256"]
        return entry if _line(entry, run) == line else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
