"""Regions of a risk surface R(strength, τ): where it is low, where it is steep, and where it stays low.

A surface is given as rows, one per strength from the weakest to the strongest, over the same thresholds (or
false-positive rates). Unknown values are None.
"""

from __future__ import annotations

from collections.abc import Sequence

HIGH_SENSITIVITY = 0.05
"""The largest change of the rate between neighbouring cells that does not count as steep: five percentage points.

Between thresholds, which are 0.01 apart, this is the slope at which an audit warns of a steep threshold: 10 points
within 0.02. Between strengths it is the same, whatever their distance: users who change the strength by one of the
tried steps should know if the result changes with it.
"""

Rates = Sequence[Sequence[float | None]]


def steep_cells(rates: Rates, most: float = HIGH_SENSITIVITY) -> list[list[bool]]:
    """The cells of high sensitivity: some neighbour's rate differs by more than `most`.

    steep(i, j) = max over neighbours (a, b) of |R(i, j) - R(a, b)| > most

    Neighbours are the cells of the same strength at the adjacent thresholds, and those of the adjacent strengths at the
    same threshold. Both sides of a step are steep. An unknown rate makes no neighbour steep.
    """
    steep = [[False] * len(row) for row in rates]
    for i, row in enumerate(rates):
        for j, rate in enumerate(row):
            for a, b in ((i + 1, j), (i, j + 1)):
                if a < len(rates) and b < len(rates[a]) and _differ_by_more(rate, rates[a][b], most):
                    steep[i][j] = steep[a][b] = True
    return steep


def weakest_inside(inside: Sequence[bool]) -> int | None:
    """The weakest setting from which all are inside: the smallest i with inside[i], inside[i + 1], ... all true.

    A setting that is inside while a stronger one is not may be so by chance, and is not returned. None if even the
    strongest is outside. Going from the strongest down and stopping at the first that is outside is a sequence of tests
    in a fixed order: the probability of returning a setting whose true rate is above the target is that of one
    interval's upper end being too low, however many settings are tried.
    """
    found = None
    for at in reversed(range(len(inside))):
        if not inside[at]:
            break
        found = at
    return found


def isolated(inside: Sequence[bool]) -> list[int]:
    """The settings that are inside while a stronger one is not."""
    first = weakest_inside(inside)
    return [at for at, is_inside in enumerate(inside) if is_inside and (first is None or at < first)]


def rises(risks: Sequence[float | None]) -> list[int]:
    """The settings whose risk is above that of the next weaker setting with a known risk: not monotone there."""
    found, before = [], None
    for at, risk in enumerate(risks):
        if risk is None:
            continue
        if before is not None and risk > before:
            found.append(at)
        before = risk
    return found


def _differ_by_more(one: float | None, other: float | None, most: float) -> bool:
    return one is not None and other is not None and abs(one - other) > most
