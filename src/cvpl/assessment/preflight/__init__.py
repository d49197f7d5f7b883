"""Checks before any attack: problems visible in the tables alone, some of which close the gate.

Each check returns findings. Those that close the gate come first. No finding contains a cell.
"""

from __future__ import annotations

from cvpl import result as out
from cvpl.assessment.disclosure import disclosure_of
from cvpl.assessment.preflight.control import control_findings
from cvpl.assessment.preflight.copies import copy_findings
from cvpl.assessment.preflight.correspondence import correspondence_findings
from cvpl.assessment.preflight.identifiers import identifier_findings
from cvpl.assessment.preflight.renamed import renamed_findings
from cvpl.assessment.preflight.tables import table_findings
from cvpl.assessment.preflight.unmatched import unmatched_findings
from cvpl.config.resolved import ResolvedConfig
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.randomness import stream
from cvpl.tables.pair import Inputs

__all__ = ["preflight"]


def preflight(resolved: ResolvedConfig, inputs: Inputs, likeness: ControlTests | None) -> list[out.Finding]:
    """The findings of all checks on the tables of one audit; `likeness` compares the control with the originals."""
    disclosure = disclosure_of(resolved, inputs)
    rng, workers = stream(resolved.config.seed, "copies"), resolved.budget.workers
    found = [
        *table_findings(resolved, inputs),
        *unmatched_findings(inputs, disclosure),
        *identifier_findings(resolved, inputs, disclosure),
        *copy_findings(inputs.pair, rng, disclosure, inputs.whole.shared_rows, workers),
        *control_findings(resolved, inputs, likeness, disclosure),
        *correspondence_findings(resolved, inputs, disclosure),
        *renamed_findings(resolved, inputs),
    ]
    return sorted(found, key=lambda finding: not finding.closes_gate)
