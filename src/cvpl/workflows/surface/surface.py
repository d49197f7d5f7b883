"""The risk surface: one mechanism at several strengths, or one release under several blockings, at every threshold.

For each strength the release is made and attacked once; the whole curve uses the same similarities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from cvpl import result as out
from cvpl.assessment.diagnostics.sensitivity import blockings
from cvpl.assessment.ensemble import run_attackers
from cvpl.assessment.planning.progress import (
    Phase,
    ProgressCallback,
    RisingProgress,
    WholeProgress,
    ignore_progress,
    parts,
    prefix_progress,
)
from cvpl.assessment.planning.work import Work
from cvpl.attack.attacker import Attacker
from cvpl.config.loading import ConfigLike, load
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, UsageError
from cvpl.files import private_folder
from cvpl.operators.blocking import Lsh
from cvpl.result.mechanisms import Strength
from cvpl.search.machine import one_blas_thread
from cvpl.tables.pair import Inputs
from cvpl.workflows.draws.mechanism import FAILED, ReleaseNotMade
from cvpl.workflows.made_tables import FAMILIES
from cvpl.workflows.planned_audit import read_tables
from cvpl.workflows.surface.strengths import MechanismSweep, mechanism_sweep
from cvpl.workflows.surface.sweep import EnsembleReading, Sweep, utility_of

BLOCKING = "blocking"
"""Instead of a mechanism: sweep the granularity of the blocking on a given release."""
MOST_DRAWS = 1000
_BLOCKINGS = 6
"""The usual number of other blockings; how many there are is known only when the attacker is."""


def surface(
    original: object,
    mechanism: str | Callable[..., object],
    strengths: Iterable[object] | None,
    config: ConfigLike,
    *,
    control: object | None = None,
    target: float | None = None,
    draws: int = 1,
    attacker: str | None = None,
    release: object | None = None,
    timeout: float | None = None,
    folder: str | Path | None = None,
    memory: int | None = None,
    progress: ProgressCallback | None = None,
) -> out.SurfaceResult:
    """Sweep a mechanism's strength and measure the risk at every threshold: R(strength, τ).

    `mechanism` is the name of a built-in one (`k-anonymity`, `mondrian`, `perturbation`, `synthetic`), a command, or
    any function from a strength to a release: a dataframe that supports Arrow, or a path. A function also receives a
    numpy Generator if it has a parameter called `rng` or `generator`, or a second one without a default. A command has
    `{input}`, `{output}`, `{strength}` and, if it takes one, `{seed}` in it, and runs without a shell. It gets a copy
    of the original, and fails at a strength if it takes longer than `timeout` seconds; what it printed is then kept in
    `folder`. `strengths` go from the weakest protection to the strongest; those of built-in mechanisms are sorted, and
    default to the paper's. With `mechanism="blocking"`, variations of the attacker's own blocking are swept on
    `release` instead.

    `target` is r0: a setting is within it if the upper interval end of its risk, as in `cvpl.audit`, is at most r0 and
    no other figure contradicts it. A cell of such a setting is within it if the upper end of its own rate is. The
    result names the weakest setting from which all tried settings are within the target, with its risk and utility.

    `draws` releases are made at each strength, each with its own seed. The row of a strength is that of the draw with
    the largest risk, its `draws` have the risks of all, and it is within the target only if all draws are.

    One attacker runs the sweep: the one that `attacker` names, or the configuration's. If there are several, such as
    the family of `attacker: default`, all of them attack the weakest release, and the strongest there runs the sweep.
    The named setting is then tested against all of them, and if it fails the next stronger one is. A strength that the
    mechanism refuses is reported with its reason and left out. `progress` is called with what is being done and the
    share of the whole sweep that is done. The same inputs and seed give the same result.
    """
    if target is not None and (isinstance(target, bool) or not 0 <= target <= 1):
        raise UsageError(f"target is {target!r}; allowed is a rate from 0 to 1, such as 0.05")
    if not 1 <= draws <= MOST_DRAWS:
        raise UsageError(f"draws is {draws}; allowed is a whole number from 1 to {MOST_DRAWS}.")
    resolved = load(config)
    if control is None:
        resolved.refuse_absent("a surface")
    if memory is not None:
        resolved = replace(resolved, budget=replace(resolved.budget, memory=memory))
    if attacker is not None:
        resolved = resolved.only([attacker])
    # A target asks what attackers cannot see.
    tables = _Tables(original, control, checks=target is not None)
    whole = RisingProgress(progress or ignore_progress)
    with one_blas_thread(), private_folder() as work:
        if isinstance(mechanism, str) and mechanism == BLOCKING:
            if strengths is not None or release is None or draws > 1:
                raise UsageError(
                    "a blocking sweep takes no strengths and no draws, and needs `release`, the table to attack"
                )
            swept = _sweep_blockings(resolved, tables, release, target, attacker, whole)
            whole.finish()
            return swept
        if release is not None:
            raise UsageError("`release` is for a blocking sweep; a mechanism makes its releases from `original`")
        whole(Phase.READING, None)
        output = None if folder is None else Path(folder) / FAILED
        if mechanism in FAMILIES:
            resolved = replace(resolved, keyed=False)
        dial = mechanism_sweep(mechanism, strengths, original, config, resolved, timeout, output)
        swept = _sweep_strengths(dial, resolved, tables, target, attacker, work, draws, whole)
        whole.finish()
        return swept


@dataclass(frozen=True, eq=False)
class _Tables:
    """What is the same at every strength."""

    original: object
    control: object | None
    checks: bool

    def with_release(self, resolved: ResolvedConfig, release: object, strength: Strength | None = None) -> Inputs:
        """The tables with one release; problems name the strength at which it was made."""
        try:
            return read_tables(self.original, release, resolved, self.control, checks=self.checks)
        except InputError as error:
            if strength is None:
                raise
            raise InputError(
                [replace(problem, where=f"{problem.where}, strength {strength}") for problem in error.problems]
            ) from None


def _sweep_strengths(
    dial: MechanismSweep,
    resolved: ResolvedConfig,
    tables: _Tables,
    target: float | None,
    asked_for: str | None,
    folder: Path,
    draws: int,
    progress: ProgressCallback,
) -> out.SurfaceResult:
    """Make, read and attack one release after the other, from the weakest."""
    resolved = resolved.identified_by(dial.identity)
    sweep, made = Sweep(resolved, target, asked_for), {}
    # All attackers attack the first release and, if there is a target, the one that is named in the end.
    everybody = len(resolved.attackers)
    sizes = [draws if number else everybody + draws - 1 for number, _ in enumerate(dial.strengths)]
    *each, last = parts(progress, [*sizes, everybody if target is not None else 0])
    for strength, part in zip(dial.strengths, each, strict=True):
        released, rows = [], []
        try:
            for draw, its_part in enumerate(parts(part, [1.0] * draws)):
                where = f"strength {strength}" + (f", draw {draw + 1}" if draws > 1 else "")
                its_progress = WholeProgress(prefix_progress(its_part, where))
                its_progress("making the release", None)
                released.append(dial.make(strength, folder, draw))
                rows.append(_attack(sweep, strength, tables, released[-1], its_progress))
        except ReleaseNotMade as refused:
            sweep.failed.append(out.FailedStrength(strength=strength, reason=str(refused)))
            continue
        shown = sweep.add_draws(rows)
        # The same release may have to be tested against all attackers, and for what they cannot see.
        if target is not None:
            made[strength] = released.pop(shown)
        for item in released:
            if isinstance(item, Path) and item.parent == folder:
                item.unlink()
    if not sweep.has_attacker:
        reasons = "; ".join(f"{item.strength}: {item.reason}" for item in sweep.failed)
        raise UsageError(f"no release could be made at any strength. {reasons}.{dial.advice()}".rstrip(". ") + ".")

    def judge(strength: Strength) -> EnsembleReading | None:
        if strength not in made or target is None:
            return None
        inputs = tables.with_release(resolved, made[strength], strength)
        its_progress = WholeProgress(prefix_progress(last, f"strength {strength}, all attackers"))
        its_progress.expect(Work(resolved, inputs).attackers())
        ensemble = run_attackers(resolved, inputs, its_progress)
        return EnsembleReading.of(ensemble, target, resolved, inputs)

    weakest = None if target is None else sweep.weakest(judge)
    return sweep.result("mechanism", dial.name, weakest, function=dial.function)


def _attack(
    sweep: Sweep, strength: Strength, tables: _Tables, released: object, progress: WholeProgress
) -> out.SurfaceSetting:
    """The row of one release; its tables and results are freed afterwards."""
    progress(Phase.READING, None)
    inputs = tables.with_release(sweep.resolved, released, strength)
    work = Work(sweep.resolved, inputs)
    progress.expect(work.attackers({sweep.sweeper.name: sweep.sweeper.attacker} if sweep.has_attacker else None))
    outcome = sweep.attack(inputs, progress) if sweep.has_attacker else sweep.begin(strength, inputs, progress)
    return sweep.row(strength, outcome, inputs, utility_of(inputs, outcome))


def _sweep_blockings(
    resolved: ResolvedConfig,
    tables: _Tables,
    release: object,
    target: float | None,
    asked_for: str | None,
    progress: ProgressCallback,
) -> out.SurfaceResult:
    """Attack one release under variations of the attacker's own blocking, from the coarsest to the finest."""
    keyed = [name for name, attacker in resolved.attackers.items() if _has_keys(attacker)]
    if not keyed:
        raise UsageError(
            "a blocking sweep needs an attacker that blocks by the keys of one scheme, and none of the "
            "configuration's does. Give columns a `block` rule and choose such an attacker, for example `paper`."
        )
    resolved = resolved.only(keyed)
    progress(Phase.READING, None)
    inputs = tables.with_release(resolved, release)
    work, sweep = Work(resolved, inputs), Sweep(resolved, target, asked_for)
    first, rest = parts(progress, (len(resolved.attackers), _BLOCKINGS))
    its_progress = WholeProgress(first)
    its_progress.expect(work.attackers())
    configured = sweep.begin("as configured", inputs, its_progress, one_release=True)
    utility = utility_of(inputs, configured)
    named = list(blockings(sweep.sweeper.attacker.blocking))
    # The first one is the blocking as configured, which was already attacked.
    sweep.add(named[0][0], configured, inputs, utility)
    for (name, blocking), part in zip(named[1:], parts(rest, [1] * len(named[1:])), strict=True):
        other = sweep.sweeper.attacker.model_copy(update={"blocking": blocking})
        its_progress = WholeProgress(prefix_progress(part, f"blocking {name}"))
        its_progress.expect(work.attackers({name: other}))
        sweep.add(name, sweep.attack(inputs, its_progress, other), inputs, utility)
    sweep.rows.sort(key=lambda row: -row.pairs)
    return sweep.result("blocking", BLOCKING, None)


def _has_keys(attacker: Attacker) -> bool:
    """Whether it blocks by the keys of one scheme, so that their granularity can be varied."""
    schemes = attacker.blocking.any_of
    return len(schemes) == 1 and not isinstance(schemes[0], Lsh) and len(schemes[0]) > 0
