"""How people are drawn: whom an attack asks, who is a reference, and who is resampled.

An attacker must not know which rows belong together, but a sample must keep them together: a control with a relative
among the reference people is not like an original without one. So an attack is handed a `PeopleDraw`, made by those who
read the clusters, and gets rows from it. Here every row is a person of its own.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Drawn = Literal["original", "control"]
"""The tables that people are drawn from; rows of the release are never sampled."""


class PeopleDraw:
    """Draws of rows, each of which is a person. All methods return places in the `rows` of a table that they get."""

    def order(self, table: Drawn, rows: Ints, rng: np.random.Generator) -> Ints:
        """A random order; the first of it are a sample, and fewer of them a part of that sample."""
        return rng.permutation(len(rows)).astype(np.int64)

    def halves(self, rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """The rows of the control in two halves, each in ascending order: the reference people, and the others."""
        order = rng.permutation(rows)
        return np.sort(order[: rows // 2]).astype(np.int64), np.sort(order[rows // 2 :]).astype(np.int64)

    def sample(self, table: Drawn, rows: Ints, most: int, rng: np.random.Generator) -> Ints:
        """At most `most` of the rows, in ascending order."""
        if len(rows) <= most:
            return np.arange(len(rows), dtype=np.int64)
        return np.sort(rng.choice(len(rows), size=most, replace=False)).astype(np.int64)

    def resample(self, table: Drawn, rows: Ints, rng: np.random.Generator) -> Ints:
        """A bootstrap sample of the rows, drawn with replacement."""
        return rng.integers(len(rows), size=len(rows))

    def dealt(self, table: Drawn, rows: Ints, most: int, parts: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """At most `most` of the rows in random order, and the part that each is dealt to, from 0."""
        places = rng.permutation(len(rows))[:most].astype(np.int64)
        return places, np.arange(len(places), dtype=np.int64) % parts

    def of_rows(self, table: Drawn, rows: Ints) -> PeopleDraw:
        """The same draws if only these rows of a table are passed to the attack."""
        return self


EACH_ROW = PeopleDraw()
