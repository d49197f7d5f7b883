"""Progressive evaluation: the rate along a ladder of increasingly loose blockings (paper, Algorithm 2).

Each rung's candidates contain those of the rung before it, so the rate never falls (paper, theorem monotonicity) and
stopping early leaves a valid lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.attack.attack import Attack
from cvpl.attack.table_blocks import assign_blocks
from cvpl.evaluation.rates import linkage_rate


@dataclass(frozen=True)
class Rung:
    """One rung: its number from 1, the rate, the gain over the rung before, and the pairs compared."""

    number: int
    linkage_rate: float
    gain: float
    pairs: int


@dataclass(frozen=True)
class Progressive:
    """The rungs that were run. If `stopped_early`, the last rate is a lower bound for the whole ladder's."""

    rungs: tuple[Rung, ...]
    stopped_early: bool


def climb(attack: Attack, threshold: float) -> Progressive | None:
    """Run the attacker's ladder; None if it has none. Never stops before the second rung."""
    ladder = attack.attacker.ladder
    if ladder is None:
        return None
    rungs: list[Rung] = []
    tables = [attack.original, attack.protected]
    for number, blocking in enumerate(ladder.rungs, start=1):
        blocks = assign_blocks(blocking, tables, attack.representation.space, attack.seed)
        found = attack.engine.find_best(attack.scorer, blocks.partitions("original", "protected"))
        rate = linkage_rate(found.best, threshold)
        gain = rate - (rungs[-1].linkage_rate if rungs else 0.0)
        rungs.append(Rung(number, rate, gain, int(found.candidates.sum())))
        if number >= 2 and gain < ladder.stop_below:
            return Progressive(tuple(rungs), stopped_early=number < len(ladder.rungs))
    return Progressive(tuple(rungs), stopped_early=False)
