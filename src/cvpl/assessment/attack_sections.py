"""What a result says of one attack: its rates, blocks, space and search."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl import result as out
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.attack.attack import Attack
from cvpl.attack.embedding import linear
from cvpl.estimates import Estimate
from cvpl.evaluation.attack_figures import block_sizes
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.truth import top1_hit_rate
from cvpl.operators.threshold import Calibrate
from cvpl.result.publishing import RoundingGrid


def rate(measured: Measurement) -> out.Rate:
    """The linkage rate with its interval."""
    return out.Rate.of(measured.rate_interval or Estimate(measured.rate))


def search(attack: Attack) -> out.Search:
    """How the pairs were searched, and how many of them."""
    return out.Search(
        exact=attack.exact,
        narrowed_by=list(attack.levers.used),
        pairs=attack.blocks.pairs,
        share_examined=attack.share_examined,
    )


def calibration(measured: Measurement) -> out.Calibration | None:
    """The settings of a calibrated threshold."""
    setting = measured.attack.attacker.threshold
    if not isinstance(setting, Calibrate):
        return None
    return out.Calibration(form=setting.calibrate, alpha=setting.alpha, attainable=measured.threshold is not None)


def blocks(measured: Measurement, k: int) -> out.Blocks:
    """Block sizes per scheme, and candidates over all schemes; nothing tells of blocks of fewer than k people."""
    schemes = [block_sizes(partition, k) for partition in measured.attack.partitions]
    candidates = measured.attack.found.candidates
    return out.Blocks(
        count=sum(scheme.count for scheme in schemes),
        pairs=int(candidates.sum()),
        mean_candidates=float(candidates.mean()),
        without_candidates=int((candidates == 0).sum()),
        schemes=schemes,
    )


def projection(measured: Measurement) -> out.ProjectionSummary:
    """The dimension and explained variance of the space in which records were compared."""
    attack = measured.attack
    representation, fitted = attack.representation, linear(attack.representation.projection)
    return out.ProjectionSummary(
        components=representation.components(attack.original),
        explained_variance=None if fitted is None else fitted.explained_variance,
        features=representation.space.width,
    )


def control(measured: Measurement) -> out.Control | None:
    """The control's rate; null without a control table."""
    if measured.control is None:
        return None
    return out.Control.of(measured.base_interval or Estimate(measured.base_rate), records=len(measured.control))


def attributable(measured: Measurement) -> out.Attributable | None:
    """The rate beyond look-alikes; null without a base."""
    if measured.basis is None:
        return None
    found = measured.attributable_interval or Estimate(measured.attributable)
    return out.Attributable.of(found, basis=measured.basis)


def power(measured: Measurement, reading: float | None = None) -> list[out.Power] | None:
    """Power at the standard false-positive rates, and at `reading` if the risk uses another one."""
    if measured.power is None:
        return None
    intervals = measured.power_intervals or {}
    found = [
        out.Power.of(intervals.get(false_rate) or Estimate(value), false_rate=false_rate)
        for false_rate, value in measured.power.items()
    ]
    if reading is not None and reading not in measured.power and measured.has_control:
        found.append(out.Power.of(measured.power_interval(reading, measured.spread.confidence), false_rate=reading))
    return found


def alignment(measured: Measurement, grid: RoundingGrid) -> list[out.AlignedColumn] | None:
    """The granularity to which the attacker aligned each column; null without alignment."""
    form = measured.attack.form
    if form is None:
        return None
    return [out.AlignedColumn(column=column, grain=grain) for column, grain in form.describe(grid)]


def attacker_rows(ensemble: EnsembleOutcome) -> list[out.AttackerRow]:
    """A row for every attacker that was run, in configuration order."""
    return [
        attacker_row(
            name,
            outcome.measured,
            outcome.faults,
            None if outcome.canaries is None else outcome.canaries.figures,
            ensemble.risk_of(name),
        )
        for name, outcome in ensemble.outcomes.items()
    ]


def attacker_row(
    name: str,
    measured: Measurement,
    faults: Sequence[str],
    canaries: out.Canaries | None,
    risk: out.Risk | None = None,
) -> out.AttackerRow:
    """One attacker's row in the table of attackers; `faults` are why it does not count."""
    known = measured.truth
    return out.AttackerRow(
        name=name,
        threshold=measured.threshold,
        linkage_rate=rate(measured),
        control_rate=measured.base_rate if measured.basis == "control" else None,
        attributable_rate=attributable(measured),
        power=power(measured, None if risk is None else risk.false_rate),
        top1_hit_rate=None if known is None else top1_hit_rate(known),
        settings=measured.attack.settings,
        asked=measured.attack.original.rows,
        disqualified=list(faults),
        canaries=canaries,
        risk=risk,
    )
