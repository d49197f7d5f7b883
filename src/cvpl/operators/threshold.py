"""Threshold: how similar two records must be to count as linked. A link is s >= threshold, inclusive.

A value is used unchanged. A calibrated threshold (strategy A) is only a setting here: evaluation resolves it, since
it needs the similarities of wrong candidates. `false_rate` sets no threshold: the score is read at a false-positive
rate of 5%, where 5% of the control are linked, as scores without a natural scale always are.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cvpl.settings import Settings

Form = Literal["existential", "pairwise", "bonferroni"]

DEFAULT = 0.90


class Grid(Settings):
    """The thresholds of the risk curve, both ends included. The paper's: 0.70, 0.71, ... 0.99."""

    lowest: Annotated[float, Field(ge=-1, le=1)] = 0.70
    highest: Annotated[float, Field(ge=-1, le=1)] = 0.99
    step: Annotated[float, Field(ge=0.001, le=1)] = 0.01

    @model_validator(mode="after")
    def _ordered(self) -> Grid:
        if self.lowest >= self.highest:
            raise ValueError(f"the grid's lowest threshold ({self.lowest}) is not below its highest ({self.highest})")
        return self

    def values(self) -> NDArray[np.float64]:
        """The thresholds, rounded to 12 digits so that 0.9 on the grid equals a typed 0.9."""
        count = int(np.floor((self.highest - self.lowest) / self.step + 1e-9)) + 1
        return np.round(self.lowest + self.step * np.arange(count), 12)


class Calibrate(Settings):
    """Strategy A: the smallest threshold with a false link rate of at most `alpha` (paper, eq. precision-constrained).

    existential   the share of originals with a wrong candidate at or above it
    pairwise      the share of wrong pairs at or above it
    bonferroni    pairwise, with alpha / mean |C(x)|
    """

    calibrate: Form
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05


Threshold = Annotated[float, Field(allow_inf_nan=False)] | Calibrate | Literal["false_rate"]
