"""The table of attackers, one row each."""

from __future__ import annotations

from cvpl import result as out
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.sections import measurements
from cvpl.assessment.verdict import risk_section


def attacker_rows(ensemble: EnsembleOutcome) -> list[out.AttackerRow]:
    """A row for every attacker that was run, in configuration order."""
    return [
        measurements.attacker_row(
            name,
            outcome.measured,
            outcome.faults,
            None if outcome.canaries is None else outcome.canaries.figures,
            risk_section(ensemble.risk_of(name), ensemble),
        )
        for name, outcome in ensemble.outcomes.items()
    ]
