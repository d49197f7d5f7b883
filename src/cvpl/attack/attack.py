"""An attack: the attacker's operators composed on two tables, as in the paper's Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.interpolation import betweenness, ordered_features
from cvpl.attack.people_draw import EACH_ROW, PeopleDraw
from cvpl.attack.prepared_attack import prepare
from cvpl.attack.representation import Representation
from cvpl.attack.shared_words import fitting_words, text_columns
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.attack.single_values import value_ratios
from cvpl.attack.table_blocks import TableBlocks, assign_blocks, narrow_blocks
from cvpl.errors import UsageError
from cvpl.operators.alignment import CommonForm
from cvpl.operators.similarity import ScoreSource
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.engine import SearchEngine, engine_for
from cvpl.search.levers import Levers
from cvpl.search.machine import Budget
from cvpl.search.rare_values.log_means import log_means
from cvpl.tables.columns import Pair, Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Attack:
    """The inputs and the result of an attack.

    `people` are the rows of the original table that the attacker has; `original` is the table of just these, and
    `found` is in their order. An aligned attacker has brought `original`, `control` and `protected` to a
    common `form`; `held` and `held_control` are its tables before that. `reference` are people outside the release whom
    the attacker knows: half of the control, if the evidence needs them; `control` is then the other half, the rows
    `control_rows` of it.
    """

    attacker: Attacker
    seed: int
    budget: Budget
    people: Ints
    holds_all: bool
    original: Table
    protected: Table
    control: Table | None
    control_rows: Ints
    reference: Table | None
    blocks: TableBlocks
    searched: TableBlocks
    levers: Levers
    representation: Representation
    found: BestCandidates
    held: Table
    held_control: Table | None
    form: CommonForm | None
    keys: WorkKeys
    shared: SharedWork
    draw: PeopleDraw = EACH_ROW

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The pairs of records that are compared."""
        return self.searched.partitions("original", "protected")

    @property
    def reads_best(self) -> bool:
        """Whether the evidence is the score of the best candidate itself."""
        return self.attacker.evidence == "best"

    @property
    def settings(self) -> dict[str, Any]:
        """What defines it, for the result."""
        return self.attacker.model_dump(mode="json", exclude=None if self.attacker.errors else {"errors"})

    @property
    def exact(self) -> bool:
        """Whether every pair that shares a block was considered."""
        return not self.levers.used

    @property
    def share_examined(self) -> float:
        """The share of pairs in a common block that were examined, or safely skipped by an exact search."""
        if self.exact:
            return 1.0
        examined = self.searched.pairs if self.found.examined is None else self.found.examined
        return examined / max(1, self.blocks.pairs)

    @property
    def scorer(self) -> ScoreSource:
        """Scores of the originals against the release, shared with attackers of the same measure."""
        return _scorer(self.shared, self.keys, self.representation, self.original, self.protected)

    @property
    def engine(self) -> SearchEngine:
        """The search engine."""
        return engine_for(self.budget)

    def find(
        self,
        scorer: ScoreSource,
        partitions: Sequence[Partition],
        left_out: LeftOut | None = None,
        progress: Progress | None = None,
    ) -> BestCandidates:
        """Search as the attack itself did."""
        return self.engine.find_best(scorer, partitions, left_out=left_out, ann=self.levers.ann, progress=progress)

    def search(self, queries: Ints, left_out: LeftOut) -> BestCandidates:
        """Search again for some of the originals, with single candidates left out (query numbers are original rows)."""
        scorer = self.representation.scorer(self.original, self.protected, queries)
        partitions = self.searched.partitions("original", "protected", queries)
        return self.find(scorer, partitions, left_out.of(queries))

    def evidence(self, table: str, found: BestCandidates) -> Floats:
        """The evidence for the links found for the originals, or for the control; -inf without a link.

            best         s1                     the score of the best candidate
            margin       s1 - s2                minus that of the second best
            reference    s1 - max s(x, r)       minus the best score among the reference people r
            density      log mean of exp s(x, y) over the release, minus the same over the reference people
            values       log ratio of the shares of the release and of other people that have x_c, summed over columns
            between      -log of the least sine between x to a record and x to another person (`interpolation`)
            words        how well the words of one released record fit the person's texts (`shared_words`)

        Without a second candidate, or without a reference person in the block, the lowest possible score is used.
        """
        if self.attacker.evidence == "best":
            return found.best
        supporting = found.best
        if self.attacker.evidence == "between":
            return self._exactness_between(table)
        columns = self.attacker.vectorization.compared(self.original)
        if self.attacker.evidence == "words":
            texts = text_columns(self.original, self.protected, columns)
            return fitting_words(self._asked(table), self.protected, texts)
        if self.attacker.evidence == "values":
            return value_ratios(self._asked(table), self.protected, self._known_people, columns)
        if self.attacker.evidence == "margin":
            against = found.second
        elif self.reference is None:
            raise UsageError("evidence against reference people needs a control: half of it is used as the reference")
        elif self.attacker.evidence == "density":
            supporting, against = self._density(table, self.protected), self._density(table, self.reference)
        else:
            against = self._among_reference(table, self.reference).best
        lowest = self.representation.least
        # A record without candidates has no evidence, with or without a reference.
        return np.where(np.isneginf(found.best), -np.inf, supporting - np.maximum(against, lowest))

    def _asked(self, table: str) -> Table:
        asked = self.original if table == "original" else self.control
        assert asked is not None  # noqa: S101 - a control was searched
        return asked

    @property
    def _known_people(self) -> list[Table]:
        """Originals and controls, who are treated alike."""
        return [self.original] if self.control is None else [self.original, self.control]

    def _exactness_between(self, table: str) -> Floats:
        """How exactly released records lie between each record and another of the originals and controls."""

        def compute() -> Floats:
            vectors = [ordered_features(self.representation, known) for known in self._known_people]
            released = ordered_features(self.representation, self.protected)
            return betweenness(np.vstack(vectors), released, sampled=not self.holds_all)

        everybody = self.shared.get_or_compute("between", self.keys.control, compute)
        originals = self.original.rows
        return everybody[:originals] if table == "original" else everybody[originals:]

    def _among_reference(self, table: str, reference: Table) -> BestCandidates:
        def search() -> BestCandidates:
            scorer = self.representation.scorer(self._asked(table), reference)
            return self.find(scorer, self.searched.partitions(table, "reference"))

        return self.shared.get_or_compute(f"found in reference, {table}", self.keys.control, search)

    def _density(self, table: str, among: Table) -> Floats:
        return self.shared.get_or_compute(
            f"density of {among.name}, {table}", self.keys.control, lambda: self._summed(table, among)
        )

    def _summed(self, table: str, among: Table) -> Floats:
        scorer = self.representation.scorer(self._asked(table), among).agreement
        assert scorer is not None  # noqa: S101 - the attacker's settings reject density with any other similarity
        return log_means(scorer, self.searched.partitions(table, among.name)[0], self.budget)

    @cached_property
    def scores(self) -> Floats:
        """The evidence of the originals."""
        return self.evidence("original", self.found)

    def search_control(self, progress: Progress | None = None) -> BestCandidates | None:
        """Run the same attack on the control table; None if there is none, or if it cannot be embedded."""
        if self.control is None or not self.representation.maps_others:
            return None
        return self.shared.get_or_compute("found in control", self.keys.control, lambda: self._search_control(progress))

    def _search_control(self, progress: Progress | None) -> BestCandidates:
        assert self.control is not None  # noqa: S101 - checked by the caller
        scorer = self.representation.scorer(self.control, self.protected)
        return self.find(scorer, self.searched.partitions("control", "protected"), progress=progress)


def attack(
    pair: Pair,
    attacker: Attacker,
    *,
    seed: int = 0,
    budget: Budget | None = None,
    levers: Levers | None = None,
    most: int | None = None,
    progress: Progress | None = None,
    shared: SharedWork | None = None,
    draw: PeopleDraw = EACH_ROW,
) -> Attack:
    """Link the originals to the protected records as `attacker` would (paper, Algorithm 1).

    With `levers` only some of the pairs are examined, and the result is a lower bound. With `most`, at most that many
    originals and control people are searched, sampled by the seed; all of the release is searched. Attacks on the same
    pair, with the same seed, budget, levers and draw, may have `shared` work. `draw` chooses whom the attacker asks,
    and the reference people.
    """
    budget, levers, shared = budget or Budget(), levers or Levers(), shared or SharedWork()
    ready = prepare(pair, attacker, seed=seed, budget=budget, most=most, shared=shared, draw=draw)
    tables, strangers, representation, keys = ready.tables, ready.strangers, ready.representation, ready.keys
    # Phase 1: blocks. They may use vectors (locality-sensitive hashing), so they come after the fit.
    known = [table for table in (tables.original, tables.protected, strangers.control, strangers.reference) if table]

    def make_blocks() -> tuple[TableBlocks, TableBlocks]:
        blocks = assign_blocks(attacker.blocking, known, representation.space, seed)
        return blocks, narrow_blocks(blocks, levers, known, representation.space, seed)

    blocks, searched = shared.get_or_compute("blocks", keys.blocks, make_blocks)
    for table in known:
        representation.arrange(table, searched.schemes[0].codes[table.name])

    # Phase 4: the best candidate of every original in its block; thresholds are applied later to this one result.
    def search() -> BestCandidates:
        scorer = _scorer(shared, keys, representation, tables.original, tables.protected)
        partitions = searched.partitions("original", "protected")
        return engine_for(budget).find_best(scorer, partitions, ann=levers.ann, progress=progress)

    found = shared.get_or_compute("found", keys.search, search)
    return Attack(
        attacker=attacker,
        seed=seed,
        budget=budget,
        people=tables.people,
        holds_all=len(tables.people) == pair.original.rows,
        original=tables.original,
        protected=tables.protected,
        control=strangers.control,
        control_rows=strangers.rows,
        reference=strangers.reference,
        blocks=blocks,
        searched=searched,
        levers=levers,
        representation=representation,
        found=found,
        held=tables.held,
        held_control=strangers.held,
        form=tables.form,
        keys=keys,
        shared=shared,
        draw=draw,
    )


def _scorer(
    shared: SharedWork, keys: WorkKeys, representation: Representation, original: Table, protected: Table
) -> ScoreSource:
    return shared.get_or_compute("scorer", keys.measure, lambda: representation.scorer(original, protected))
