"""All diagnostics of one audit, run after the attackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from cvpl.assessment.diagnostics.inference import inference
from cvpl.assessment.diagnostics.release_questions import (
    formal_criteria,
    membership,
    recipients,
    singling_out,
    subgroup_rates,
)
from cvpl.assessment.diagnostics.sensitivity import climb, column_contributions, power_drops, sensitivity
from cvpl.assessment.diagnostics.validity import SAMPLE, SCREENED, leave_one_out
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.planning.progress import Phase, ProgressCallback
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.columns import column_techniques
from cvpl.evaluation.groups.subgroups import Subgroups, tail
from cvpl.evaluation.measurement import Measurement
from cvpl.randomness import stream
from cvpl.result import (
    ColumnTechnique,
    Contributions,
    Criteria,
    Finding,
    Inference,
    Ladder,
    Membership,
    Recipient,
    SelfLinkage,
    Sensitivity,
    SinglingOut,
    TailShare,
)
from cvpl.search.machine import BackgroundWorker
from cvpl.tables.pair import Inputs

TABLES = ("original", "protected")


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """The results of all diagnostics.

    `subgroups` are by attacker. `sensitivity` is None if the variations were not run.
    `singling_out` and `criteria` are None in a quick look, and so is `inference`, also
    if there is no sensitive attribute. `membership` is None without a control.
    """

    self_linkage: SelfLinkage
    contributions: Contributions
    ladder: Ladder | None
    subgroups: Mapping[str, Subgroups | None]
    sensitivity: Sensitivity | None
    singling_out: SinglingOut | None = None
    criteria: Criteria | None = None
    membership: Membership | None = None
    inference: Inference | None = None
    techniques: Sequence[ColumnTechnique] = ()
    tail: Sequence[TailShare] = ()
    recipients: Sequence[Recipient] = ()


def run_diagnostics(
    ensemble: EnsembleOutcome,
    measured: Measurement,
    resolved: ResolvedConfig,
    inputs: Inputs,
    findings: Sequence[Finding],
    progress: ProgressCallback,
    suppress_below: int,
) -> Diagnostics:
    """Run all diagnostics; `measured` is the chosen attacker's measurement, `findings` those of the checks."""
    done, threshold = measured.attack, measured.threshold
    progress(Phase.SELF_LINKAGE, None)
    most = SCREENED if resolved.quick else SAMPLE
    original, protected = (
        leave_one_out(done, table, threshold, stream(done.seed, f"self-linkage {table}"), most) for table in TABLES
    )
    varied = _varied_attacker(ensemble) if resolved.runs_sensitivity else None
    contributions = run_contributions(measured, resolved, inputs, progress)
    progress(Phase.SENSITIVITY, None)
    found = _sensitivity(ensemble, varied, inputs)
    progress(Phase.LADDER, None)
    ladder = None if threshold is None else climb(done, threshold)
    progress(Phase.SUBGROUPS, None)
    asked = [
        name
        for name in ensemble.outcomes
        if name == ensemble.headline or (ensemble.picked_among == 1 and resolved.bounds_subgroups)
    ]
    groups = {name: subgroup_rates(ensemble.outcomes[name].measured, inputs, suppress_below) for name in asked}
    singled, criteria = None, None
    techniques: list[ColumnTechnique] = []
    received: Sequence[Recipient] = ()
    with BackgroundWorker(resolved.budget.workers) as background:
        # What only counts records, and what the result needs of the truth.
        if measured.truth is not None:
            background.start(lambda: measured.pairs)
        if not resolved.quick:
            counting = background.start(partial(formal_criteria, resolved, inputs))
            changed = background.start(partial(_techniques, resolved, inputs))
        if resolved.runs_singling_out:
            progress(Phase.SINGLING_OUT, None)
            singled = singling_out(resolved, inputs)
        if not resolved.quick:
            progress(Phase.CRITERIA, None)
            criteria, techniques = counting(), changed()
    if not resolved.quick:
        received = recipients(ensemble, resolved, inputs, findings, progress)
    inferred = None
    if resolved.runs_inference:
        progress(Phase.INFERENCE, None)
        inferred = inference(ensemble, resolved, inputs)
    progress(Phase.RESULT, None)
    return Diagnostics(
        SelfLinkage(original=original, protected=protected, perturbed=ensemble.chosen.copied),
        contributions,
        ladder,
        groups,
        found,
        singled,
        criteria,
        membership(ensemble),
        inferred,
        techniques,
        tail(measured),
        received,
    )


def run_contributions(
    measured: Measurement, resolved: ResolvedConfig, inputs: Inputs, progress: ProgressCallback
) -> Contributions:
    """Compute each column's contribution; power drops are computed only if sensitivity analyses are run."""
    drops = None
    if resolved.runs_sensitivity:
        progress(Phase.POWER_DROPS, None)
        drops = power_drops(measured, inputs, lambda share: progress(Phase.POWER_DROPS, share))
    progress(Phase.CONTRIBUTIONS, None)
    return column_contributions(measured, drops, lambda share: progress(Phase.CONTRIBUTIONS, share))


def _techniques(resolved: ResolvedConfig, inputs: Inputs) -> list[ColumnTechnique]:
    """Every declared column with its role; a column that was not compared has no technique."""
    found = column_techniques(inputs.pair, inputs.evaluation.matches, resolved.config.seed)
    seen = {item.column: item for item in found}
    rows = []
    for column, entry in resolved.config.columns.items():
        alone = ColumnTechnique(column=column, role=entry.role, techniques=[], told=False)
        rows.append(seen.get(column, alone).model_copy(update={"role": entry.role}))
    return rows


def _varied_attacker(ensemble: EnsembleOutcome) -> str | None:
    """The attacker whose choices are varied: the headline, or the first with a threshold; None if there is none."""
    running = ensemble.qualified or ensemble.outcomes
    able = {name: outcome.measured for name, outcome in running.items() if outcome.measured.attack.attacker.on_scale}
    name = ensemble.headline if ensemble.headline in able else next(iter(able), None)
    return None if name is None or able[name].threshold is None else name


def _sensitivity(ensemble: EnsembleOutcome, varied: str | None, inputs: Inputs) -> Sensitivity | None:
    if varied is None:
        return None
    measured = ensemble.outcomes[varied].measured
    done, threshold = measured.attack, measured.threshold
    assert threshold is not None  # noqa: S101 - only an attacker with a threshold is varied
    matches = inputs.evaluation.matches
    return sensitivity(
        varied, inputs.pair, done.attacker, threshold, matches, seed=done.seed, budget=done.budget, draw=done.draw
    )
