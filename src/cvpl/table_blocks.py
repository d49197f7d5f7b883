"""Who is compared with whom: an attacker's blocking, carried out on the tables of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.blocking import Blocking, Lsh, lsh_codes, lsh_sides, scheme_codes
from cvpl.operators.vectorization import FeatureSpace
from cvpl.search.blocks import Partition
from cvpl.search.levers import Levers, cut_off, draw, sub_divide
from cvpl.streams import stream
from cvpl.tables.columns import Table

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EqualBlocks:
    """One scheme's block of every record of every table; records with equal codes are compared."""

    codes: Mapping[str, Ints]

    def partition(self, queries: str, candidates: str, rows: Ints | None = None) -> Partition:
        """The partition for a search of one table (or some of its rows) in another."""
        asked = self.codes[queries]
        return Partition(asked if rows is None else asked[rows], self.codes[candidates])

    def units(self, tables: Sequence[str]) -> list[Ints]:
        """A number for each record of some tables, the same for records that may share a candidate."""
        return [self.codes[table] for table in tables]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks of all tables under every scheme of a blocking."""

    schemes: tuple[EqualBlocks, ...]

    def partitions(self, queries: str, candidates: str, rows: Ints | None = None) -> tuple[Partition, ...]:
        """The partitions for a search of one table (or some of its rows) in another."""
        return tuple(scheme.partition(queries, candidates, rows) for scheme in self.schemes)

    @property
    def pairs(self) -> int:
        """How many pairs of an original and a protected record share a block, over all schemes."""
        return sum(partition.pairs for partition in self.partitions("original", "protected"))

    def units(self, tables: Sequence[str]) -> list[Ints] | None:
        """A number for each record, the same for those that may share a candidate; None under several schemes.

        Under several schemes a record has candidates from several blocks, so that none keeps them apart.
        """
        return self.schemes[0].units(tables) if len(self.schemes) == 1 else None


def assign_blocks(blocking: Blocking, tables: Sequence[Table], space: FeatureSpace, seed: int) -> Blocks:
    """The blocks of all tables under every scheme; keys on columns that the tables lack are dropped."""
    known = blocking.only([spec.name for spec in tables[0].specs])
    schemes = []
    for scheme in known.any_of:
        if isinstance(scheme, Lsh):
            planes = hyperplanes(space, tables[0], scheme.lsh.bits, seed)
            sides = [
                np.concatenate([lsh_sides(piece.project(planes, space.neutral)) for _, piece in space(table).pieces()])
                for table in tables
            ]
            assigned = lsh_codes(sides, scheme.lsh.bits)
        else:
            assigned = scheme_codes(scheme, tables)
        schemes.append(EqualBlocks(dict(zip((table.name for table in tables), assigned, strict=True))))
    return Blocks(tuple(schemes))


def narrowed(blocks: Blocks, levers: Levers, tables: Sequence[Table], space: FeatureSpace, seed: int) -> Blocks:
    """The blocks as they are searched: the same ones, unless somebody asked to look at fewer pairs."""
    schemes = []
    for number, scheme in enumerate(blocks.schemes):
        tables_codes = dict(scheme.codes)
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
        schemes.append(EqualBlocks(tables_codes))
    return Blocks(tuple(schemes))


def hyperplanes(space: FeatureSpace, table: Table, bits: int, seed: int) -> NDArray[np.float64]:
    """Random normals (features x bits) over the features of the quasi-identifiers, 0 elsewhere.

    Drawn one hyperplane after the other, so that fewer bits are the first of more.
    """
    keys = space.restricted([spec.name for spec in table.specs if spec.role == "quasi_identifier"])
    planes = np.zeros((space.width, bits))
    planes[keys] = stream(seed, "lsh").normal(size=(bits, int(keys.sum()))).T
    return planes
