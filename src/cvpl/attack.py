"""An attack: the attacker's operators composed on two tables, as in the paper's Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attacker import Attacker
from cvpl.operators.blocking import Blocking, Lsh, lsh_codes, scheme_codes
from cvpl.operators.similarity import Scorer
from cvpl.operators.vectorization import FeatureSpace
from cvpl.representation import Representation, fit_representation
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.budget import Budget
from cvpl.search.exact import find_best
from cvpl.streams import stream
from cvpl.tables.columns import Pair, Table

Ints = NDArray[np.int64]
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The block of every record of every table under every scheme; `codes[scheme][table]`."""

    codes: tuple[dict[str, Ints], ...]

    def partitions(self, queries: str, candidates: str, rows: Ints | None = None) -> tuple[Partition, ...]:
        """The partitions for a search of one table (or some of its rows) in another."""
        return tuple(
            Partition(table[queries] if rows is None else table[queries][rows], table[candidates])
            for table in self.codes
        )


@dataclass(frozen=True, eq=False)
class Attack:
    """What an attack used and what it found.

    `people` are the rows of the original table that the attacker holds; `original` is the table of just these, and
    `found` is in their order.
    """

    attacker: Attacker
    seed: int
    budget: Budget
    people: Ints
    original: Table
    protected: Table
    control: Table | None
    blocks: Blocks
    representation: Representation
    scorer: Scorer
    found: BestCandidates

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Who is compared with whom."""
        return self.blocks.partitions("original", "protected")

    def search(self, queries: Ints, left_out: LeftOut) -> BestCandidates:
        """Search again for some of the originals, with single candidates left out (query numbers are original rows)."""
        scorer = self.representation.scorer(self.original, self.protected, queries)
        partitions = self.blocks.partitions("original", "protected", queries)
        return find_best(scorer, partitions, left_out=left_out.of(queries), budget=self.budget)

    def search_control(self, progress: Progress | None = None) -> BestCandidates | None:
        """The same attack on the people of the control table; None without one, or without a map for them."""
        if self.control is None or not self.representation.maps_others:
            return None
        scorer = self.representation.scorer(self.control, self.protected)
        partitions = self.blocks.partitions("control", "protected")
        return find_best(scorer, partitions, budget=self.budget, progress=progress)


def attack(
    pair: Pair, attacker: Attacker, *, seed: int = 0, budget: Budget | None = None, progress: Progress | None = None
) -> Attack:
    """Link the originals to the protected records as `attacker` would (paper, Algorithm 1)."""
    budget = budget or Budget()
    # What the attacker holds: some of the columns, some of the people.
    people = _known_people(pair.original.rows, attacker.knows_people, seed)
    original = attacker.view(pair.original if len(people) == pair.original.rows else pair.original.take(people))
    protected = attacker.view(pair.protected)
    control = None if pair.control is None else attacker.view(pair.control)
    # Phases 2 and 3: vectors, fitted projection, similarity.
    representation = fit_representation(original, protected, attacker, seed)
    # Phase 1: blocks. They may look at vectors (locality-sensitive hashing), hence after the fit.
    tables = [original, protected] + ([] if control is None else [control])
    blocks = assign_blocks(attacker.blocking, tables, representation.space, seed)
    # Phase 4: for every original the best candidate of its block; thresholds come later, from what is found once.
    scorer = representation.scorer(original, protected)
    found = find_best(scorer, blocks.partitions("original", "protected"), budget=budget, progress=progress)
    return Attack(attacker, seed, budget, people, original, protected, control, blocks, representation, scorer, found)


def assign_blocks(blocking: Blocking, tables: Sequence[Table], space: FeatureSpace, seed: int) -> Blocks:
    """The blocks of all tables under every scheme; keys on columns that the tables lack are dropped."""
    known = blocking.only([spec.name for spec in tables[0].specs])
    codes = []
    for scheme in known.any_of:
        if isinstance(scheme, Lsh):
            planes = hyperplanes(space, tables[0], scheme.lsh.bits, seed)
            assigned = lsh_codes([space(table).project(planes, space.neutral) for table in tables])
        else:
            assigned = scheme_codes(scheme, tables)
        codes.append(dict(zip((table.name for table in tables), assigned, strict=True)))
    return Blocks(tuple(codes))


def hyperplanes(space: FeatureSpace, table: Table, bits: int, seed: int) -> NDArray[np.float64]:
    """Random normals (features x bits) over the features of the quasi-identifiers, 0 elsewhere.

    Drawn one hyperplane after the other, so that fewer bits are the first of more.
    """
    keys = space.restricted([spec.name for spec in table.specs if spec.role == "quasi_identifier"])
    planes = np.zeros((space.width, bits))
    planes[keys] = stream(seed, "lsh").normal(size=(bits, int(keys.sum()))).T
    return planes


def _known_people(rows: int, share: float, seed: int) -> Ints:
    if share == 1:
        return np.arange(rows, dtype=np.int64)
    count = max(1, round(share * rows))
    return np.sort(stream(seed, "known people").choice(rows, size=count, replace=False)).astype(np.int64)
