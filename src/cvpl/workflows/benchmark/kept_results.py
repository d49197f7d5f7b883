"""Kept results of a benchmark, so that interrupted runs resume.

    DIR/results/GROUP/RELEASE.json        the result of the audit, as `cvpl audit` writes it
    DIR/results/GROUP/RELEASE.run.json    its inputs, its duration, and the utility

The second file is written last, and records the digest of the first. A result is reused only if all its inputs are the
same: the tables, the hierarchies, the configuration, the versions, and the code that computes figures.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from cvpl.assessment.provenance import versions
from cvpl.config.manifest import Entry
from cvpl.config.written import ControlConfig
from cvpl.errors import UsageError
from cvpl.files import record_kept, unnamed_file, write_whole
from cvpl.result import AuditResult, BenchmarkUtility
from cvpl.result.section import Section
from cvpl.tables.source import located

_ONLY_SHOWS = ("cli", "reports", "charts", "schemas", "experiments", "simulation", "protection", "leaderboard.py")
"""Parts of the package that no audit figure depends on."""


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


@dataclass(frozen=True)
class KeptResults:
    """The kept results of one folder; without a folder nothing is kept."""

    folder: Path | None

    def prepare(self) -> None:
        """Create the folder, and check that it is writable; raises UsageError if not."""
        if self.folder is None:
            return
        place = self.folder / "results"
        try:
            place.mkdir(parents=True, exist_ok=True)
            with unnamed_file(place):
                pass
        except OSError as error:
            why = error.strerror or "the system refused"
            text = f"--out {self.folder}: cannot write in '{place}' ({why}). Name another folder."
            raise UsageError(text) from None

    def find(self, group: str, name: str, fingerprint: str) -> AuditedRelease | None:
        """The kept result of the same inputs, if it exists and is complete."""
        if self.folder is None:
            return None
        file, beside = self._files(group, name)
        try:
            run = _Run.model_validate_json(beside.read_bytes())
            content = file.read_bytes()
            if run.fingerprint != fingerprint or run.result_sha256 != hashlib.sha256(content).hexdigest():
                return None
            found = AuditedRelease(AuditResult.from_json(content), run.utility, run.seconds)
        except (OSError, ValidationError):
            return None
        record_kept(self.folder / "results")
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
        write_whole(beside, json.dumps(run.model_dump(mode="json"), indent=2) + "\n")
        record_kept(self.folder / "results")

    def _files(self, group: str, name: str) -> tuple[Path, Path]:
        folder = (self.folder or Path()) / "results" / group
        return folder / f"{name}.json", folder / f"{name}.run.json"


def fingerprint(entry: Entry) -> str:
    """A digest of everything that the result of a release depends on."""
    config = entry.config.config
    parts = {
        "files": {name: _digest(file) for name, file in _files(entry).items()},
        "tables": [_digest(entry.original), _digest(entry.file)],
        "config": config.model_dump(mode="json"),
        "versions": versions(),
        "code": _code(),
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


def _digest(data: Path) -> str:
    """A digest of a file; of one of its tables also the name."""
    file, part = located(data)
    try:
        digest = _digest_of(file, file.stat().st_mtime_ns)
    except OSError:
        return "cannot be read"
    return digest if part is None else f"{digest} {part}"


@cache
def _digest_of(file: Path, _changed: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


@cache
def _code() -> str:
    """A digest of the code that computes figures."""
    top = Path(__file__).parent
    digest = hashlib.sha256()
    for file in sorted(top.rglob("*.py")):
        part = file.relative_to(top)
        if part.parts[0] not in _ONLY_SHOWS:
            digest.update(part.as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
