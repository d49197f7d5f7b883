"""The clusters that an interval takes for independent, and draws of people by cluster.

If the table declares that rows belong together (a household, an account, a person with several rows), whole groups are
the clusters. Otherwise, with 20 blocks or more, blocks are: their records share candidates. Otherwise single people.

Draws of people by cluster: rows of one household, account or person are drawn together. A sample takes whole clusters
in random order; the last one may be cut to the size that is asked for. The reference people are whole clusters of the
control, so that no control that is asked has a relative among them. A cluster that also has originals would relate
these originals to the reference, and no control: it gives no reference people as long as the others are half of the
control. Where they are fewer (sites or classes with people in both tables), rows of these clusters are drawn one by
one, which relates originals and controls to the reference alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.people_draw import EACH_ROW, Drawn, PeopleDraw

Ints = NDArray[np.int64]


Kind = Literal["people", "blocks", "groups"]

FEWEST_BLOCKS = 20


@dataclass(frozen=True, eq=False)
class Clusters:
    """The cluster of every original and control, in one numbering; None if each record is its own cluster."""

    kind: Kind
    original: Ints | None = None
    control: Ints | None = None


EACH = Clusters("people")


def choose_clusters(blocks: Sequence[Ints] | None, groups: Sequence[Ints] | None) -> Clusters:
    """The clusters for originals and, where there is a second array, controls.

    `blocks` is None if blocks do not separate candidates (several schemes), `groups` is None if no rows belong
    together. Groups take precedence over blocks. Fewer than 20 blocks with originals are too few.
    """
    if groups is not None:
        return _clusters("groups", groups)
    if blocks is not None and len(np.unique(blocks[0])) >= FEWEST_BLOCKS:
        return _clusters("blocks", blocks)
    return EACH


def _clusters(kind: Kind, codes: Sequence[Ints]) -> Clusters:
    joined = np.unique(np.concatenate(list(codes)), return_inverse=True)[1].reshape(-1).astype(np.int64)
    parts = np.split(joined, np.cumsum([len(part) for part in codes])[:-1])
    return Clusters(kind, parts[0], parts[1] if len(parts) > 1 else None)


class DrawByCluster(PeopleDraw):
    """Draws by the clusters of originals and controls, which have one numbering."""

    def __init__(self, codes: Mapping[str, Ints]) -> None:
        self.cluster_codes = codes

    def order(self, table: Drawn, rows: Ints, rng: np.random.Generator) -> Ints:
        """A random order of clusters, in which the rows of each follow each other."""
        return _in_order(_numbered(self.cluster_codes[table][rows]), rng)[0]

    def halves(self, rows: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Whole clusters in random order up to about half of the rows, and the others; see the module."""
        codes, half = self.cluster_codes["control"], rows // 2
        shared = np.isin(codes, self.cluster_codes["original"])
        own, both = np.flatnonzero(~shared), np.flatnonzero(shared)
        if len(own) < half or not len(own):
            filled = rng.permutation(both)[: half - len(own)]
            reference = np.concatenate([own, filled])
        else:
            order, cluster = _in_order(_numbered(codes[own]), rng)
            ends = 1 + np.flatnonzero(np.append(cluster[1:] != cluster[:-1], True))
            if not len(both) and len(ends) > 1:
                ends = ends[:-1]  # somebody has to be asked
            cut = half if not len(both) and ends[0] == rows else ends[np.abs(ends - half).argmin()]
            reference = own[order[:cut]]
        return np.sort(reference).astype(np.int64), np.setdiff1d(np.arange(rows, dtype=np.int64), reference)

    def sample(self, table: Drawn, rows: Ints, most: int, rng: np.random.Generator) -> Ints:
        """Whole clusters up to so many rows, in ascending order."""
        if len(rows) <= most:
            return np.arange(len(rows), dtype=np.int64)
        found: Ints = np.sort(self.order(table, rows, rng)[:most])
        return found

    def resample(self, table: Drawn, rows: Ints, rng: np.random.Generator) -> Ints:
        """The rows of clusters that are drawn with replacement: as many clusters, and about as many rows."""
        cluster = _numbered(self.cluster_codes[table][rows])
        sizes = np.bincount(cluster)
        places, starts = np.argsort(cluster, kind="stable"), np.cumsum(sizes) - sizes
        drawn = rng.integers(len(sizes), size=len(sizes))
        within = np.arange(sizes[drawn].sum()) - np.repeat(np.cumsum(sizes[drawn]) - sizes[drawn], sizes[drawn])
        found: Ints = places[np.repeat(starts[drawn], sizes[drawn]) + within].astype(np.int64)
        return found

    def dealt(self, table: Drawn, rows: Ints, most: int, parts: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Whole clusters in random order, each dealt to one part."""
        order, cluster = _in_order(_numbered(self.cluster_codes[table][rows]), rng)
        return order[:most], cluster[:most] % parts

    def of_rows(self, table: Drawn, rows: Ints) -> PeopleDraw:
        """The same clusters, of these rows of a table."""
        return DrawByCluster({**self.cluster_codes, table: self.cluster_codes[table][rows]})


def people_draw(codes: Mapping[str, Ints] | None) -> PeopleDraw:
    """The draws by these clusters; None if every row is a cluster of its own."""
    return EACH_ROW if codes is None else DrawByCluster(codes)


def one_row_per_cluster(codes: Mapping[str, Ints], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """One row of every cluster, drawn at random from all of its rows in both tables: those rows are independent.

    Returns rows of the originals and of the control, in ascending order.
    """
    tables = codes["original"], codes["control"]
    joined = np.concatenate(tables)
    order = rng.permutation(len(joined))
    kept = np.sort(order[np.unique(joined[order], return_index=True)[1]]).astype(np.int64)
    originals = len(tables[0])
    return kept[kept < originals], kept[kept >= originals] - originals


def _numbered(codes: Ints) -> Ints:
    """Numbers from 0 for the clusters, in the order of their first rows."""
    first, inverse = np.unique(codes, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)


def _in_order(cluster: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The places of the rows with clusters in random order, and the number of each row's cluster in that order."""
    rank = np.argsort(rng.permutation(int(cluster.max(initial=-1)) + 1))
    order = np.argsort(rank[cluster], kind="stable").astype(np.int64)
    return order, rank[cluster][order].astype(np.int64)
