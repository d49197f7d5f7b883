"""What the recipients of a release would achieve with the columns that each holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cvpl.assessment.diagnostics.self_linkage import SCREENED
from cvpl.assessment.ensemble import EnsembleOutcome, run_attacker
from cvpl.assessment.planning.progress import Phase, ProgressCallback
from cvpl.assessment.verdict import bounded
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.measurement import risk_by_control, risk_by_matches
from cvpl.result import Finding, Recipient
from cvpl.tables.pair import Inputs


def recipients(
    ensemble: EnsembleOutcome,
    resolved: ResolvedConfig,
    inputs: Inputs,
    findings: Iterable[Finding],
    progress: ProgressCallback,
) -> list[Recipient]:
    """Each recipient with the risk of the strongest single attacker of the audit, if it knows the recipient's columns.

    It is one attacker, which was not picked by this figure: its interval is at 95%. The family may achieve more with
    the same columns. The upper end is 1 if `findings` say that the attackers are blind.
    """
    named: Mapping[str, tuple[str, ...]] = resolved.config.recipients
    kept = list(findings)
    able = {name: risk for name, risk in ensemble.risks.items() if name in resolved.attackers}
    found = []
    for number, (name, columns) in enumerate(named.items()):
        progress(Phase.RECIPIENTS, number / len(named))
        recipient = Recipient(name=name, columns=list(columns))
        if not able or not ensemble.qualified:
            found.append(recipient.model_copy(update={"reason": "no attacker of the audit has a risk"}))
            continue
        best = max(able, key=lambda key: able[key].estimate)
        attacker = resolved.attackers[best].model_copy(update={"knows": columns})
        outcome = run_attacker(attacker, resolved, inputs, lambda *_: None, checked=SCREENED)
        if outcome.valid.reasons:
            found.append(recipient.model_copy(update={"reason": outcome.valid.reasons[0]}))
            continue
        rate = ensemble.reading.false_rate
        measured = outcome.measured
        risk = risk_by_matches(best, measured) if rate is None else risk_by_control(best, measured, rate)
        found.append(recipient.model_copy(update={"risk": bounded(risk, kept)}))
    return found
