"""The policy gate: whether figures stay within limits. Met or not met under the stated attackers, never "safe".

A preset names who uses a limit, for what, and which figure it bounds. The small-cell rules and the limits of the two
medicines regulators bound the probability that the record picked for a person is that person's: 1/k in a class of k
equal records. That is the top-1 hit rate, not a linkage rate, which also counts people who find a look-alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cvpl.estimates import FALSE_RATE
from cvpl.wording import FIGURES, percent

Figure = Literal[
    "risk",
    "attributable_rate",
    "linkage_rate",
    "power_at_1",
    "power_at_5",
    "power_at_10",
    "top1_hit_rate",
    "maximum_subgroup_rate",
    "singled_out_rate",
    "inference_rate",
    "k",
]
Bound = Literal["high", "estimate"]

AT_LEAST: tuple[Figure, ...] = ("k",)
"""Figures with a smallest allowed value; all others have a largest one."""
FALSE_RATE_OF: Mapping[Figure, float] = {"power_at_1": 0.01, "power_at_5": FALSE_RATE, "power_at_10": 0.10}
"""The false-positive rate at which the power figures are read."""


@dataclass(frozen=True)
class Preset:
    """A limit used in practice: the figure it bounds here, its maximum, who uses it, and what it bounds there.

    Comparing the upper interval end with it, not the estimate, is this program's choice.
    """

    figure: Figure
    max: float
    source: str
    bounds: str
    bound: Bound = "high"


_ONE_IN_K = "the probability of re-identifying a record: one in so many that look the same"
_PRECEDENTS = (
    "listed among cell size precedents by El Emam, Guide to the De-Identification of Personal Health Information"
)

PRESETS: Mapping[str, Preset] = {
    "ema-policy-0070": Preset(
        "top1_hit_rate",
        0.09,
        "European Medicines Agency, guidance on Policy 0070, clinical reports made public",
        "the probability of re-identifying a trial participant",
    ),
    "health-canada-prci": Preset(
        "top1_hit_rate",
        0.09,
        "Health Canada, guidance on the Public Release of Clinical Information",
        "the probability of re-identifying a trial participant",
    ),
    "cell-size-3": Preset("top1_hit_rate", 1 / 3, f"small-cell rule of 3, {_PRECEDENTS}", _ONE_IN_K),
    "cell-size-5": Preset("top1_hit_rate", 1 / 5, f"small-cell rule of 5, {_PRECEDENTS}", _ONE_IN_K),
    "cell-size-11": Preset("top1_hit_rate", 1 / 11, f"small-cell rule of 11, {_PRECEDENTS}", _ONE_IN_K),
    "cell-size-20": Preset("top1_hit_rate", 1 / 20, f"small-cell rule of 20, {_PRECEDENTS}", _ONE_IN_K),
}


@dataclass(frozen=True)
class PolicyDecision:
    """The value compared with `limit`, and the reasons why the gate is closed, if any."""

    figure: Figure
    bound: Bound
    limit: float
    value: float | None
    reasons: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether the gate is open."""
        return not self.reasons


def judge(
    figure: Figure, bound: Bound, limit: float, value: float | None, doubts: tuple[str, ...] = (), unknown: str = ""
) -> PolicyDecision:
    """Compare a figure's `bound` with `limit`; a doubt about the figures, or a missing figure, also closes the gate.

    A figure of `AT_LEAST` must not be below the limit, the others not above it. `unknown` says why there is no value,
    if that is known.
    """
    reasons = list(doubts)
    ends = bound == "high" and figure not in AT_LEAST
    name = f"the upper interval end of {FIGURES[figure]}" if ends else FIGURES[figure]
    if value is None:
        reasons.append(f"{name} is not known" + (f": {unknown}" if unknown else ""))
    elif figure in AT_LEAST and value < limit:
        reasons.append(f"{name} is {value:,.0f}, below the limit of {limit:,.0f}")
    elif figure not in AT_LEAST and value > limit:
        reasons.append(f"{name} is {percent(value)}, above the limit of {percent(limit)}")
    return PolicyDecision(figure, bound, limit, value, tuple(reasons))
