"""What the recipients of a release would achieve with the columns that each holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cvpl.assessment.diagnostics.self_linkage import SCREENED
from cvpl.assessment.ensemble import EnsembleOutcome, run_attacker
from cvpl.assessment.planning.progress import Phase, ProgressCallback
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.risk import Risk, risk_by_control, risk_by_matches
from cvpl.tables.pair import Inputs


@dataclass(frozen=True)
class RecipientRisk:
    """One recipient: the columns it holds, and the risk of one attacker who knows them; None if not measured.

    `reason` says why there is no risk.
    """

    columns: tuple[str, ...]
    risk: Risk | None
    reason: str = ""


def recipient_risks(
    ensemble: EnsembleOutcome, resolved: ResolvedConfig, inputs: Inputs, progress: ProgressCallback
) -> dict[str, RecipientRisk]:
    """The risk of each recipient, by the strongest single attacker of the audit with the recipient's columns.

    It is one attacker, so the family may achieve more with the same columns.
    """
    recipients: Mapping[str, tuple[str, ...]] = resolved.config.recipients
    able = {name: risk for name, risk in ensemble.risks.items() if name in resolved.attackers}
    found = {}
    for number, (name, columns) in enumerate(recipients.items()):
        progress(Phase.RECIPIENTS, number / len(recipients))
        if not able or not ensemble.qualified:
            found[name] = RecipientRisk(columns, None, "no attacker of the audit has a risk")
            continue
        best = max(able, key=lambda key: able[key].estimate)
        attacker = resolved.attackers[best].model_copy(update={"knows": columns})
        outcome = run_attacker(attacker, resolved, inputs, lambda *_: None, checked=SCREENED)
        if outcome.valid.reasons:
            found[name] = RecipientRisk(columns, None, outcome.valid.reasons[0])
            continue
        rate = ensemble.reading.false_rate
        measured = outcome.measured
        risk = risk_by_matches(best, measured) if rate is None else risk_by_control(best, measured, rate)
        found[name] = RecipientRisk(columns, risk)
    return found
