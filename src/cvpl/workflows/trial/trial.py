"""A trial of a mechanism: it is run several times, each time on half of the people, with the others as control."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from cvpl.assessment.decision import warning_sections
from cvpl.assessment.planning.progress import ProgressCallback, RisingProgress, ignore_progress, parts
from cvpl.config.loading import ConfigLike, load, named_files
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import CvplError, UsageError
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.trials.budget import largest_gaussian_power
from cvpl.files import private_folder
from cvpl.files.reading import FileState
from cvpl.randomness import stream
from cvpl.result import Assumptions, Input, TrialResult
from cvpl.search.machine import one_blas_thread, threads
from cvpl.tables.making.planting import plant as plant_people
from cvpl.tables.making.staged_table import stage
from cvpl.tables.source.source import display_name
from cvpl.wording import with_full_stop
from cvpl.workflows.draws.mechanism import (
    FAILED,
    MechanismRunner,
    ReleaseNotMade,
    changed_columns,
    find_mechanism,
    where_output_is,
)
from cvpl.workflows.fingerprints import file_digest
from cvpl.workflows.made_tables import Strength
from cvpl.workflows.proposal import Proposal
from cvpl.workflows.trial.assembly import FinishedTrial, Membership, assemble, draw_membership
from cvpl.workflows.trial.budget import GaussianNoise, StatedBudget
from cvpl.workflows.trial.kept_rounds import KeptRounds, remove_rounds, trial_fingerprint
from cvpl.workflows.trial.per_person import per_person_warning, write_per_person
from cvpl.workflows.trial.pilot import guessed_configuration
from cvpl.workflows.trial.readings import Rounds
from cvpl.workflows.trial.rounds import RoundScores, Trial, read_people, run_round

FEWEST_ROUNDS, MOST_ROUNDS = 2, 1000
MOST_PLANTED = 10_000
OnFailure = Literal["stop", "continue"]
T = TypeVar("T")


def trial(
    original: object,
    mechanism: str | Callable[..., object],
    config: ConfigLike | None = None,
    *,
    rounds: int = 8,
    strength: Strength | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    noise_multiplier: float | None = None,
    noise_steps: int = 1,
    sampling: float = 1.0,
    bound: bool = False,
    plant: int = 0,
    jobs: int = 1,
    timeout: float | None = None,
    on_failure: OnFailure = "stop",
    attackers: Sequence[str] | None = None,
    seed: int | None = None,
    memory: int | None = None,
    out: str | Path | None = None,
    keep_rounds: bool = False,
    per_person: str | Path | None = None,
    progress: ProgressCallback | None = None,
    on_guess: Callable[[Proposal], None] | None = None,
) -> TrialResult:
    """Run a mechanism several times, each time on a random half of the people, and attack each release.

    In every round the people who are not in are the control, so no control has to be set aside. `original` is a path
    (CSV, TSV, Parquet, Excel, DuckDB) or a dataframe that supports Arrow. `mechanism` is one of

    - a command with `{input}`, `{output}` and, if it takes one, `{seed}`; it runs without a shell
    - a function from the path of a table to a release (a dataframe that supports Arrow, or a path). It also receives a
      numpy Generator if it has a parameter called `rng` or `generator`, or a second one without a default
    - the name of a built-in mechanism (`k-anonymity`, `mondrian`, `perturbation`, `synthetic`), with its `strength`

    Rows of one cluster (the role group, or an equal id) are in or out together, and everybody is in for half of the
    rounds. The result has the risk for a release made from half of the people, with an interval over people and draws
    of the mechanism, the spread between draws, and how often people are linked when they are in and when they are out.

    `epsilon` and `delta` state a privacy budget; so does, for a Gaussian mechanism, `noise_multiplier` with its
    `noise_steps` and `sampling` rate, which needs the extra `cvpl[budget]`. With a budget, or with `bound`, a fair coin
    per cluster and round decides who is in, and the result has a lower bound on epsilon at 95% confidence, beside the
    power that the budget allows. `plant` adds so many made-up people with unusual values; they are not in the figures
    of the others.

    Without `config`, roles and types are guessed from a first release as `propose` does. A round fails if the mechanism
    fails, writes nothing, changes its columns, or takes longer than `timeout` seconds (of a command). Then the trial
    stops with an error, or with `on_failure="continue"` goes on without it. In the folder `out` finished rounds of a
    command or a built-in mechanism are kept until the trial ends, so that an interrupted trial resumes; `keep_rounds`
    keeps them afterwards. `per_person` names a file that ranks every row by its exposure, from its rounds and its
    rarity, with its number of links; only you can read it, and the result says that it is there.

    `jobs` rounds run at the same time; the result does not depend on it. The same inputs and `seed` (which replaces the
    configuration's) give the same result if the mechanism does. `on_guess` is called with a guessed configuration
    before the first round. Raises UsageError, InputError and LimitError.
    """
    _check(rounds, plant, jobs, on_failure)
    noise = None if noise_multiplier is None else GaussianNoise(noise_multiplier, noise_steps, sampling)
    asked = bound or epsilon is not None or noise is not None
    budget = StatedBudget(epsilon, delta, noise) if asked else None
    if budget is None and delta:
        raise UsageError(
            "delta is given without a budget. Pass epsilon too, or ask for a lower bound alone with --bound (in Python "
            "bound=True)."
        )
    if noise is None and (noise_steps != 1 or sampling != 1):
        raise UsageError(
            "the number of noise steps or the sampling rate is given without a noise multiplier. Pass it too with "
            "--noise-multiplier (in Python noise_multiplier=...), or leave them out."
        )
    if noise is not None:
        # Says at once if the extra is not installed.
        largest_gaussian_power(noise.multiplier, FALSE_RATE)
    found = find_mechanism(mechanism, strength, config, timeout)
    whole = RisingProgress(progress or ignore_progress)
    whole("reading", None)
    with one_blas_thread(), private_folder() as folder:
        guessed = guessed_configuration(original, found, seed or 0, folder) if config is None else None
        if guessed is not None and on_guess is not None:
            on_guess(guessed)
        settings = guessed.config if guessed is not None else config
        assert settings is not None  # noqa: S101 - guessed if not given
        resolved = _resolve_trial(settings, attackers, seed, memory, jobs)
        table = stage(original, resolved.reading, folder)
        kind: Membership = "balanced" if budget is None else "coin"
        ready = _prepare_trial(table, resolved, found, rounds, plant, kind, folder)
        place = None if out is None else Path(out)
        named = {} if not isinstance(config, str | Path) else {str(file): file for file in named_files(Path(config))}
        kept = KeptRounds(place, None if place is None else trial_fingerprint(ready, named))
        done, failures = _run(ready, kept, place, jobs, on_failure, whole)
        finished = FinishedTrial(
            ready, done, failures, kind, _describe_table(original, table, ready), budget, _assumptions(guessed)
        )
        result, strongest = assemble(finished)
        result = result.model_copy(update={"asked_for": None if attackers is None else list(attackers)})
        if per_person is not None:
            write_per_person(Path(per_person), finished, strongest)
            warned = warning_sections([per_person_warning(finished)])
            result = result.model_copy(update={"warnings": [*result.warnings, *warned]})
    if place is not None and not keep_rounds:
        remove_rounds(place)
    whole.finish()
    return result


def _check(rounds: int, plant: int, jobs: int, on_failure: str) -> None:
    for name, value, least, most in (
        ("rounds", rounds, FEWEST_ROUNDS, MOST_ROUNDS),
        ("plant", plant, 0, MOST_PLANTED),
        ("jobs", jobs, 1, 1000),
    ):
        if not least <= value <= most:
            raise UsageError(f"{name} is {value}; allowed is a whole number from {least} to {most:,}.")
    if on_failure not in ("stop", "continue"):
        raise UsageError(f"on_failure is {on_failure!r}; allowed are 'stop' and 'continue'.")


def _resolve_trial(
    config: ConfigLike, attackers: Sequence[str] | None, seed: int | None, memory: int | None, jobs: int
) -> ResolvedConfig:
    """The configuration of every round; rounds that run at the same time share the memory."""
    resolved = load(config).with_memory(memory)
    if attackers is not None:
        resolved = resolved.only(attackers)
    if seed is not None:
        resolved = replace(resolved, config=resolved.config.model_copy(update={"seed": seed}))
    if jobs > 1:
        resolved = resolved.with_memory(resolved.budget.memory // jobs)
    return resolved


def _prepare_trial(
    table: Path,
    resolved: ResolvedConfig,
    mechanism: MechanismRunner,
    rounds: int,
    plant: int,
    kind: Membership,
    folder: Path,
) -> Trial:
    """Plant people, read who belongs together, and draw who is in."""
    seed = resolved.config.seed
    resolved = replace(resolved, keyed=mechanism.kind != "built_in")
    if plant:
        identity = () if resolved.identity is None else (resolved.identity.original,)
        ids = [name for name, entry in resolved.config.columns.items() if entry.role in ("id", "group")]
        rng = stream(seed, "trial planted people")
        table = plant_people(table, plant, resolved.specs, {*identity, *ids}, resolved.reading, rng, folder)
    if kind == "coin" and all(attacker.needs_reference for attacker in resolved.attackers.values()):
        raise UsageError(
            "a bound on epsilon needs an attacker that does not know who is in; all of these need reference people, "
            "who are out. Add one with another `evidence`, such as `rarity`."
        )
    state = FileState.of(table, table.name)
    people = read_people(table, resolved, plant)
    inside = draw_membership(kind, people.clusters, rounds, seed)[people.cluster]
    return Trial(table, resolved, mechanism, people, inside, seed, blind=kind == "coin", state=state)


def _run(
    ready: Trial, kept: KeptRounds, place: Path | None, jobs: int, on_failure: OnFailure, progress: ProgressCallback
) -> tuple[Rounds, dict[int, ReleaseNotMade]]:
    """Run the rounds that are not kept, and return the finished ones with the failures of the others."""
    found: dict[int, RoundScores] = {}
    failures: dict[int, ReleaseNotMade] = {}
    tells, stop = parts(progress, [1.0] * ready.rounds), threading.Event()

    def work(number: int) -> RoundScores | ReleaseNotMade:
        earlier = kept.find(number)
        if earlier is not None:
            return earlier
        try:
            scored = run_round(ready, number, _output_folder(place, number), stop, tells[number])
        except ReleaseNotMade as failed:
            return failed
        kept.keep(number, scored)
        return scored

    for number, outcome in _run_rounds(list(range(ready.rounds)), work, jobs, stop):
        changed = None if isinstance(outcome, ReleaseNotMade) else _columns_changed(number, outcome, found)
        failed = outcome if isinstance(outcome, ReleaseNotMade) else changed
        if failed is not None and on_failure == "stop":
            raise _failure(failed, number, ready, kept, place) from failed
        if isinstance(outcome, ReleaseNotMade):
            failures[number] = outcome
        else:
            found[number] = outcome
    # In the order of rounds, whichever ended first.
    kept_rounds: dict[int, RoundScores] = {}
    for number in sorted(found):
        changed = _columns_changed(number, found[number], kept_rounds)
        if changed is None:
            kept_rounds[number] = found[number]
        else:
            failures[number] = changed
    if len(kept_rounds) < FEWEST_ROUNDS:
        first = min(failures)
        raise _failure(failures[first], first, ready, kept, place, of=len(failures)) from failures[first]
    return Rounds.of(ready.people, ready.inside, kept_rounds), failures


def _run_rounds(
    numbers: list[int], work: Callable[[int], T], jobs: int, stop: threading.Event
) -> Iterator[tuple[int, T]]:
    """Yield each round's number with its outcome, as rounds end; at most `jobs` run at the same time.

    Rounds run in threads: a mechanism is mostly a process of its own, and searching lets other threads run. If the
    caller leaves, `stop` is set, which ends commands and attacks that still run.
    """
    if jobs == 1 or len(numbers) < 2:
        for number in numbers:
            yield number, work(number)
        return
    with threads(min(jobs, len(numbers))) as pool:
        try:
            # Each thread has the record of written files that this one has.
            running: dict[Future[T], int] = {pool.submit(copy_context().run, work, at): at for at in numbers}
            while running:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        except BaseException:
            stop.set()
            raise


def _output_folder(place: Path | None, number: int) -> Path | None:
    """The folder for what the command of a failed round printed; None if it is not kept."""
    return None if place is None else place / FAILED / f"round_{number + 1:02d}"


def _columns_changed(number: int, outcome: RoundScores, before: dict[int, RoundScores]) -> ReleaseNotMade | None:
    """The failure of a round whose release has other columns than that of the first finished round."""
    if not before:
        return None
    first = min(before)
    changed = changed_columns(before[first].columns, outcome.columns)
    if changed is None:
        return None
    return ReleaseNotMade(
        f"the columns of its release differ from those of round {first + 1} ({changed[0]} more, {changed[1]} fewer), "
        "so the rounds cannot be compared"
    )


def _failure(
    failed: ReleaseNotMade, number: int, ready: Trial, kept: KeptRounds, place: Path | None, of: int = 1
) -> CvplError:
    """The error that ends a trial: what failed in which round, and where the output of the command is."""
    more = f" {of} of {ready.rounds} rounds failed, and at least {FEWEST_ROUNDS} must not." if of > 1 else ""
    text = f"round {number + 1} of {ready.rounds}: {with_full_stop(str(failed))}{more}"
    if ready.mechanism.kind == "command":
        text += where_output_is(_output_folder(place, number), "out")
    if kept.place is not None and kept.place.is_dir():
        text += " Finished rounds are kept: correct the mechanism's trouble and run the same command to resume."
    return failed.error(text)


def _describe_table(original: object, table: Path, ready: Trial) -> Input:
    own = isinstance(original, str | Path)
    return Input(
        name=display_name(original, "original"),
        rows=int((~ready.people.planted).sum()),
        columns=len(ready.people.names),
        sha256=file_digest(Path(original)) if own else None,  # type: ignore[arg-type]
    )


def _assumptions(proposal: Proposal | None) -> Assumptions | None:
    return None if proposal is None else proposal.assumptions
