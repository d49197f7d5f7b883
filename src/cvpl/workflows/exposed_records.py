"""A file that ranks every original by its exposure, for who asks for it by name; only its owner may read it.

    row, id, rank, share_of_others, linked, unit, unit_rank, unit_share, columns

`id` is there only if it is asked for, the three columns of units only if rows belong together. The file holds no other
cell of a table.

The columns by which single records are exposed: those that add most to the score of their best candidate. For a score
that is a sum over columns (rarity, agreement) they are the largest of its parts. Any other score is not taken apart
record by record: then the parts are those of the rarity attacker for the same pair, log(1 / frequency) of each value on
which the record and its best candidate agree. Columns that add nothing are not named.

How exposed single records are under one attacker, on the scale of those who are not in the release.

    share_i = (1 + records of the base with at least the evidence of i) / (1 + records of the base)

The base is the control or, without one, the originals with their own match left out. This is the empirical p-value of
"no more evidence than for somebody who is not in the release": 0.01 says that one in a hundred of those has as much.
The smallest possible value is 1 / (1 + base), so many records may share it; they are ordered by their evidence. A
record without a candidate has the share 1. A cluster of several rows has the evidence of its most exposed row, and is
compared with the clusters of the base.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack
from cvpl.attack.prepared_attack import prepare
from cvpl.attack.shared_work import SharedWork
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import UsageError
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import Roc, comparable
from cvpl.files import check_outputs, write_whole
from cvpl.operators.blocking import Blocking
from cvpl.operators.similarity import AgreementScorer, Rarity
from cvpl.tables.columns import Pair
from cvpl.tables.evaluation_only import id_values
from cvpl.tables.pair import Inputs
from cvpl.wording import count_phrase

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


_LINKED, _TIED, _NOT_LINKED = "yes", "tied", "no"


@dataclass(frozen=True)
class PerPersonFile:
    """The file that was asked for; `with_ids` adds the values of the id column, `overwrite` may replace a file."""

    file: Path
    with_ids: bool = False
    overwrite: bool = False

    @classmethod
    def requested(cls, file: str | Path | None, *, with_ids: bool, overwrite: bool) -> PerPersonFile | None:
        """The file that a call names; None if it names none."""
        if file is not None:
            return cls(Path(file), with_ids, overwrite)
        if with_ids:
            raise UsageError(
                "ids are asked for, and no file for them. Name one with --per-person (in Python per_person=...)."
            )
        return None

    def check(self, read: Sequence[object]) -> None:
        """Refuse, before any work, a file that is an input, that exists, or that cannot be made."""
        check_outputs([self.file], read, overwrite=self.overwrite)
        if not self.file.parent.is_dir() or not os.access(self.file.parent, os.W_OK | os.X_OK):
            raise UsageError(f"{self.file}: there is no such folder, or it is not writable. Name another file.")

    def ids(self, original: object, resolved: ResolvedConfig, inputs: Inputs) -> list[str] | None:
        """The ids of all rows if they are asked for, else None.

        Refuses, before the attack, tables in which nobody can be ranked or named.
        """
        if inputs.pair.control is None and inputs.evaluation.matches is None:
            raise UsageError(
                "a file of exposed records needs somebody to compare them with, and there is neither a control nor a "
                "true match. Pass a control with --control (in Python control=...)."
            )
        if not self.with_ids:
            return None
        ids = id_values(original, "" if resolved.identity is None else resolved.identity.original, resolved.reading)
        if len(ids) <= int(inputs.order["original"].max()):
            raise UsageError("the table of the originals changed while it was read. Start again.")
        return ids

    def write(self, inputs: Inputs, ensemble: EnsembleOutcome, ids: Sequence[str] | None) -> None:
        """Write a line for every original, the most exposed first; those who were not searched for come last.

        Rows are counted from 0. Equal evidence has one rank, the smallest. The file is whole or not there, and from its
        creation only this user may read it.
        """
        measured = ensemble.chosen.measured
        done = measured.attack
        rows, people = inputs.order["original"], done.people
        alone = exposures(done.scores, measured.base_scores)
        clusters = inputs.evaluation.groups.codes
        cluster_of, together = None, None
        if clusters is not None:
            cluster_of = _first_rows(clusters["original"], rows)
            base = clusters["control"][done.control_rows] if measured.has_control else clusters["original"][people]
            together = exposures_of_clusters(done.scores, clusters["original"][people], measured.base_scores, base)
        linked, columns = _linked_column(measured, ensemble.reading.false_rate), exposing_columns(done, inputs.pair)
        listed = []
        for at, person in enumerate(people.tolist()):
            row = int(rows[person])
            line = [row, *([] if ids is None else [ids[row]]), *_cells(alone, at), linked[at]]
            if cluster_of is not None and together is not None:
                line += [int(cluster_of[person]), *_cells(together, at)]
            first = 0 if together is None else int(together.rank[at])
            listed.append(((first, int(alone.rank[at]), row), [*line, ";".join(columns[at])]))
        found = [line for _, line in sorted(listed, key=lambda item: item[0])]
        for person in np.setdiff1d(np.arange(len(rows)), people).tolist():
            row = int(rows[person])
            line = [row, *([] if ids is None else [ids[row]]), "", "", ""]
            found.append([*line, *([] if cluster_of is None else [int(cluster_of[person]), "", ""]), ""])
        head = ["row", *([] if ids is None else ["id"]), "rank", "share_of_others", "linked"]
        head += [*([] if cluster_of is None else ["unit", "unit_rank", "unit_share"]), "columns"]
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([head, *found])
        write_whole(self.file, text.getvalue(), owner_only=True)


def per_person_warning(ensemble: EnsembleOutcome, inputs: Inputs) -> AuditWarning:
    """The warning that there is such a file; where it is stays with its owner."""
    done = ensemble.chosen.measured.attack
    asked, rows = len(done.people), inputs.pair.original.rows
    some = (
        "" if asked == rows else f"; it ranks the {asked:,} of {count_phrase(rows, 'original')} that were searched for"
    )
    doubt = "" if ensemble.qualified else "; no attacker counts, so the ranks may mean nothing"
    message = (
        "beside this result there is a file that ranks single originals by how exposed they are, as it was asked for; "
        f"only its owner can read it, and nothing of it is in this result{some}{doubt}: do not pass it on, and delete "
        "it when the records are protected"
    )
    return AuditWarning("per_person", message)


def _cells(found: Exposures, at: int) -> list[object]:
    return [int(found.rank[at]), "" if found.share is None else f"{found.share[at]:.6g}"]


def _linked_column(measured: Measurement, false_rate: float | None) -> list[str]:
    """Whether each original is linked where this share of the base is; those tied at the threshold are so in part."""
    scores = measured.attack.scores
    if measured.base_scores is None:
        return [""] * len(scores)
    counts = Roc.of(scores, measured.base_scores).counted(FALSE_RATE if false_rate is None else false_rate)[0]
    return [_LINKED if count >= 1 else _TIED if count > 0 else _NOT_LINKED for count in counts]


def _first_rows(clusters: Ints, rows: Ints) -> Ints:
    """For every original the smallest row number in its cluster."""
    place = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    first = np.full(int(place.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, place, rows)
    return first[place]


MOST_COLUMNS = 3
"""The number of columns that are named for each record."""


def exposing_columns(done: Attack, pair: Pair) -> list[tuple[str, ...]]:
    """For each original that was searched for at most three columns, the one that adds most first."""
    rows = np.arange(done.original.rows)
    found = rows[done.found.row >= 0]
    names, parts = _parts(done, pair, found)
    named: list[tuple[str, ...]] = [()] * len(rows)
    # Of columns that add as much, the first counts: differences in the last bits decide nothing.
    order = np.argsort(-np.round(parts, 9), axis=1, kind="stable")[:, :MOST_COLUMNS]
    for at, row in enumerate(found.tolist()):
        named[row] = tuple(names[column] for column in order[at] if parts[at, column] > 0)
    return named


def _parts(done: Attack, pair: Pair, rows: NDArray[np.int64]) -> tuple[list[str], Floats]:
    """What each column adds to the score of each of these originals and its best candidate, originals x columns."""
    scorer = done.scorer.agreement or _rarity_scores(done, pair)
    names = list(done.attacker.vectorization.compared(done.original))
    there = done.found.row[rows]
    parts = np.zeros((len(rows), len(names)))
    for at, name in enumerate(names):
        parts[:, at] = scorer.added_by(name, rows, there)
    return names, parts


def _rarity_scores(done: Attack, pair: Pair) -> AgreementScorer:
    """The scores of the rarity attacker with the same knowledge, for the same originals."""
    plain = {"similarity": Rarity(), "evidence": "best", "alignment": "release", "projection": "identity"}
    attacker = done.attacker.model_copy(update={**plain, "blocking": Blocking(), "threshold": "false_rate"})
    most = None if done.holds_all else len(done.people)
    ready = prepare(pair, attacker, seed=done.seed, budget=done.budget, most=most, shared=SharedWork())
    assert np.array_equal(ready.tables.people, done.people)  # noqa: S101 - the same seed draws the same people
    scorer = ready.representation.scorer(ready.tables.original, ready.tables.protected).agreement
    assert scorer is not None  # noqa: S101 - rarity is a sum over columns
    return scorer


@dataclass(frozen=True, eq=False)
class Exposures:
    """The rank of every record, 1 for the most exposed, and its share of the base; ties share the smaller rank."""

    rank: Ints
    share: Floats | None


def exposures(scores: Floats, base: Floats | None) -> Exposures:
    """Rank records by their evidence; without a base there is no share."""
    mine = comparable(scores)
    rank = 1 + len(mine) - np.searchsorted(np.sort(mine), mine, side="right")
    if base is None:
        return Exposures(rank.astype(np.int64), None)
    others = np.sort(comparable(base))
    above = len(others) - np.searchsorted(others, mine, side="left")
    share = np.where(np.isneginf(mine), 1.0, (1 + above) / (1 + len(others)))
    return Exposures(rank.astype(np.int64), share)


def exposures_of_clusters(scores: Floats, clusters: Ints, base: Floats | None, base_clusters: Ints | None) -> Exposures:
    """For every record the rank and the share of its cluster, among the clusters of the originals and of the base."""
    place, largest = _largest(scores, clusters)
    others = None if base is None else base if base_clusters is None else _largest(base, base_clusters)[1]
    found = exposures(largest, others)
    return Exposures(found.rank[place], None if found.share is None else found.share[place])


def _largest(scores: Floats, clusters: Ints) -> tuple[Ints, Floats]:
    """The number of each record's cluster from 0, and the largest score of each cluster."""
    place = np.unique(clusters, return_inverse=True)[1].reshape(-1).astype(np.int64)
    largest = np.full(int(place.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(largest, place, scores)
    return place, largest
