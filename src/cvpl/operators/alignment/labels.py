"""The granularity of a released category: groups, masks, sets and ranges that replace labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec, Labels
from cvpl.tables.meaning.labels import covers


@dataclass(frozen=True, eq=False)
class LabelGranularity:
    """How the release writes labels: `recode` is the code that each code is mapped to; the last is -1 (missing)."""

    recode: NDArray[np.int32]
    kinds: tuple[str, ...]

    @classmethod
    def detect(cls, spec: ColumnSpec, own: Labels, released: Labels) -> LabelGranularity | None:
        """Estimate it from the labels of both tables; None if no label has to change.

        A label that the release has stays. Another is mapped to the released label that covers it; if there are
        several, to the one with most released records, then to the one that covers the fewest labels, then to the
        first. A label that no released label covers stays.
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
        """Generalize the column as the release does; the column itself if nothing changes."""
        codes = self.recode[column.codes]
        return column if np.array_equal(codes, column.codes) else Labels(codes, column.labels)

    @property
    def words(self) -> str:
        """A description for people, without any label."""
        return ", ".join(self.kinds)


def _counts(column: Labels) -> NDArray[np.int64]:
    known = column.codes[column.codes >= 0]
    return np.bincount(known, minlength=len(column.labels)).astype(np.int64)
