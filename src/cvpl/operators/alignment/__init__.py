"""Alignment: generalize the attacker's data to the granularity of the release before the comparison.

A release shows how it was made: its numbers lie on a grid, its times are full hours, its labels end in stars. An
attacker with the exact data can coarsen them in the same way. `detect` estimates the granularity from the values of the
two tables, column by column and without true matches; `Granularity.apply` generalizes a table to it. Other common forms
of both tables are ranks, differences and ratios (`common_form`).
"""

from cvpl.operators.alignment.common_form import (
    CommonForm,
    DifferenceForm,
    RankForm,
    RatioForm,
    add_shifts,
    compared_differences,
    compared_ratios,
)
from cvpl.operators.alignment.granularity import Granularity, detect

__all__ = [
    "CommonForm",
    "DifferenceForm",
    "Granularity",
    "RankForm",
    "RatioForm",
    "add_shifts",
    "compared_differences",
    "compared_ratios",
    "detect",
]
