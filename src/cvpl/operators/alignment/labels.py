"""The grain of a released category: groups, masks, sets and ranges that stand in place of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.covering import covers
from cvpl.tables.columns import ColumnSpec, Labels


@dataclass(frozen=True, eq=False)
class LabelGranularity:
    """How the release writes labels: `recode` is the code that each code is brought to, -1 (missing) at its end."""

    recode: NDArray[np.int32]
    kinds: tuple[str, ...]

    @classmethod
    def detect(cls, spec: ColumnSpec, own: Labels, released: Labels) -> LabelGranularity | None:
        """From the labels of both tables; None where no label has to change.

        A label that the release has stays. Another is brought to the released label that covers it; of several, to the
        one that holds most released records, then to the one that covers the fewest labels, then to the first. A label
        that the release covers nowhere stays.
        """
        labels = released.labels
        here, there = (_counts(column) for column in (own, released))
        recode = np.arange(len(labels), dtype=np.int32)
        found = covers(spec, labels, here > 0, there > 0)
        best: dict[int, tuple[int, int, int]] = {}
        kinds: dict[int, str] = {}
        for cover in found:
            rank = (-int(there[cover.code]), len(cover.members), cover.code)
            for code in cover.members:
                if not there[code] and (code not in best or rank < best[code]):
                    best[code], kinds[code] = rank, cover.kind
        for code, rank in best.items():
            recode[code] = rank[2]
        if not best:
            return None
        return cls(np.append(recode, -1).astype(np.int32), tuple(sorted(set(kinds.values()))))

    def apply(self, column: Labels) -> Labels:
        """The column as the release would write it; the column itself where nothing changes."""
        codes = self.recode[column.codes]
        return column if np.array_equal(codes, column.codes) else Labels(codes, column.labels)

    @property
    def words(self) -> str:
        """What is done, for a person, without any label."""
        return ", ".join(self.kinds)


def _counts(column: Labels) -> NDArray[np.int64]:
    known = column.codes[column.codes >= 0]
    return np.bincount(known, minlength=len(column.labels)).astype(np.int64)
