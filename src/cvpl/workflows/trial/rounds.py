"""One round of a trial: split the people, run the mechanism on those who are in, and attack its release.

The release is audited with the people who are out as its control, by every attacker of the configuration. For a lower
bound on epsilon it is attacked a second time by attackers that know nothing of who is in: their table is everybody's,
and there is neither a control nor a reference sample.

Sensitivity analyses are not run; they explain the figures of one release. Every release is asked what its attackers
cannot see, by those that count in its round.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.planning.progress import Phase, ProgressCallback, prefix_progress
from cvpl.assessment.sight import unseen_findings
from cvpl.attack.attack import attack
from cvpl.attack.shared_work import SharedWork
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem
from cvpl.evaluation.measurement import best_candidate
from cvpl.files import private_folder
from cvpl.files.reading import FileState
from cvpl.operators.threshold import DEFAULT, Calibrate
from cvpl.result import Finding
from cvpl.tables.evaluation_only import read_row_groups
from cvpl.tables.keys import record_keys
from cvpl.tables.making.parting import part
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.pair import Inputs
from cvpl.tables.source.connection import connect, within_memory
from cvpl.tables.source.source import open_source
from cvpl.wording import count_phrase
from cvpl.workflows.draws.mechanism import (
    CommandStopped,
    Draw,
    MechanismRunner,
    ReleaseNotMade,
    keeping_output,
    mechanism_seed,
)
from cvpl.workflows.draws.strongest import config_of_draw, faults_of, place_in_rows, scores_by_row
from cvpl.workflows.planned_audit import read_tables

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RoundScores:
    """What one round found out, by attacker: a score for each row of the table, NaN for rows that were not scored.

    `scores` are read with the people who are out as control; reference people have none. `blind` are the scores of
    attackers that know nothing of who is in; empty if no bound on epsilon is asked for. `faults` say why an attacker's
    representation is not valid for this release, `canary_faults` why its canaries fail. `hits` are top-1 hit rates
    where true matches are known. `unseen` are the findings on what the attackers cannot see. `released` and `columns`
    describe the release; `notices` are sentences on columns that were left out.
    """

    scores: Mapping[str, Floats]
    blind: Mapping[str, Floats] = field(default_factory=dict)
    faults: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    canary_faults: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hits: Mapping[str, float] = field(default_factory=dict)
    unseen: tuple[Finding, ...] = ()
    released: int = 0
    columns: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def ordered(self, order: NDArray[np.int64]) -> RoundScores:
        """The same round with its rows in another order."""
        scores, blind = ({name: found[order] for name, found in part.items()} for part in (self.scores, self.blind))
        return replace(self, scores=scores, blind=blind)


@dataclass(frozen=True, eq=False)
class Trial:
    """What is the same in every round. `inside` is rows x rounds: whether a row's cluster is in."""

    table: Path
    resolved: ResolvedConfig
    mechanism: MechanismRunner
    people: TrialPeople
    inside: Bools
    seed: int
    blind: bool
    state: FileState

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return int(self.inside.shape[1])


def run_round(
    trial: Trial, number: int, output: Path | None, stop: threading.Event, tell: ProgressCallback
) -> RoundScores:
    """Run the round `number`, counted from 0. The tables that it makes are removed at its end.

    Raises ReleaseNotMade if there is no release that can be read. What a command printed is then kept in the folder
    `output`, which only this user may enter.
    """
    progress = prefix_progress(_stoppable(tell, stop), f"round {number + 1}")
    trial.state.check()
    with private_folder() as folder, keeping_output(folder / "mechanism", output):
        progress("making the release", None)
        inside = trial.inside[:, number]
        mine, others = two_tables(trial.table, folder)
        part(trial.table, trial.resolved.reading, ~inside, (mine, others))
        work = folder / "mechanism"
        work.mkdir(mode=0o700)
        try:
            release = trial.mechanism.make(Draw(mine, work, draw_seed(trial.seed, number), stop))
            progress(Phase.READING, None)
            inputs = _read_round(trial, number, mine, release, others)
            resolved = _round_config(trial, number)
            ensemble = run_attackers(resolved, inputs, progress)
            progress(Phase.SIGHT, None)
            unseen = unseen_findings(ensemble, resolved, inputs)
            blind = _blind_scores(trial, release, progress) if trial.blind else {}
        except CommandStopped:
            raise KeyboardInterrupt from None
        except InputError as error:
            raise ReleaseNotMade(f"its release cannot be used: {'; '.join(map(str, error.problems))}") from None
        return replace(_place_scores(trial, inside, inputs, ensemble, blind), unseen=tuple(unseen))


def two_tables(table: Path, folder: Path) -> tuple[Path, Path]:
    """Where to write those who are in and those who are out: under the name of the table, which messages then have."""
    for name in ("in", "out"):
        (folder / name).mkdir(mode=0o700)
    return folder / "in" / table.name, folder / "out" / table.name


def draw_seed(seed: int, number: int) -> int:
    """The seed of the mechanism in a round."""
    return mechanism_seed(seed, f"trial mechanism {number}")


def _stoppable(tell: ProgressCallback, stop: threading.Event) -> ProgressCallback:
    """The same callback, which ends a round of a trial that is being stopped."""

    def progress(phase: str, share: float | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        tell(phase, share)

    return progress


def _round_config(trial: Trial, number: int) -> ResolvedConfig:
    """The configuration of a round: the control is the people who are out, and canaries run in the first one."""
    resolved = config_of_draw(trial.resolved, number, control=None, sensitivity=False)
    return replace(resolved, control=None).identified_by(trial.mechanism.identity)


def _read_round(trial: Trial, number: int, mine: Path, release: object, others: Path) -> Inputs:
    return read_tables(mine, release, _round_config(trial, number), others)


def _blind_scores(trial: Trial, release: object, progress: ProgressCallback) -> dict[str, Floats]:
    """The scores of everybody by attackers that do not know who is in; no threshold is read, so none is calibrated."""
    attackers = {
        name: attacker.model_copy(update={"threshold": DEFAULT})
        if isinstance(attacker.threshold, Calibrate)
        else attacker
        for name, attacker in trial.resolved.attackers.items()
        if not attacker.needs_reference
    }
    resolved = replace(_round_config(trial, 1), attackers=attackers, identity=None, groups=(), subgroups=())
    inputs = read_tables(trial.table, release, resolved, None, checks=False)
    running, shared, found = resolved.able(0, inputs.pair), SharedWork(), {}
    for name, attacker in running.items():
        progress(f"{Phase.SEARCHING} without membership ({name})", None)
        done = attack(
            inputs.pair,
            attacker,
            seed=resolved.config.seed,
            budget=resolved.budget,
            levers=resolved.levers,
            most=resolved.max_queries(attacker, inputs.pair.protected.rows),
            shared=shared,
        )
        found[name] = place_in_rows(done.scores, inputs.order["original"][done.people], trial.people.rows)
    return found


def _place_scores(
    trial: Trial,
    inside: Bools,
    inputs: Inputs,
    ensemble: EnsembleOutcome,
    blind: Mapping[str, Floats],
) -> RoundScores:
    """Put the scores of a round's attackers at the rows of the whole table."""
    mine = np.flatnonzero(inside)[inputs.order["original"]]
    others = np.flatnonzero(~inside)[inputs.order["control"]]
    scores, hits = {}, {}
    for name, outcome in ensemble.outcomes.items():
        sides = scores_by_row(outcome.measured, len(mine), len(others))
        if sides is None:
            continue
        scores[name] = np.full(trial.people.rows, np.nan)
        scores[name][mine], scores[name][others] = sides
        if (rate := best_candidate(outcome.measured)) is not None:
            hits[name] = rate
    faults, canary_faults = faults_of(ensemble)
    return RoundScores(
        scores=scores,
        blind=blind,
        faults=faults,
        canary_faults=canary_faults,
        hits=hits,
        released=inputs.pair.protected.rows,
        columns=tuple(inputs.whole.present["protected"]),
        notices=inputs.pair.notices,
    )


Ints = NDArray[np.int64]

FEWEST_IN_TRIAL = 60
"""The fewest clusters: about half of them are in and half are out, and an interval needs 20 on each side."""


@dataclass(frozen=True, eq=False)
class TrialPeople:
    """The rows of a table: `cluster` numbers the cluster of each row, from 0.

    Clusters are numbered by a hash of their records, so the same people have the same numbers in whatever order a file
    lists them. `planted` are the rows of made-up people, who are clusters of their own. `grouped` says that some
    cluster has several rows.
    """

    cluster: Ints
    planted: NDArray[np.bool_]
    names: tuple[str, ...]
    grouped: bool

    @property
    def rows(self) -> int:
        """The number of rows, those of planted people among them."""
        return len(self.cluster)

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return int(self.cluster.max()) + 1


@within_memory
def read_people(table: Path, resolved: ResolvedConfig, planted: int = 0) -> TrialPeople:
    """Read the clusters of a table whose last `planted` rows are made-up people.

    Rows of one cluster agree on a column with the role group, or on the id. Raises InputError for fewer than 60
    clusters.
    """
    problems: list[Problem] = []
    with connect() as con:
        source = open_source(con, table, "original", resolved.reading)
        reader = ColumnReader(con, resolved.reading, problems, [])
        identity = resolved.identity
        person = identity.original if identity is not None and identity.original in source.types else None
        found = read_row_groups(
            con, reader, [source], [name for name in resolved.groups if name in source.types], person
        )
        keys = record_keys(con, source)
        source.check_unchanged()
    codes = np.arange(source.rows, dtype=np.int64) if found.codes is None else found.codes["original"]
    made_up = np.arange(source.rows) >= source.rows - planted
    codes = np.where(made_up, source.rows + np.arange(source.rows), codes)
    cluster = canonical_clusters(keys, codes)
    people = TrialPeople(cluster, made_up, tuple(source.types), not found.is_row)
    real = len(np.unique(cluster[~made_up]))
    if real < FEWEST_IN_TRIAL:
        what = f"the table has {count_phrase(real, 'person', 'people')}, and a trial needs at least {FEWEST_IN_TRIAL}"
        raise InputError([Problem(source.name, what, "Half of them are the control of each round: pass more people.")])
    return people


def canonical_clusters(keys: NDArray[np.uint64], codes: Ints) -> Ints:
    """Number the clusters by the keys of their records: by the smallest key, then by the sum of all.

    Clusters that tie have the same records, so which of them comes first changes nothing.
    """
    inverse = np.unique(codes, return_inverse=True)[1].reshape(-1)
    count = int(inverse.max()) + 1
    smallest = np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, inverse, keys)
    total = np.zeros(count, dtype=np.uint64)
    np.add.at(total, inverse, keys)
    order = np.lexsort((total, smallest))
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    return place[inverse]
