"""The leaderboard: one row per release, ranked within its group, and the results kept so that runs resume.

Releases of one group are ranked by risk, only against others with the same basis. Those with a control come first. With
true matches only, the risk is the top-1 hit rate beyond random guessing. The others have no rank. Two releases with
overlapping 95% intervals are tied.

Kept results of a benchmark, so that interrupted runs resume.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from cvpl import result as out
from cvpl.assessment.audit_result import versions
from cvpl.assessment.diagnostics.inference import release_inference
from cvpl.config.attackers import written_attackers
from cvpl.config.manifest import Entry, Manifest
from cvpl.config.written import AttackerConfig, ControlConfig
from cvpl.errors import LimitError, UsageError
from cvpl.evaluation.ordering import places
from cvpl.files import record_kept, unnamed_file, write_whole
from cvpl.result import AuditResult, BenchmarkUtility
from cvpl.result.publishing import Section
from cvpl.result.verdict import TOO_FEW
from cvpl.utility.combined import mean_of, shared_figures
from cvpl.workflows.fingerprints import code_digest, file_digest

Ends = tuple[float | None, float, float | None]
Status = Literal["assessed", "not_assessable", "failed"]
RankedBy = Literal["risk", "top1_hit_rate"]


@dataclass(frozen=True, eq=False)
class AttemptedRelease:
    """A release that was attempted: its audit, or the reasons for its failure."""

    entry: Entry
    fingerprint: str
    found: AuditedRelease | None
    reasons: tuple[str, ...] = ()


def board(manifest: Manifest, ran: Sequence[AttemptedRelease]) -> tuple[out.BenchmarkGroup, list[out.BenchmarkRow]]:
    """A manifest's group, and the rows of the attempted releases, the highest risk first."""
    utilities = [item.found.utility for item in ran if item.found is not None]
    figures = shared_figures(utilities)
    columns = dict.fromkeys(name for utility in utilities for name in utility.columns)
    rows = [_row(manifest.name, item, figures, list(columns)) for item in ran]
    config = manifest.config
    control = config.control.file if isinstance(config.control, ControlConfig) else config.control
    group = out.BenchmarkGroup(
        name=manifest.name,
        title=config.title,
        source=config.source,
        licence=config.licence,
        original=config.original,
        control=control,
        seed=config.seed,
        utility_figures=figures,
    )
    return group, rank_rows(rows)


def rank_rows(rows: Sequence[out.BenchmarkRow]) -> list[out.BenchmarkRow]:
    """The rows of one group in order, with their ranks; rows without one come last, in the given order."""
    placed: list[out.BenchmarkRow] = []
    for kind in sorted({_kind(row) for row in rows}):
        comparable = [row for row in rows if _kind(row) == kind]
        if comparable[0].ranked_by is None:
            placed += comparable
            continue
        comparable.sort(key=lambda row: -_ends(row)[1])
        found = places(_clearly_above([_ends(row) for row in comparable]))
        placed += [
            row.model_copy(update={"place": out.Places(first=item.first, last=item.last)})
            for row, item in zip(comparable, found, strict=True)
        ]
    return placed


def _clearly_above(ends: Sequence[Ends]) -> NDArray[np.bool_]:
    """Which release is clearly above which: its whole interval is above the other's; never without an interval."""
    above = np.zeros((len(ends), len(ends)), dtype=bool)
    for i, (low, _, _) in enumerate(ends):
        for j, (_, _, high) in enumerate(ends):
            above[i, j] = low is not None and high is not None and low > high
    return above


def _kind(row: out.BenchmarkRow) -> tuple[int, str]:
    """The class of rows that may be ranked together, best basis first; each control has its own class."""
    rate = "" if row.risk is None or row.risk.false_rate is None else f"{row.risk.false_rate:.2f} "
    if row.ranked_by == "risk" and row.control_from == "file":
        return 0, rate + (row.inputs["control"].sha256 or "")
    if row.ranked_by is not None:
        return 1 if row.ranked_by == "risk" else 2, rate
    return {"assessed": 3, "not_assessable": 4, "failed": 5}[row.status], ""


def _ends(row: out.BenchmarkRow) -> Ends:
    """The figure that ranks a row, with the ends of its interval."""
    estimate, low, high = row.shown
    return low, estimate or 0.0, high


def _row(group: str, ran: AttemptedRelease, figures: Sequence[str], columns: Sequence[str]) -> out.BenchmarkRow:
    """One release's row, without its rank."""
    entry, found = ran.entry, ran.found
    made, config = entry.made, entry.config.config
    result = None if found is None else found.result
    text = result if result is not None and result.verdict.kind != "not_assessable" else None
    status: Status = "failed" if result is None else "not_assessable" if text is None else "assessed"
    truth = None if text is None else text.truth
    control = None if text is None else text.control
    attributable = None if text is None else text.attributable_rate
    top1 = None if truth is None else truth.top1_hit_rate
    risk = None if text is None else text.risk
    power = None if text is None or risk is None or risk.false_rate is None else text.power_at(risk.false_rate)
    ranked_by: RankedBy | None = None
    if risk is not None:
        ranked_by = "risk" if risk.basis == "control" else "top1_hit_rate"
    return out.BenchmarkRow(
        group=group,
        name=entry.name,
        file=made.file,
        made=out.Made(mechanism=made.mechanism, family=made.family, strength=dict(made.strength), by=made.by),
        status=status,
        reasons=list(ran.reasons) if result is None else _reasons(result),
        inputs={} if result is None else result.inputs,
        scenario=None if result is None else result.scenario,
        control_from=None if config.control is None else "absent" if config.control == "absent" else "file",
        attacker=None if result is None else result.attacker,
        picked_among=None if result is None or result.picked is None else result.picked.among,
        linkage_rate=None if text is None else text.linkage_rate,
        paper_linkage_rate=None if text is None else _paper_s(entry, text),
        control=control,
        attributable_rate=attributable,
        power=power,
        top1_hit_rate=top1,
        top1_low=None if truth is None else truth.top1_low,
        top1_high=None if truth is None else truth.top1_high,
        largest_top1=None if text is None else _largest_top1(text),
        blocking_recall=None if truth is None else truth.blocking_recall,
        utility=None if found is None else _utility(found.utility, figures, columns),
        ranked_by=ranked_by,
        place=None,
        lower_bound=result is not None and result.lower_bound,
        warnings=[] if result is None else result.warnings,
        fingerprint=ran.fingerprint,
        seconds=None if found is None else found.seconds,
        verdict=None if result is None else result.verdict,
        risk=risk,
        suppress_below=1 if result is None else result.suppress_below,
        criteria=None if result is None else _criteria(result),
        inference=None
        if result is None
        else release_inference(entry.resolved, result.inference, result.preflight, assessable=text is not None),
    )


def _criteria(result: out.AuditResult) -> out.BenchmarkCriteria | None:
    """The formal criteria and the singled-out rate of an audit; None without quasi-identifiers."""
    found = result.criteria
    if found is None:
        return None
    rate = None if result.singling_out is None else result.singling_out.rate
    rows = [] if result.compliance is None else result.compliance.rows
    contradicted = sum(row.status == "contradicted" for row in rows)
    return out.BenchmarkCriteria(
        k=found.k,
        unique=found.unique,
        average_class_risk=found.risk.prosecutor_average,
        least_l=min((item.distinct_l for item in found.sensitive), default=None),
        singled_out=None if rate is None else rate.estimate,
        singled_out_low=None if rate is None else rate.low,
        singled_out_high=None if rate is None else rate.high,
        singled_out_basis=None if rate is None else rate.basis,
        tested=contradicted + sum(row.status == "not_contradicted" for row in rows),
        contradicted=contradicted,
    )


def _reasons(result: out.AuditResult) -> list[str]:
    """Why an audited release cannot be assessed; empty if it can."""
    return [*result.validity.reasons, *(item.message for item in result.preflight if item.check == TOO_FEW)]


def _largest_top1(result: out.AuditResult) -> out.LargestTop1 | None:
    """The attacker with the highest top-1 hit rate among those that count; the first of several."""
    found = {row.name: row.top1_hit_rate for row in result.attackers if not row.disqualified}
    known = {name: rate for name, rate in found.items() if rate is not None}
    if not known:
        return None
    name = max(known, key=lambda item: known[item])
    return out.LargestTop1(attacker=name, top1_hit_rate=known[name])


def _utility(kept: out.BenchmarkUtility, figures: Sequence[str], columns: Sequence[str]) -> out.BenchmarkUtility:
    withheld = [name for name in columns if name not in kept.columns]
    return kept.model_copy(update={"score": mean_of(kept, figures), "withheld": withheld})


def _paper_s(entry: Entry, result: out.AuditResult) -> out.Rate | None:
    """The linkage rate of the paper's attacker, under any name, if it was run."""
    own = {"knows": None, "knows_people": 1.0, "errors": 0.0, "threshold": None}
    written = written_attackers(entry.config.config, "", [])
    names = [key for key, item in written.items() if item.model_copy(update=own) == AttackerConfig()]
    return next((row.linkage_rate for row in result.attackers if row.name in names), None)


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
