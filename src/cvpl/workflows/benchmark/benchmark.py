"""The benchmark suite: audits every release of the manifests and puts them on one leaderboard."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cvpl import result as out
from cvpl.assessment.audit_result import versions
from cvpl.assessment.diagnostics.release_questions import release_utility
from cvpl.assessment.disclosure import disclosure_of
from cvpl.assessment.planning.progress import (
    Phase,
    ProgressCallback,
    RisingProgress,
    ignore_progress,
    parts,
    prefix_progress,
)
from cvpl.config.manifest import Entry, Manifest, read_manifests
from cvpl.errors import CvplError, InputError, UsageError, place_of
from cvpl.estimates import FALSE_RATE
from cvpl.interruption import is_interruption
from cvpl.search.machine import one_blas_thread
from cvpl.wording import unknown_names
from cvpl.workflows.audit import audit
from cvpl.workflows.benchmark.leaderboard import AttemptedRelease, AuditedRelease, KeptResults, board, fingerprint
from cvpl.workflows.planned_audit import read_tables

_AUDIT_AND_UTILITY = (0.9, 0.1)
"""How the time of a release is parted."""


def benchmark(
    manifests: str | Path | Sequence[str | Path],
    *,
    data: str | Path | None = None,
    folder: str | Path | None = None,
    only: Sequence[str] | None = None,
    memory: int | None = None,
    progress: ProgressCallback | None = None,
    on_damaged: Callable[[str], None] | None = None,
) -> out.BenchmarkResult:
    """Audit every release that the manifests describe, one after the other, and put them on one leaderboard.

    `manifests` are YAML files, or folders with a benchmark.yaml. Their tables are looked up in `data`, or in the
    manifest's own folder. Each release is one `cvpl.audit` with the manifest's configuration, and has its figures. A
    release that cannot be audited or assessed has a row with the reason. With `folder`, results are kept there and
    interrupted runs resume. `only` selects releases, as RELEASE or MANIFEST/RELEASE. Raises InputError with every
    problem of all manifests before any audit starts, and UsageError if `folder` cannot be written. `progress` is called
    with what is being done and the share of the whole benchmark that is done; each release is an equal part.
    `on_damaged` is called with a sentence for each kept result that is not as it was written; its release is audited
    again. The same inputs and seeds give the same result, except for `seconds`.
    """
    whole = RisingProgress(progress or ignore_progress)
    whole("reading the manifests", None)
    given = [manifests] if isinstance(manifests, str | Path) else list(manifests)
    if not given:
        raise UsageError("there is no manifest; name at least one")
    tasks = _choose_entries(read_manifests(given, data), only)
    kept = KeptResults(None if folder is None else Path(folder))
    kept.prepare()
    groups: list[out.BenchmarkGroup] = []
    rows: list[out.BenchmarkRow] = []
    number, count = 0, sum(len(entries) for _, entries in tasks)
    each = parts(whole, [1] * count)
    for manifest, entries in tasks:
        ran = []
        for entry in entries:
            number += 1
            its_progress = prefix_progress(each[number - 1], f"{manifest.name}/{entry.name}, {number} of {count}")
            ran.append(_run(manifest.name, entry, kept, memory, its_progress, on_damaged))
        group, placed = board(manifest, ran)
        groups.append(group)
        rows += placed
    whole.finish()
    return out.BenchmarkResult(
        schema="cvpl/benchmark/1", false_rate=FALSE_RATE, groups=groups, rows=rows, versions=versions()
    )


def _choose_entries(manifests: Sequence[Manifest], only: Sequence[str] | None) -> list[tuple[Manifest, list[Entry]]]:
    """The releases to audit, by manifest; unknown names raise UsageError."""
    if only is None:
        return [(manifest, list(manifest.entries)) for manifest in manifests]
    whole = {f"{item.name}/{entry.name}" for item in manifests for entry in item.entries}
    known = whole | {name.split("/")[1] for name in whole}
    unknown = [name for name in only if name not in known]
    if unknown or not only:
        raise UsageError(unknown_names("release", unknown, sorted(whole), known))
    chosen = [
        (item, [entry for entry in item.entries if {entry.name, f"{item.name}/{entry.name}"} & set(only)])
        for item in manifests
    ]
    return [(manifest, entries) for manifest, entries in chosen if entries]


def _run(
    group: str,
    entry: Entry,
    kept: KeptResults,
    memory: int | None,
    progress: ProgressCallback,
    on_damaged: Callable[[str], None] | None,
) -> AttemptedRelease:
    """One release: kept from an earlier run, audited now, or the reasons why it cannot be."""
    digest = fingerprint(entry)
    found = kept.find(group, entry.name, digest, on_damaged)
    if found is not None:
        return AttemptedRelease(entry, digest, found)
    try:
        found = _audit_entry(entry, memory, progress)
    except Exception as error:
        if is_interruption(error):
            raise KeyboardInterrupt from error
        return AttemptedRelease(entry, digest, None, _reasons(error))
    if fingerprint(entry) == digest:  # else an input has changed since, and the result is not that of the old ones
        kept.keep(group, entry.name, digest, found)
    return AttemptedRelease(entry, digest, found)


def _reasons(error: Exception) -> tuple[str, ...]:
    """Why a release could not be audited."""
    if isinstance(error, InputError):
        return tuple(str(problem) for problem in error.problems)
    if isinstance(error, CvplError):
        return (str(error),)
    if isinstance(error, MemoryError):
        return ("not enough memory on this machine",)
    # The message of an unexpected error could contain a cell of the input, so only its type and place are reported.
    return (f"internal error ({type(error).__name__} at {place_of(error)}), a bug in cvpl",)


def _audit_entry(entry: Entry, memory: int | None, progress: ProgressCallback) -> AuditedRelease:
    """The audit of a release with its duration, and the utility as in `cvpl.compare`."""
    start = time.perf_counter()
    audited, utility_next = parts(progress, _AUDIT_AND_UTILITY)
    result = audit(entry.original, entry.file, entry.config, memory=memory, progress=audited)
    seconds = round(time.perf_counter() - start, 2)
    utility_next(Phase.UTILITY, None)
    resolved = entry.resolved.with_memory(memory)
    if resolved.control_is_absent:
        # A sample must represent the whole table, not only the people in it.
        resolved = replace(resolved, config=resolved.config.model_copy(update={"control": None}))
    with one_blas_thread():
        inputs = read_tables(entry.original, entry.file, resolved, None, checks=False)
        kept = release_utility(inputs, resolved.first_vectorization, resolved.config.seed)
    utility = out.BenchmarkUtility(
        correlation_preservation=kept.correlation.figure,
        marginal_similarity=kept.marginal.figure,
        downstream_accuracy_ratio=kept.downstream.figure,
        distance_preservation=kept.distance.figure,
        distance_basis=kept.distance.basis,
        columns=[spec.name for spec in inputs.pair.original.specs],
    )
    return AuditedRelease(result, disclosure_of(resolved, inputs).published(utility), seconds)
