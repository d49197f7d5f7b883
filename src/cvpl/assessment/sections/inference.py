"""The section on attribute inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from cvpl import result as out
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.inference.figures import BaselineRow, Inference, InferenceRow, SecretFigures, refused, strongest
from cvpl.evaluation.inference.scores import NOTHING_LEFT
from cvpl.evaluation.inference.secret import DAY
from cvpl.result.inference import AttackerName, BaselineName
from cvpl.result.sight import blind
from cvpl.wording import percent

NO_CONTROL = "there is no control"
NOT_ASKED = "not asked for; set `inference: true`"
NO_COLUMN = "no column has the role sensitive"
NOT_THERE = "no sensitive column is in both tables with a value, or the attacker knows no column"
OF_DRAWS = "not measured over draws, only for one release"
NOT_ASSESSABLE = "the release is not assessable, so the inference rate may be too low"
UNSEEN = "the attackers cannot see part of the release, so the inference rate may be too low"
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
        not_run=[cast("AttackerName", name) for name in found.not_run],
        left_out=list(found.left_out),
        confidence=found.confidence,
    )


def release_inference(
    resolved: ResolvedConfig,
    found: out.Inference | None,
    findings: Sequence[out.Finding],
    *,
    assessable: bool,
    draws: bool = False,
) -> out.ReleaseInference:
    """The inference rate of one of several releases, and the reason if it is missing or may be too low.

    `found` is the section of an audit of the release, and `findings` are those of its checks. `assessable` says whether
    some linkage attacker counts: the one that finds candidates is taken from them. With `draws` the release stands for
    a mechanism.
    """
    if found is None:
        return out.ReleaseInference(rate=None, reason=_why_not(resolved, draws=draws))
    refused = [f"nothing is attributed for '{one.column}': {one.refused}" for one in found.secrets if one.refused]
    if found.asked_controls is None:
        refused = [NO_CONTROL]
    secrets = [one.column for one in found.secrets]
    doubt = NOT_ASSESSABLE if not assessable else None if blind(findings) is None else UNSEEN
    reasons = [*refused, *([] if doubt is None or found.rate is None else [doubt])]
    return out.ReleaseInference(rate=found.rate, secrets=secrets, reason="; ".join(reasons) or None)


def _why_not(resolved: ResolvedConfig, *, draws: bool) -> str:
    """Why no secret was inferred in a release."""
    if resolved.runs_inference:
        return OF_DRAWS if draws else NOT_THERE
    return NOT_ASKED if resolved.sensitive or resolved.inference.columns else NO_COLUMN


def inference_rate(found: Inference) -> out.InferenceRate | None:
    """The largest attributable score, and of how many it is the largest; null without one.

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
        attacker=cast("AttackerName", row.attacker),
        score=row.score,
        fewest=min(item.fewest for item in rows),
        among=len(rows),
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
        attacker=cast("AttackerName", row.attacker),
        columns=row.columns,
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
        baseline=cast("BaselineName", row.baseline),
        score=row.score,
        people=row.people,
        fewest=row.fewest,
        originals=row.originals,
        controls=row.controls,
    )
