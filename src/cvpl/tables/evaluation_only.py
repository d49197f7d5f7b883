"""What evaluation may read and no attacker can.

An attacker is handed a `Pair`. Who is who, which rows are one person or household, and columns by which people are
grouped or whose values are to be inferred are kept here, apart from it. An import rule keeps operators, search and
attack away from this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData
from cvpl.tables.identity import TrueMatches
from cvpl.tables.unit import EACH_ROW, Unit


@dataclass(frozen=True, eq=False)
class EvaluationOnly:
    """The true matches, the unit at risk, and columns of the originals that only evaluation reads.

    `matches` is None where no match is known. `columns` holds each column of the originals, and of the control where it
    has it: subgroups by which rates are split, or secrets that an attacker might infer.
    """

    matches: TrueMatches | None = None
    unit: Unit = EACH_ROW
    columns: Mapping[str, tuple[ColumnData, ColumnData | None]] = field(default_factory=dict)

    def parted(self, matches: TrueMatches, stay: NDArray[np.intp], leave: NDArray[np.intp]) -> EvaluationOnly:
        """The same where some originals become the control: `stay` are the rows of those left, `leave` the others."""
        columns = {name: (column.take(stay), column.take(leave)) for name, (column, _) in self.columns.items()}
        return EvaluationOnly(matches, self.unit.parted(stay, leave), columns)
