"""Alignment: the attacker's own data brought to the grain of the release before anything is compared.

A release says how it was made: its numbers lie on a grid, its times begin hours, its labels end in stars. Whoever
holds the exact data can coarsen them in the same way. `detect` reads the grain off the values of the two tables, column
by column and without any true match; `Granularity.apply` brings a table to it.
"""

from cvpl.operators.alignment.granularity import Granularity, detect

__all__ = ["Granularity", "detect"]
