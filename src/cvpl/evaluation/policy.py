"""The gate: whether a figure stays within what a policy allows. Met or not met, never "safe"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Figure = Literal["attributable_rate", "linkage_rate"]
Bound = Literal["high", "estimate"]


@dataclass(frozen=True)
class Verdict:
    """The value that was held against `limit`, and why the gate is closed, if it is."""

    figure: Figure
    bound: Bound
    limit: float
    value: float | None
    reasons: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether the gate is open."""
        return not self.reasons


def judge(figure: Figure, bound: Bound, limit: float, value: float | None, doubts: tuple[str, ...]) -> Verdict:
    """Hold a figure's `bound` against `limit`; a doubt about the figures, or no figure, closes the gate as well."""
    reasons = list(doubts)
    if value is None:
        reasons.append(f"the {bound} end of {figure} is not known" if bound == "high" else f"{figure} is not known")
    elif value > limit:
        reasons.append(f"{figure} ({bound}) is {value:.6g}, above {limit:.6g}")
    return Verdict(figure, bound, limit, value, tuple(reasons))
