"""Finished rounds of a trial, kept so that an interrupted trial resumes.

    DIR/rounds/round_01.scores    the scores of every person in round 1, under its checksum

The files hold scores of single people. Only this user may read them, and they are removed when the trial ends. A round
is reused only if its file is as it was written and nothing that its scores depend on has changed: the table, the
configuration, the mechanism, the seed, the number of rounds, the versions, and the code that computes figures.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.audit_result import versions
from cvpl.files import record_kept, write_whole
from cvpl.result import Finding
from cvpl.workflows.fingerprints import code_digest, file_digest
from cvpl.workflows.trial.rounds import RoundScores, Trial

ROUNDS = "rounds"
_DETAILS = "details"


@dataclass(frozen=True)
class KeptRounds:
    """The kept rounds of one folder; without a folder or a fingerprint nothing is kept."""

    folder: Path | None
    fingerprint: str | None

    @property
    def place(self) -> Path | None:
        """The folder of the kept rounds; None if nothing is kept."""
        return None if self.folder is None or self.fingerprint is None else self.folder / ROUNDS

    def find(self, number: int) -> RoundScores | None:
        """The kept scores of a round of the same trial, if its file is there and as it was written."""
        if self.place is None or self.fingerprint is None:
            return None
        try:
            head, _, content = self._file(self.place, number).read_bytes().partition(b"\n")
        except OSError:
            return None
        if head != self._head(content):
            return None
        record_kept(self.place)
        return _unpack(content)

    def keep(self, number: int, found: RoundScores) -> None:
        """Write the scores of a round."""
        if self.place is None:
            return
        self.place.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = _pack(found)
        write_whole(self._file(self.place, number), self._head(content) + b"\n" + content, owner_only=True)
        record_kept(self.place)

    def _head(self, content: bytes) -> bytes:
        """The checksum of a file: of its content, and of all that it depends on."""
        return hashlib.sha256((self.fingerprint or "").encode() + b"\0" + content).hexdigest().encode()

    @staticmethod
    def _file(place: Path, number: int) -> Path:
        return place / f"round_{number + 1:02d}.scores"


def remove_rounds(folder: Path) -> None:
    """Remove the rounds that are kept in a folder: the trial has ended."""
    shutil.rmtree(folder / ROUNDS, ignore_errors=True)


def trial_fingerprint(trial: Trial, named: Mapping[str, Path]) -> str | None:
    """A digest of everything that the scores of a trial depend on; None if that cannot be known.

    `named` are the files that the configuration names.
    """
    if trial.mechanism.fingerprint is None:
        return None
    parts = {
        "table": file_digest(trial.table),
        "files": {name: file_digest(file) for name, file in named.items()},
        "config": trial.resolved.config.model_dump(mode="json"),
        "attackers": list(trial.resolved.attackers),
        "mechanism": trial.mechanism.fingerprint,
        "inside": hashlib.sha256(np.packbits(trial.inside).tobytes()).hexdigest(),
        "rounds": trial.rounds,
        "seed": trial.seed,
        "blind": trial.blind,
        "versions": versions(),
        "code": code_digest(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _pack(found: RoundScores) -> bytes:
    """A round as the bytes of an archive of arrays."""
    details = {
        "scores": list(found.scores),
        "blind": list(found.blind),
        "faults": {name: list(faults) for name, faults in found.faults.items()},
        "canary_faults": {name: list(faults) for name, faults in found.canary_faults.items()},
        "hits": dict(found.hits),
        "unseen": [finding.model_dump() for finding in found.unseen],
        "released": found.released,
        "columns": list(found.columns),
        "notices": list(found.notices),
    }
    arrays: dict[str, NDArray[np.generic]] = {_DETAILS: np.frombuffer(json.dumps(details).encode(), dtype=np.uint8)}
    arrays |= {f"scores {at}": scores for at, scores in enumerate(found.scores.values())}
    arrays |= {f"blind {at}": scores for at, scores in enumerate(found.blind.values())}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def _unpack(content: bytes) -> RoundScores:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        details = json.loads(arrays[_DETAILS].tobytes())
        return RoundScores(
            scores={name: arrays[f"scores {at}"] for at, name in enumerate(details["scores"])},
            blind={name: arrays[f"blind {at}"] for at, name in enumerate(details["blind"])},
            faults={name: tuple(faults) for name, faults in details["faults"].items()},
            canary_faults={name: tuple(faults) for name, faults in details["canary_faults"].items()},
            hits=details["hits"],
            unseen=tuple(Finding.model_validate(finding) for finding in details["unseen"]),
            released=details["released"],
            columns=tuple(details["columns"]),
            notices=tuple(details["notices"]),
        )
