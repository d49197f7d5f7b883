"""Recoding: how the release writes the values of a column, estimated from the two tables alone.

A column in other units, logged, mirrored or replaced by ranks keeps the order of its values, or turns it around; a
column whose labels were renamed keeps how often each occurs and what it occurs with. `estimate_recoding` estimates the
order's direction and the renaming; `Recoding.sights` says for each column whether the estimate can be trusted.

Everything is estimated from originals and control together, as one table. If the release has nothing to do with the
originals, they and the control are exchangeable, and an attacker that uses the estimate links both alike.
"""

from cvpl.operators.recoding.estimate import estimate_recoding
from cvpl.operators.recoding.recoding import Recoding
from cvpl.operators.recoding.sight import ColumnSight, Seen

__all__ = ["ColumnSight", "Recoding", "Seen", "estimate_recoding"]
