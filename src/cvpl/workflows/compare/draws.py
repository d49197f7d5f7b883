"""The draws of a mechanism in a comparison: each is made and attacked, and the figures are read over all of them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from cvpl.assessment.ensemble import run_attackers
from cvpl.assessment.planning.progress import Phase, ProgressCallback, WholeProgress, parts, prefix_progress
from cvpl.assessment.planning.work import Work
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, UsageError
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.measurement import RiskReading
from cvpl.tables.pair import Inputs
from cvpl.workflows.compare.draw_readings import DrawFindings, read_draws
from cvpl.workflows.compare.inputs import NamedRelease
from cvpl.workflows.compare.mechanism_section import judged, over_draws
from cvpl.workflows.compare.mechanisms import NamedMechanism
from cvpl.workflows.compare.one_release import (
    AttackedRelease,
    control_likeness,
    judged_policies,
    measure_release,
    published,
)
from cvpl.workflows.compare.ranking import ReleaseFigures
from cvpl.workflows.draws.making import changed_columns
from cvpl.workflows.draws.strongest import with_canaries_once


@dataclass(frozen=True, eq=False)
class MechanismRun:
    """A mechanism with what all its draws share. Its releases are made in `folder`."""

    mechanism: NamedMechanism
    original: object
    control: object | None
    resolved: ResolvedConfig
    draws: int
    folder: Path

    def make(self, number: int) -> NamedRelease:
        """Make the release of a draw, counted from 0."""
        return self.mechanism.draw(number, self.original, self.resolved, self.folder)

    def attack(
        self, number: int, release: NamedRelease, likeness: ControlTests | None, progress: WholeProgress
    ) -> AttackedRelease:
        """Attack a draw. The likeness of the control is that of the first draw, since no draw changes it."""
        progress(Phase.READING, None)
        made = self.mechanism.mechanism
        keyed = replace(release.resolved(self.resolved), keyed=made.kind != "built_in")
        resolved = with_canaries_once(keyed, number)
        inputs = self._read(number, release)
        progress.expect(Work(resolved, inputs).attackers())
        ensemble = run_attackers(resolved, inputs, progress)
        alike = likeness if number else control_likeness(resolved, inputs)
        return AttackedRelease(release, resolved, inputs, ensemble, alike, draws=True)

    def remove(self, number: int) -> None:
        """Remove the files of a draw."""
        shutil.rmtree(self.folder / f"{number + 1}", ignore_errors=True)

    def _read(self, number: int, release: NamedRelease) -> Inputs:
        try:
            return release.read(self.original, self.resolved, self.control)
        except InputError as error:
            where = f"mechanism '{release.name}', draw {number + 1}"
            raise InputError(
                [replace(problem, where=f"{problem.where}, {where}") for problem in error.problems]
            ) from None


def measure_mechanism(run: MechanismRun, made: NamedRelease, progress: ProgressCallback) -> ReleaseFigures:
    """The figures of a mechanism over all draws; `made` is the release of the first one."""
    tells = [
        WholeProgress(prefix_progress(part, f"draw {number + 1}"))
        for number, part in enumerate(parts(progress, [1.0] * run.draws))
    ]
    first = run.attack(0, made, None, tells[0])
    found = [DrawFindings.of(first, run.draws)]
    tells[0].finish()
    for number, tell in enumerate(tells[1:], start=1):
        tell("making the release", None)
        attacked = run.attack(number, run.make(number), first.likeness, tell)
        _check_columns(run, number, first.inputs, attacked.inputs)
        found.append(DrawFindings.of(attacked, run.draws))
        run.remove(number)
        if number < run.draws - 1:
            tell.finish()
    reading = read_draws(found, first.groups)
    if reading.headline is not None:
        ensemble = replace(first.ensemble, headline=reading.headline, reading=RiskReading(reading.false_rate))
        first = replace(first, ensemble=ensemble)
    shown = over_draws(measure_release(first, tells[-1]), run.mechanism.mechanism, reading, found)
    run.remove(0)
    tells[-1].finish()
    return judged(published(shown), judged_policies(run.resolved, draws=True))


def _check_columns(run: MechanismRun, number: int, first: Inputs, other: Inputs) -> None:
    """Refuse a draw whose release has other columns than the first: their mean would describe different releases."""
    changed = changed_columns(*(item.whole.present["protected"] for item in (first, other)))
    if changed is not None:
        raise UsageError(
            f"mechanism '{run.mechanism.name}', draw {number + 1}: its release has {changed[0]} more and {changed[1]} "
            "fewer columns than that of the first draw. Make the mechanism release the same columns in every draw."
        )
