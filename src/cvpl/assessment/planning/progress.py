"""Progress reporting: what is being done, and the share of the whole work that is done.

The steps of an audit report the share of themselves that is done. `WholeProgress` knows how long each step should take,
and turns such reports into the share of all of them. It also measures: if the steps so far took twice as long as
expected, those to come are expected to take twice as long too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

ProgressCallback = Callable[[str, float | None], None]
"""Called with what is being done and the share of the whole work that is done, None as long as that is not known."""

_TRUST = 0.1
"""The share of the work after which measured and expected times have equal weight for what is to come."""


class Phase(StrEnum):
    """What an audit is doing, as its callback is told; phases of one of several attackers also have its name."""

    READING = "reading"
    IN_CLUSTER = "auditing in the cluster"
    CHECKING = "checking the tables"
    SEARCHING = "searching"
    CONTROL = "searching the control"
    EVALUATING = "evaluating"
    CANARIES = "canaries"
    COMBINING = "combining the evidence"
    HEADLINE = "checking the strongest attacker"
    SIGHT = "what the attackers can see"
    SELF_LINKAGE = "self-linkage"
    POWER_DROPS = "power without a column"
    CONTRIBUTIONS = "feature contribution"
    SENSITIVITY = "sensitivity"
    LADDER = "progressive evaluation"
    SUBGROUPS = "who is at risk"
    SINGLING_OUT = "singling out"
    CRITERIA = "formal criteria"
    INFERENCE = "attribute inference"
    RECIPIENTS = "recipients"
    UTILITY = "utility"
    RESULT = "putting the result together"
    WRITING = "writing the page"


QUICK_LOOK = "quick look"
"""Before the phases of the quick look that a long audit takes first."""
SCREENING = "choosing attackers"
"""Before the phases in which a quick look tries all attackers on a part of the release."""


def labelled(name: str, attackers: Collection[str]) -> str:
    """What follows a phase of one attacker: its name, unless it is the only one."""
    return f" ({name})" if len(attackers) > 1 else ""


@dataclass(frozen=True)
class Step:
    """One step: what the callback is told while it runs, the seconds that it should take, and those of all cores."""

    phase: str
    seconds: float
    processor: float = 0.0


class RisingProgress:
    """A callback whose share never falls, and is 1 when all is finished."""

    def __init__(self, tell: ProgressCallback) -> None:
        self._tell, self._phase = tell, ""
        self._share: float | None = None

    def __call__(self, phase: str, share: float | None) -> None:
        """Report a share; a lower one than before, or none, counts as the one before."""
        if share is not None:
            self._share = max(self._share or 0.0, min(1.0, share))
        self._phase = str(phase)
        self._tell(self._phase, self._share)

    def finish(self) -> None:
        """Report that everything is done."""
        self(self._phase, 1.0)


class WholeProgress:
    """The progress of a sequence of steps: reports on single steps in, the share of the whole out.

    Until `expect` is called the whole is not known, and the share is None. The share is the time spent, over the time
    spent and the time left.
    """

    def __init__(self, tell: ProgressCallback, clock: Callable[[], float] = time.perf_counter) -> None:
        self._tell, self._clock = RisingProgress(tell), clock
        self._began = self._measured_from = clock()
        self._ends: dict[str, tuple[float, float]] = {}
        self._total = self._done = 0.0
        self.is_shown = tell is not ignore_progress

    def expect(self, steps: Iterable[Step]) -> None:
        """Name the steps to come, in their order."""
        for step in steps:
            self._ends[step.phase] = self._total, self._total + step.seconds
            self._total += step.seconds
        self._measured_from = self._clock()

    def __call__(self, phase: str, share: float | None) -> None:
        """Report that a step has begun, or the share of it that is done; the steps before it are over."""
        if phase in self._ends:
            first, last = self._ends[phase]
            self._done = max(self._done, first + (last - first) * (share or 0.0))
        self._tell(phase, self._whole() if self._total else None)

    def finish(self) -> None:
        """Report that everything is done."""
        self._tell.finish()

    def _whole(self) -> float:
        now = self._clock()
        trusted = _TRUST * self._total
        slower = (now - self._measured_from + trusted) / (self._done + trusted)
        spent, left = now - self._began, slower * (self._total - self._done)
        return spent / (spent + left) if spent + left else 0.0


def ignore_progress(phase: str, share: float | None) -> None:
    """The callback used if the caller passes none."""


def prefix_progress(progress: ProgressCallback, where: str) -> ProgressCallback:
    """The same callback with `where` prefixed to the name of every phase."""
    return lambda phase, share: progress(f"{where}: {phase}", share)


def parts(progress: ProgressCallback, sizes: Sequence[float]) -> list[ProgressCallback]:
    """A callback for each part of a work, in turn: the shares of all parts together go from 0 to 1."""
    total, found, begin = sum(sizes) or 1.0, [], 0.0
    for size in sizes:
        found.append(_part(progress, begin / total, size / total))
        begin += size
    return found


def _part(progress: ProgressCallback, begin: float, size: float) -> ProgressCallback:
    return lambda phase, share: progress(phase, begin + size * (share or 0.0))
