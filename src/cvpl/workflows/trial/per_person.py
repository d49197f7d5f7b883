"""A file that ranks the rows of a trial by their exposure, for who asks for it by name; only its owner may read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import UsageError
from cvpl.evaluation.contradictions import AuditWarning
from cvpl.evaluation.groups.subgroups import rarity
from cvpl.evaluation.trials.people import FEWEST_RANKED, evidence_of_rounds, expected_evidence
from cvpl.files import write_whole
from cvpl.workflows.planned_audit import read_tables
from cvpl.workflows.trial.assembly import FinishedTrial
from cvpl.workflows.trial.readings import Strongest, linked_people

HEADER = "row,rank,expected_evidence,rounds_in,linked_in,rounds_out,linked_out"


def write_per_person(file: Path, finished: FinishedTrial, strongest: Strongest) -> None:
    """Write a CSV file with a line for each row, counted from 0, the most exposed first.

    `rank` is 1 for the most exposed; rows that tie share it. It goes by `expected_evidence`, from all rounds and from
    how rare the row is (`cvpl.evaluation.trials.people`); rows of one cluster have the largest of theirs. The
    other columns say in how many rounds the row was in, and linked, and out, and linked. A round in which the strongest
    attacker did not search for a row, or used it as a reference, is not counted. With fewer than four rounds nobody is
    ranked: both fields are empty, and the lines are in the order of the rows.
    """
    headline = strongest.headline
    if headline is None:
        raise UsageError(f"{file}: no attacker counts, so there are no links to write.")
    real = finished.rounds.real
    linked, known = linked_people(finished.rounds, headline, strongest.false_rate)
    inside = finished.rounds.inside[real]
    rows = finished.rounds.rows[real]
    counts = [(role & known & whom).sum(axis=1) for role in (inside, ~inside) for whom in (known, linked)]
    ranks = np.zeros(len(rows), dtype=np.int64)
    fields = [("", "")] * len(rows)
    if _can_rank(finished):
        evidence = evidence_of_rounds(finished.rounds.scores(headline)[real], inside)
        alone = expected_evidence(evidence, person_rarity(finished)[real])
        expected = np.round(_largest_by_cluster(alone, finished.rounds.people.cluster[real]), 6)
        ranks = 1 + len(expected) - np.searchsorted(np.sort(expected), expected, side="right")
        fields = [(str(rank), f"{value:.6g}") for rank, value in zip(ranks, expected, strict=True)]
    lines = [
        ",".join(map(str, (rows[at], *fields[at], *(count[at] for count in counts))))
        for at in np.lexsort((rows, ranks)).tolist()
    ]
    write_whole(file, "\n".join([HEADER, *lines]) + "\n", owner_only=True)


def _can_rank(finished: FinishedTrial) -> bool:
    return len(finished.rounds.found) >= FEWEST_RANKED


def per_person_warning(finished: FinishedTrial) -> AuditWarning:
    """The warning that there is such a file; where it is stays with its owner."""
    what = "ranks single people by how exposed they are"
    if not _can_rank(finished):
        what = f"tells how often single people were linked, unranked, since fewer than {FEWEST_RANKED} rounds finished"
    message = (
        f"beside this result there is a file that {what}, as it was asked for; only its owner can read it, and nothing "
        "of it is in this result: do not pass it on, and delete it when they are protected"
    )
    return AuditWarning("per_person", message)


def person_rarity(finished: FinishedTrial) -> NDArray[np.float64]:
    """How rare the values of each row are among all rows of the table, in the order of the rounds."""
    trial = finished.trial
    config = trial.resolved.config.model_copy(update={"control": None})
    alone = replace(trial.resolved, config=config, control=None, identity=None, groups=(), subgroups=())
    inputs = read_tables(trial.table, trial.table, alone, None, checks=False)
    own = np.empty(trial.people.rows)
    own[inputs.order["original"]] = rarity(inputs.pair.original)[0]
    return own[finished.rounds.rows]


def _largest_by_cluster(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> NDArray[np.float64]:
    """The largest value of each row's cluster."""
    codes = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    largest = np.full(int(codes.max()) + 1, -np.inf)
    np.maximum.at(largest, codes, values)
    return largest[codes]
