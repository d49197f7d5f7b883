"""Progressive evaluation: the rate along a ladder of increasingly loose blockings (paper, Algorithm 2).

Each rung's candidates contain those of the rung before it, so the rate never falls (paper, theorem monotonicity) and
stopping early leaves a valid lower bound.
"""

from __future__ import annotations

from cvpl.attack.attack import Attack
from cvpl.attack.table_blocks import assign_blocks
from cvpl.evaluation.rates import linkage_rate
from cvpl.result import Ladder, RungRate


def climb(attack: Attack, threshold: float) -> Ladder | None:
    """Run the attacker's ladder; None if it has none. Never stops before the second rung."""
    ladder = attack.attacker.ladder
    if ladder is None:
        return None
    rungs: list[RungRate] = []
    tables = [attack.original, attack.protected]
    for number, blocking in enumerate(ladder.rungs, start=1):
        blocks = assign_blocks(blocking, tables, attack.representation.space, attack.seed)
        found = attack.engine.find_best(attack.scorer, blocks.partitions("original", "protected"))
        rate = linkage_rate(found.best, threshold)
        gain = rate - (rungs[-1].linkage_rate if rungs else 0.0)
        pairs = int(found.candidates.sum())
        rungs.append(RungRate(number=number, linkage_rate=rate, gain=gain, pairs=pairs))
        if number >= 2 and gain < ladder.stop_below:
            return Ladder(rungs=rungs, stopped_early=number < len(ladder.rungs))
    return Ladder(rungs=rungs, stopped_early=False)
