"""An attacker's blocking, applied to the tables of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import UsageError
from cvpl.operators.blocking import Blocking, Boxes, Lsh, lsh_codes, lsh_sides, scheme_boxes, scheme_codes
from cvpl.operators.vectorization import FeatureSpace
from cvpl.randomness import stream
from cvpl.search.blocks import Partition, ranges
from cvpl.search.compatible.class_sets import ClassSets, meeting_boxes
from cvpl.search.levers import Levers, cut_off, draw, sub_divide
from cvpl.tables.columns import Table
from cvpl.tables.keys import components

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EqualBlocks:
    """One scheme's block of every record of every table; records with equal codes are compared."""

    codes: Mapping[str, Ints]

    def partition(self, queries: str, candidates: str, rows: Ints | None = None) -> Partition:
        """The partition for a search of one table (or some of its rows) in another."""
        asked = self.codes[queries]
        return Partition(asked if rows is None else asked[rows], self.codes[candidates])

    def clusters(self, tables: Sequence[str]) -> list[Ints]:
        """A number for each record of some tables, equal for records that may share a candidate."""
        return [self.codes[table] for table in tables]


@dataclass(frozen=True, eq=False)
class CompatibleBlocks:
    """One scheme's kind of every record of every table; records are compared if boxes of their kinds overlap."""

    codes: Mapping[str, Ints]
    boxes: Boxes
    joined: dict[tuple[str, str], tuple[Ints, ClassSets]] = field(default_factory=dict)

    def partition(self, queries: str, candidates: str, rows: Ints | None = None) -> Partition:
        """The partition for a search of one table (or some of its rows) in another."""
        if rows is None or (queries, candidates) in self.joined:
            number, sets = self._join(queries, candidates)
        else:
            number, sets = self._met(queries, candidates, rows)
        asked = self.codes[queries]
        return Partition(number[asked if rows is None else asked[rows]], self.codes[candidates], sets)

    def _join(self, queries: str, candidates: str) -> tuple[Ints, ClassSets]:
        """The set of every kind of query, computed once."""
        if (queries, candidates) not in self.joined:
            self.joined[queries, candidates] = self._met(queries, candidates)
        return self.joined[queries, candidates]

    def _met(self, queries: str, candidates: str, rows: Ints | None = None) -> tuple[Ints, ClassSets]:
        """The sets that occur, and the number of each kind's set, from the kinds of some queries."""
        asked, there = self.boxes.of(self._kinds(queries, rows)), self.boxes.of(self._kinds(candidates))
        pairs = meeting_boxes(asked.low, asked.high, there.low, there.high)
        met = ((asked.owner[query], there.owner[other]) for query, other in pairs)
        return ClassSets.gathered(met, self.boxes.kinds + 1, self.boxes.kinds)

    def _kinds(self, table: str, rows: Ints | None = None) -> Ints:
        codes = self.codes[table] if rows is None else self.codes[table][rows]
        kinds = np.flatnonzero(np.bincount(codes, minlength=self.boxes.kinds))
        return kinds[kinds < self.boxes.kinds]  # higher numbers are candidates that are not searched

    def clusters(self, tables: Sequence[str]) -> list[Ints]:
        """A number for each record of some tables, equal for records that may share a candidate.

        Kinds are connected by the classes that they overlap, directly or through other kinds.
        """
        edges = []
        for table in tables:
            number, sets = self._join(table, "protected")
            kinds = self._kinds(table)
            lengths = np.diff(sets.starts)[number[kinds]]
            edges.append((np.repeat(kinds, lengths), sets.classes[ranges(sets.starts[number[kinds]], lengths)]))
        one, other = (np.concatenate(side) for side in zip(*edges, strict=True))
        component = components(one, other, self.boxes.kinds)
        return [component[self.codes[table]] for table in tables]


@dataclass(frozen=True, eq=False)
class TableBlocks:
    """The blocks of all tables under every scheme of a blocking."""

    schemes: tuple[EqualBlocks | CompatibleBlocks, ...]

    def partitions(self, queries: str, candidates: str, rows: Ints | None = None) -> tuple[Partition, ...]:
        """The partitions for a search of one table (or some of its rows) in another."""
        return tuple(scheme.partition(queries, candidates, rows) for scheme in self.schemes)

    @property
    def pairs(self) -> int:
        """The number of pairs of an original and a protected record that share a block, over all schemes."""
        return sum(partition.pairs for partition in self.partitions("original", "protected"))

    def clusters(self, tables: Sequence[str]) -> list[Ints] | None:
        """A number for each record, equal for records that may share a candidate; None under several schemes.

        Under several schemes a record has candidates from several blocks, so no single block separates records.
        """
        return self.schemes[0].clusters(tables) if len(self.schemes) == 1 else None


def assign_blocks(blocking: Blocking, tables: Sequence[Table], space: FeatureSpace, seed: int) -> TableBlocks:
    """Assign the blocks of all tables under every scheme; keys on columns that the tables lack are dropped."""
    known = blocking.only([spec.name for spec in tables[0].specs])
    names = [table.name for table in tables]
    schemes: list[EqualBlocks | CompatibleBlocks] = []
    for scheme in known.any_of:
        if isinstance(scheme, Lsh):
            planes = hyperplanes(space, tables[0], scheme.lsh.bits, seed)
            sides = [
                np.concatenate([lsh_sides(piece.project(planes, space.neutral)) for _, piece in space(table).pieces()])
                for table in tables
            ]
            assigned = lsh_codes(sides, scheme.lsh.bits)
        elif known.match == "compatible" and scheme:
            kinds, boxes = scheme_boxes(scheme, tables)
            schemes.append(CompatibleBlocks(dict(zip(names, kinds, strict=True)), boxes))
            continue
        else:
            assigned = scheme_codes(scheme, tables)
        schemes.append(EqualBlocks(dict(zip(names, assigned, strict=True))))
    return TableBlocks(tuple(schemes))


def narrow_blocks(
    blocks: TableBlocks, levers: Levers, tables: Sequence[Table], space: FeatureSpace, seed: int
) -> TableBlocks:
    """The blocks to search: the same blocks, unless levers limit the pairs."""
    if not levers.used:
        return blocks
    schemes: list[EqualBlocks | CompatibleBlocks] = []
    for number, scheme in enumerate(blocks.schemes):
        tables_codes = dict(scheme.codes)
        if isinstance(scheme, CompatibleBlocks) and (levers.sub_block is not None or levers.max_block is not None):
            raise UsageError(
                "search.max_block and search.sub_block split blocks of equal keys, but an attacker uses compatible "
                "keys, whose blocks overlap; use search.sample, or match: equality"
            )
        if levers.sub_block is not None:
            keys = assign_blocks(Blocking(any_of=(levers.sub_block.by,)), tables, space, seed).schemes[0].codes
            tables_codes = sub_divide(tables_codes, dict(keys), "protected", levers.sub_block.above)
        nobody = 1 + max(int(table.max(initial=0)) for table in tables_codes.values())
        if levers.sample is not None:
            rng = stream(seed, "sampled candidates")
            tables_codes["protected"] = draw(tables_codes["protected"], levers.sample, nobody, rng)
        if levers.max_block is not None:
            rng = stream(seed, f"cutoff {number}")
            tables_codes["protected"] = cut_off(tables_codes["protected"], levers.max_block, nobody, rng)
        if isinstance(scheme, CompatibleBlocks):
            schemes.append(CompatibleBlocks(tables_codes, scheme.boxes))
        else:
            schemes.append(EqualBlocks(tables_codes))
    return TableBlocks(tuple(schemes))


def hyperplanes(space: FeatureSpace, table: Table, bits: int, seed: int) -> NDArray[np.float64]:
    """Random normals (features x bits) over the features of the quasi-identifiers, 0 elsewhere.

    Hyperplanes are drawn one after the other, so that a smaller number of bits is a prefix of a larger one.
    """
    keys = space.restricted([spec.name for spec in table.specs if spec.role == "quasi_identifier"])
    planes = np.zeros((space.width, bits))
    planes[keys] = stream(seed, "lsh").normal(size=(bits, int(keys.sum()))).T
    return planes
