"""The same work for several attackers, some of them at the same time.

A search of few people is too short to keep several threads busy, so several attackers search at the same time, each
with its share of the threads. A search in a large release keeps all threads busy by itself, and two at the same time
would need twice the memory. What is found does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue
from typing import TypeVar

from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.search.machine import Budget, threads

T = TypeVar("T")
Work = Callable[[Attacker, SharedWork, Budget], T]

LARGE = 100_000
"""In a release of more records, one attacker searches at a time."""


def for_each(
    attackers: Sequence[Attacker], work: Work[T], *, most: Callable[[Attacker], int], released: int, budget: Budget
) -> Iterator[T]:
    """The results of `work` for each attacker, in their order; `released` is the number of records searched.

    `most` is the number of originals that an attacker searches for at most. Attackers that follow one another in a
    thread share work.
    """
    at_once = min(budget.workers, len(attackers)) if released <= LARGE else 1
    own = replace(budget, threads=max(1, budget.workers // at_once))
    idle: SimpleQueue[SharedWork] = SimpleQueue()
    for _ in range(at_once):
        idle.put(SharedWork())

    def run(attacker: Attacker) -> T:
        shared = idle.get()
        try:
            shared.keep_for([WorkKeys.of(attacker, most(attacker))])
            return work(attacker, shared, own)
        finally:
            idle.put(shared)

    with threads(at_once) as pool:
        yield from pool.map(run, attackers)
