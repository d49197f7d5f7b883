"""The section on attribute inference."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl import result as out
from cvpl.evaluation.inference.figures import BaselineRow, Inference, InferenceRow, SecretFigures, refused, strongest
from cvpl.evaluation.inference.scores import NOTHING_LEFT
from cvpl.evaluation.inference.secret import DAY
from cvpl.wording import percent

NO_CONTROL = "there is no control"
NOTHING = f"people who are not in the release are guessed right for more than {percent(NOTHING_LEFT)}"


def inference(found: Inference | None) -> out.Inference | None:
    """What attackers infer; null if it was not asked."""
    if found is None:
        return None
    together = found.together
    controls = [one.controls for one in found.secrets if one.controls is not None]
    return out.Inference(
        rate=inference_rate(found),
        secrets=[_secret(one) for one in found.secrets],
        together=None
        if together is None
        else out.Reconstruction(
            columns=list(together.secrets),
            known=list(together.known),
            attackers=[_row(row) for row in together.rows],
        ),
        link=found.link,
        asked_originals=max(one.people for one in found.secrets),
        asked_controls=max(controls) if controls else None,
        trained_on=found.trained,
        not_run=list(found.not_run),
        left_out=list(found.left_out),
        confidence=found.confidence,
    )


def inference_rate(found: Inference) -> out.InferenceRate | None:
    """The largest attributable score; null without one.

    A secret that is refused has no figure, and the upper end is unknown if any other figure lacks its interval.
    """
    best = strongest({one.name: one.rows for one in found.secrets})
    if best is None:
        return None
    name, row = best
    rows = [item for one in found.secrets for item in one.rows if item.attributable is not None]
    highs = [None if item.attributable_interval is None else item.attributable_interval[1] for item in rows]
    known = [high for high in highs if high is not None]
    low = None if row.attributable_interval is None else row.attributable_interval[0]
    return out.InferenceRate(
        estimate=row.attributable or 0.0,
        low=low,
        high=max(known) if len(known) == len(highs) else None,
        column=name,
        attacker=row.attacker,
        score=row.score,
        fewest=min(item.fewest for item in rows),
    )


def _secret(one: SecretFigures) -> out.SecretInference:
    absolute, share = one.tolerance.absolute, one.tolerance.share
    return out.SecretInference(
        column=one.name,
        kind=one.kind,
        known=list(one.known),
        tolerance=None if one.kind == "category" or share else absolute / (DAY if one.kind == "time" else 1.0),
        relative_tolerance=share or None,
        refused=_refusal(one.rows),
        baselines=[_baseline(row) for row in one.baselines],
        attackers=[_row(row) for row in one.rows],
    )


def _refusal(rows: Sequence[InferenceRow]) -> str | None:
    if any(row.attributable is not None for row in rows):
        return None
    return NOTHING if any(refused(row) for row in rows) else NO_CONTROL


def _row(row: InferenceRow) -> out.InferenceRow:
    low, high = row.interval or (None, None)
    attributable_low, attributable_high = row.attributable_interval or (None, None)
    return out.InferenceRow(
        attacker=row.attacker,
        columns=len(row.columns),
        score=row.score,
        people=row.people,
        fewest=row.fewest,
        originals=row.originals,
        low=low,
        high=high,
        controls=row.controls,
        attributable=row.attributable,
        attributable_low=attributable_low,
        attributable_high=attributable_high,
    )


def _baseline(row: BaselineRow) -> out.InferenceBaseline:
    return out.InferenceBaseline(
        baseline=row.baseline,
        score=row.score,
        people=row.people,
        fewest=row.fewest,
        originals=row.originals,
        controls=row.controls,
    )
