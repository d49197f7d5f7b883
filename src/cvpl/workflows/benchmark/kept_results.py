"""Kept results of a benchmark, so that interrupted runs resume.

    DIR/results/GROUP/RELEASE.json        the result of the audit, as `cvpl audit` writes it
    DIR/results/GROUP/RELEASE.run.json    its inputs, its duration, and the utility

The second file is written last. It records the digest of the first, and one of itself. A result is reused only if both
files are as they were written, and all its inputs are the same: the tables, the hierarchies, the configuration, the
versions, and the code that computes figures.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cvpl.assessment.audit_result import versions
from cvpl.config.manifest import Entry
from cvpl.config.written import ControlConfig
from cvpl.errors import LimitError, UsageError
from cvpl.files import record_kept, unnamed_file, write_whole
from cvpl.result import AuditResult, BenchmarkUtility
from cvpl.result.publishing import Section
from cvpl.workflows.fingerprints import code_digest, file_digest


@dataclass(frozen=True, eq=False)
class AuditedRelease:
    """An audited release: its result, its utility and the audit's duration in seconds."""

    result: AuditResult
    utility: BenchmarkUtility
    seconds: float


class _Run(Section):
    """The metadata file of a kept result."""

    fingerprint: str
    result_sha256: str
    seconds: float
    utility: BenchmarkUtility
    sha256: str = ""
    """The digest of all the other fields."""

    def content(self) -> bytes:
        """The file, with its digest."""
        digest = hashlib.sha256(self._text("").encode()).hexdigest()
        return self._text(digest).encode()

    def _text(self, digest: str) -> str:
        return json.dumps(self.model_dump(mode="json") | {"sha256": digest}, indent=2) + "\n"


@dataclass(frozen=True)
class KeptResults:
    """The kept results of one folder; without a folder nothing is kept."""

    folder: Path | None

    def prepare(self) -> None:
        """Create the folder, and check that it is writable; raises UsageError if not, LimitError if it is full."""
        if self.folder is None:
            return
        place = self._place
        try:
            place.mkdir(parents=True, exist_ok=True)
            with unnamed_file(place):
                pass
        except OSError as error:
            why = error.strerror or "the system refused"
            text = f"--out {self.folder}: cannot write in '{place}' ({why}). Name another folder."
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise (LimitError(text) if full else UsageError(text)) from None

    def find(
        self, group: str, name: str, fingerprint: str, on_damaged: Callable[[str], None] | None = None
    ) -> AuditedRelease | None:
        """The kept result of the same inputs, if it exists and is as it was written.

        `on_damaged` is called with a sentence if one of its files is not as it was written.
        """
        if self.folder is None:
            return None
        file, beside = self._files(group, name)
        if not beside.exists():
            return None
        try:
            metadata, content = beside.read_bytes(), file.read_bytes()
            run = _Run.model_validate_json(metadata)
            whole = run.content() == metadata and run.result_sha256 == hashlib.sha256(content).hexdigest()
            if whole and run.fingerprint != fingerprint:
                return None
            found = AuditedRelease(AuditResult.from_json(content), run.utility, run.seconds) if whole else None
        except (OSError, ValidationError):
            found = None
        if found is not None:
            record_kept(self._place)
        elif on_damaged is not None:
            on_damaged(f"{file}: this kept result is damaged. The release is audited again.")
        return found

    def keep(self, group: str, name: str, fingerprint: str, found: AuditedRelease) -> None:
        """Write a result, then its metadata."""
        if self.folder is None:
            return
        file, beside = self._files(group, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        content = found.result.to_json().encode()
        digest = hashlib.sha256(content).hexdigest()
        run = _Run(fingerprint=fingerprint, result_sha256=digest, seconds=found.seconds, utility=found.utility)
        beside.unlink(missing_ok=True)
        write_whole(file, content)
        write_whole(beside, run.content())
        record_kept(self._place)

    @property
    def _place(self) -> Path:
        return (self.folder or Path()) / "results"

    def _files(self, group: str, name: str) -> tuple[Path, Path]:
        folder = self._place / group
        return folder / f"{name}.json", folder / f"{name}.run.json"


def fingerprint(entry: Entry) -> str:
    """A digest of everything that the result of a release depends on."""
    config = entry.config.config
    parts = {
        "files": {name: file_digest(file) for name, file in _files(entry).items()},
        "tables": [file_digest(entry.original), file_digest(entry.file)],
        "config": config.model_dump(mode="json"),
        "versions": versions(),
        "code": code_digest(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _files(entry: Entry) -> dict[str, Path]:
    """The files besides the two tables: control, hierarchies, saved projections."""
    config, base = entry.config.config, entry.config.base
    named = [column.hierarchy for column in config.columns.values() if column.hierarchy is not None]
    if isinstance(config.control, ControlConfig):
        named.append(config.control.file)
    files = (attacker.projection_operator.saved_file for attacker in entry.resolved.attackers.values())
    saved = [Path(file) for file in files if file is not None]
    return {name: base / name for name in named} | {file.name: file for file in saved}
