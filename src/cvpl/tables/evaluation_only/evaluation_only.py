"""Data that evaluation may read and no attacker can.

An attacker receives a `Pair`. The true matches, the rows that form one person or household, and the columns that define
subgroups or hold values to infer are kept here, separately. An import rule keeps operators, search and attack from
importing this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData
from cvpl.tables.evaluation_only.identity import TrueMatches
from cvpl.tables.evaluation_only.sensitive_columns import SensitiveColumn
from cvpl.tables.evaluation_only.unit import EACH_ROW, Unit


@dataclass(frozen=True, eq=False)
class EvaluationOnly:
    """The true matches, the unit at risk, and columns of the originals that only evaluation reads.

    `matches` is None where no match is known. `columns` holds each column for the originals and, if it has the column,
    for the control: subgroups by which rates are split. `released` holds columns of the release that no attacker
    compares: sensitive values, sampling weights, and quasi-identifiers that the originals lack. `sensitive` holds the
    sensitive columns of all tables, if it is asked what an attacker infers of them.
    """

    matches: TrueMatches | None = None
    unit: Unit = EACH_ROW
    columns: Mapping[str, tuple[ColumnData, ColumnData | None]] = field(default_factory=dict)
    released: Mapping[str, ColumnData] = field(default_factory=dict)
    sensitive: Mapping[str, SensitiveColumn] = field(default_factory=dict)

    def parted(self, matches: TrueMatches, stay: NDArray[np.intp], leave: NDArray[np.intp]) -> EvaluationOnly:
        """Return the data after a split of the originals: rows `stay` remain, rows `leave` become the control."""
        columns = {name: (column.take(stay), column.take(leave)) for name, (column, _) in self.columns.items()}
        sensitive = {name: column.parted(stay, leave) for name, column in self.sensitive.items()}
        return EvaluationOnly(matches, self.unit.parted(stay, leave), columns, self.released, sensitive)
