"""A finding of the paper as a predicate on a run's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.randomness import stream
from cvpl_paper.collected import Collected, figure

Floats = NDArray[np.float64]

PERMUTATIONS = 9_999


@dataclass(frozen=True)
class PaperFinding:
    """A finding of the paper: its claim as a predicate, whether it holds here, the figures, and the reason."""

    number: str
    claim: str
    predicate: str
    holds: bool
    evidence: str
    reason: str
    chart: str | None = None

    def markdown(self) -> str:
        """The finding as a section of the page."""
        verdict = "**Holds here.**" if self.holds else "**Does not hold here.**"
        parts = [f"## {self.number}: {self.claim}", f"Predicate: {self.predicate}", f"{verdict} {self.evidence}"]
        picture = [] if self.chart is None else [f"![{self.claim}]({self.chart}.svg)"]
        return "\n\n".join([*parts, *picture, self.reason]) + "\n"


def known(value: float | None) -> float:
    """A figure, NaN if it is undefined."""
    return float("nan") if value is None else value


def means(run: Collected, names: Sequence[str], *path: str | int) -> list[float]:
    """The mean of a figure over seeds, for each configuration."""
    return [known(run.mean(name, figure(*path))) for name in names]


def listed(values: Sequence[float]) -> str:
    """Figures in a sentence."""
    return ", ".join(f"{value:.3f}" for value in values)


def ranks(values: Floats) -> Floats:
    """Ranks, ties at their mean."""
    below = (values[:, None] > values).sum(axis=1)
    return np.asarray(below + ((values[:, None] == values).sum(axis=1) - 1) / 2, dtype=float)


def spearman(one: Floats, other: Floats) -> float:
    """The rank correlation; 0 if one side is constant."""
    left, right = ranks(one), ranks(other)
    if left.std() == 0 or right.std() == 0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def permutation_chance(one: Floats, other: Floats) -> float:
    """The probability of a correlation this strong among random pairings, including the actual one."""
    rng = stream(0, "permutations")
    left, right = one - one.mean(), other - other.mean()
    drawn = np.array([abs(left @ rng.permutation(right)) for _ in range(PERMUTATIONS)])
    return float((1 + (drawn >= abs(left @ right) - 1e-12).sum()) / (1 + PERMUTATIONS))
