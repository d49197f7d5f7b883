"""An audit whose attackers and limits are settled: it needs its tables, and no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from cvpl import result as out
from cvpl.assessment.audit_result import Assessment, audit_result
from cvpl.assessment.background_worker import BackgroundWorker
from cvpl.assessment.diagnostics.all_diagnostics import run_diagnostics
from cvpl.assessment.diagnostics.compared_control import compare_control
from cvpl.assessment.disclosure import disclosure_of, disclosure_of_attacks
from cvpl.assessment.ensemble import EnsembleOutcome, run_attackers
from cvpl.assessment.planning.progress import QUICK_LOOK, Phase, WholeProgress, prefix_progress
from cvpl.assessment.planning.work import Work
from cvpl.assessment.preflight import preflight
from cvpl.assessment.screening import quick_look
from cvpl.assessment.sight import with_sight
from cvpl.assessment.verdict import verdict
from cvpl.attack.shared_work import SharedWork
from cvpl.config.query_limits import FIRST_ANSWER_PEOPLE
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.search.blas_threads import one_blas_thread
from cvpl.tables.pair import Inputs

LONG = 10_000
"""With more originals than this, a caller who asks for it gets the answer of a quick look first."""


@dataclass(frozen=True)
class PlannedAudit:
    """The attackers and settings, the limit of a gate, the seed of drawn attackers, and guesses about the columns."""

    resolved: ResolvedConfig
    fail_above: float | None = None
    draw_seed: int | None = None
    assumptions: out.Assumptions | None = None

    def run(
        self,
        inputs: Inputs,
        progress: WholeProgress,
        *,
        on_preflight: Callable[[Sequence[out.Finding]], None] | None = None,
        on_first_answer: Callable[[out.Verdict], None] | None = None,
        shared: SharedWork | None = None,
    ) -> tuple[out.AuditResult, EnsembleOutcome]:
        """The result on these tables, and the attackers that gave it.

        `on_preflight` is called with the findings of the checks, `on_first_answer` with the verdict of a quick look
        before a long audit. `shared` has searches that were done before, if any.
        """
        resolved = self.resolved
        first_answer = on_first_answer is not None and not resolved.quick and takes_quick_look_first(inputs)
        if progress.is_shown:
            progress.expect(Work(resolved, inputs).audit(first_answer=first_answer))
        with one_blas_thread():
            progress(Phase.CHECKING, None)
            # A quick look leaves a core free while it prepares the release, so the checks run beside it.
            with BackgroundWorker(resolved.budget.workers if resolved.quick or first_answer else 1) as background:
                checked = background.start(partial(check_tables, resolved, inputs))
                first = None
                if first_answer:
                    first_plan = resolved.with_quick_look(FIRST_ANSWER_PEOPLE)
                    first = quick_look(first_plan, inputs, prefix_progress(progress, QUICK_LOOK))
                looked = quick_look(resolved, inputs, progress) if resolved.quick else None
                likeness, findings = checked()
            if on_preflight is not None:
                on_preflight(findings)
            if on_first_answer is not None and first is not None:
                known = with_sight(findings, first, resolved, inputs)
                on_first_answer(verdict(first, known, disclosure_of_attacks(resolved, inputs, first)))
            ensemble = looked or run_attackers(resolved, inputs, progress, combining=True, shared=shared)
            progress(Phase.SIGHT, None)
            findings = with_sight(findings, ensemble, resolved, inputs)
            measured = ensemble.chosen.measured.at_confidence(ensemble.confidence)
            disclosure = disclosure_of_attacks(resolved, inputs, ensemble)
            diagnosed = run_diagnostics(ensemble, measured, resolved, inputs, findings, progress, disclosure.k)
            assessment = Assessment(ensemble, measured, diagnosed, likeness, findings, disclosure, self.fail_above)
            seed = self.draw_seed
            drawn = None if seed is None else out.Randomization(seed=seed, attackers=list(resolved.drawn))
            return audit_result(assessment, resolved, inputs, drawn, self.assumptions), ensemble


def check_tables(resolved: ResolvedConfig, inputs: Inputs) -> tuple[ControlTests | None, list[out.Finding]]:
    """The comparison of the control with the originals, and the findings of the checks before the attack."""
    likeness = compare_control(inputs, resolved.config.seed, disclosure_of(resolved, inputs))
    return likeness, preflight(resolved, inputs, likeness)


def takes_quick_look_first(inputs: Inputs) -> bool:
    """Whether an audit is so long that who asks for it gets the answer of a quick look first."""
    return inputs.pair.original.rows > LONG
