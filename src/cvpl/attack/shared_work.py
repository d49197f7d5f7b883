"""What attackers on the same tables have in common, computed once.

The members of a family differ in a few settings. Each step of an attack depends on some of them only, and attackers
that agree on these share the step:

    tables       the attacker's columns, people and alignment
    strangers    the same, and whether it needs a reference sample
    space        tables and vectorization: feature vectors
    projection   space and projection: embeddings
    measure      projection and similarity, and the reference sample if the similarity counts it
    blocks       tables, strangers and blocking
    search       measure and blocking: the best candidates of the originals
    control      search and strangers: the best candidates of the control

Tolerances of numbers and the agreement of matches are estimated from the first people of the sample, and are the same
for all attackers that compare these in the same columns, however many people they ask.

Sharing never changes a figure. One `SharedWork` belongs to one pair of tables, one seed and one budget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from cvpl.attack.attacker import Attacker

T = TypeVar("T")


@dataclass(frozen=True)
class WorkKeys:
    """The settings that each step of one attack depends on."""

    tables: Hashable
    strangers: Hashable
    space: Hashable
    projection: Hashable
    measure: Hashable
    blocks: Hashable
    search: Hashable
    control: Hashable

    @classmethod
    def of(cls, attacker: Attacker, most: int | None) -> WorkKeys:
        """The keys of an attacker that searches at most `most` originals and controls."""
        tables = attacker.knows, attacker.knows_people, attacker.errors, attacker.alignment, most
        strangers = *tables, attacker.needs_reference
        space = *tables, attacker.vectorization.model_dump_json()
        projection = *space, repr(attacker.projection) if attacker.projects else None
        counted = attacker.needs_reference and attacker.similarity_operator.counts_reference
        measure = *projection, repr(attacker.similarity), counted
        blocking = attacker.blocking.model_dump_json()
        blocks, search = (*space, *strangers, blocking), (*measure, blocking)
        return cls(tables, strangers, space, projection, measure, blocks, search, (*search, *strangers))


class SharedWork:
    """Steps that were computed for one attacker, kept for the others."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Hashable], Any] = {}
        self._remembered: dict[Hashable, Any] = {}

    def get_or_compute(self, step: str, key: Hashable, compute: Callable[[], T]) -> T:
        """The result of a step for a key, computed at the first call."""
        place = step, key
        if place not in self._kept:
            self._kept[place] = compute()
        found: T = self._kept[place]
        return found

    def hand_over(self, step: str, key: Hashable, found: object) -> None:
        """Take the result of a step that was computed elsewhere."""
        self._kept[step, key] = found

    def cache(self, step: str, key: Hashable) -> dict[Any, Any]:
        """A dictionary for several results of a step, emptied when no attacker needs the key any more."""
        return self.get_or_compute(step, key, dict)

    def remembered(self, contents: Hashable, compute: Callable[[], T]) -> T:
        """A few figures that depend on `contents` alone, computed at the first call and never dropped."""
        if contents not in self._remembered:
            self._remembered[contents] = compute()
        found: T = self._remembered[contents]
        return found

    def keep_for(self, attackers: Iterable[WorkKeys]) -> None:
        """Drop everything that none of these attackers needs."""
        needed = {getattr(keys, field.name) for keys in attackers for field in fields(keys)}
        for place in [place for place in self._kept if place[1] not in needed]:
            dropped = self._kept.pop(place)
            if isinstance(dropped, dict):
                dropped.clear()
