"""What all estimates share: a figure with its interval, the part of a share beyond chance, and the default rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Shares = TypeVar("_Shares", "float", "NDArray[np.float64]")

FALSE_RATE = 0.05
"""The false-positive rate at which power, and any score without its own threshold, is read."""
FALSE_RATES = (0.01, FALSE_RATE, 0.10)
"""The false-positive rates at which power is published."""
CONFIDENCE = 0.95
"""The confidence of an interval that is not corrected for anything."""
NO_METHOD = "none"
"""The method of a missing interval."""


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval.

    `value` is None if the figure does not exist, as what is beyond chance where chance explains everything. `low` and
    `high` are None if there is no interval; `refused` says why, unless none was asked for. `method` names
    what is sampled. `coverage` is the lowest coverage of such intervals that was measured at a nominal 95%,
    `coverage_at_999` that at a nominal 99.9%. What the figure is a share of is said by the mark of the field in which a
    result has it (`cvpl.result.publishing`).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float = CONFIDENCE
    method: str = NO_METHOD
    refused: str | None = None
    coverage: float | None = None
    coverage_at_999: float | None = None

    def mapped(self, change: Callable[[float], float]) -> Estimate:
        """An increasing function of this figure."""
        value, low, high = (None if item is None else change(item) for item in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)

    def beyond_chance(self, chance: float) -> Estimate:
        """The part of this figure that is beyond chance."""
        return self.mapped(lambda share: beyond_chance(share, chance))


def beyond_chance(share: _Shares, chance: _Shares) -> _Shares:
    """(share - chance) / (1 - chance): the part of a share that chance does not explain, for a chance below 1."""
    return (share - chance) / (1 - chance)
