"""What one attacker found in a release, and whether it counts."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.assessment.diagnostics.canaries import CanaryOutcome
from cvpl.assessment.diagnostics.self_linkage import SAMPLE
from cvpl.evaluation.measurement import Measurement, best_candidate
from cvpl.result import SelfRate, Validity

_DECIMALS = 9


def compared(rate: float) -> float:
    """A rate up to the decimals in which attackers are compared: the last bits of a sum pick none."""
    return round(rate, _DECIMALS)


@dataclass(frozen=True, eq=False)
class AttackerOutcome:
    """One attacker: its measurement, its representation's validity, and its canaries where they were run."""

    measured: Measurement
    copied: SelfRate | None
    valid: Validity
    canaries: CanaryOutcome | None

    @property
    def fully_checked(self) -> bool:
        """Whether as many originals as possible were searched in a perturbed copy."""
        return self.copied is None or self.copied.asked >= min(SAMPLE, self.copied.records)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the attacker does not count; empty if it does."""
        return tuple(self.valid.reasons) + (() if self.canaries is None else self.canaries.faults)

    def power_at(self, false_rate: float | None) -> float:
        """Its power against the control at a false-positive rate, to compare it by; 0 if there is none."""
        if false_rate is None or not self.measured.has_control:
            return 0.0
        return compared(self.measured.power_at(false_rate))

    @property
    def top1(self) -> float:
        """Its top-1 hit rate, to compare it by; 0 if unknown."""
        return compared(best_candidate(self.measured) or 0.0)
