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
from cvpl.errors import InputError
from cvpl.evaluation.measurement import best_candidate
from cvpl.files import private_folder
from cvpl.files.reading import FileState
from cvpl.operators.threshold import DEFAULT, Calibrate
from cvpl.result import Finding
from cvpl.tables.making.parting import part
from cvpl.tables.pair import Inputs
from cvpl.workflows.draws.command import CommandStopped
from cvpl.workflows.draws.making import Draw, ReleaseNotMade, keeping_output, mechanism_seed
from cvpl.workflows.draws.mechanism import MechanismRunner
from cvpl.workflows.draws.strongest import faults_of, place_in_rows, scores_by_row, with_canaries_once
from cvpl.workflows.planned_audit import read_tables
from cvpl.workflows.trial.people import TrialPeople

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
    """What is the same in every round. `inside` is rows x rounds: whether a row's unit is in."""

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
            inputs = _read(trial, number, mine, release, others)
            resolved = _resolved(trial, number)
            ensemble = run_attackers(resolved, inputs, progress)
            progress(Phase.SIGHT, None)
            unseen = unseen_findings(ensemble, resolved, inputs)
            blind = _blind_scores(trial, release, progress) if trial.blind else {}
        except CommandStopped:
            raise KeyboardInterrupt from None
        except InputError as error:
            raise ReleaseNotMade(f"its release cannot be used: {'; '.join(map(str, error.problems))}") from None
        return replace(_scored(trial, inside, inputs, ensemble, blind), unseen=tuple(unseen))


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


def _resolved(trial: Trial, number: int) -> ResolvedConfig:
    """The configuration of a round: the control is the people who are out, and canaries run in the first one."""
    resolved = with_canaries_once(trial.resolved, number, control=None, sensitivity=False)
    return replace(resolved, control=None).identified_by(trial.mechanism.identity)


def _read(trial: Trial, number: int, mine: Path, release: object, others: Path) -> Inputs:
    return read_tables(mine, release, _resolved(trial, number), others)


def _blind_scores(trial: Trial, release: object, progress: ProgressCallback) -> dict[str, Floats]:
    """The scores of everybody by attackers that do not know who is in; no threshold is read, so none is calibrated."""
    attackers = {
        name: attacker.model_copy(update={"threshold": DEFAULT})
        if isinstance(attacker.threshold, Calibrate)
        else attacker
        for name, attacker in trial.resolved.attackers.items()
        if not attacker.needs_reference
    }
    resolved = replace(_resolved(trial, 1), attackers=attackers, identity=None, groups=(), subgroups=())
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


def _scored(
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
