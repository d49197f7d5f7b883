"""The interfaces of a similarity before and after fitting, and the scorers that it makes.

An operator (the settings of a similarity, or the operator of that name) is fitted and becomes a measure; a measure
makes a scorer of two sets of records. Each requests the form of the records that it compares, and only that form is
computed. So a new similarity is one file with an operator and a measure, and an entry in the package.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.agreement import AgreementScorer, lowest_near_best
from cvpl.operators.similarity.containment import CellScorer
from cvpl.operators.similarity.match_agreement import MatchAgreement
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


Compared = Literal["embeddings", "binary features", "values"]
"""What a similarity compares: projected vectors, 0/1 features without a projection, or the values of the columns."""


class OnDemandEmbeddings(Protocol):
    """Records whose embeddings are computed on request and not kept."""

    def __len__(self) -> int: ...

    @property
    def components(self) -> int:
        """The dimension of an embedding."""

    def embed(self, rows: Rows) -> Floats:
        """The embeddings of some of the records."""


class ComparedRecords(Protocol):
    """One side of a comparison: some records, in the form that the measure requests."""

    def values(self) -> Table:
        """The columns of the records."""

    def embeddings(self) -> Floats:
        """The embeddings of the records, or their 0/1 features for a similarity without a projection."""

    def on_demand(self) -> OnDemandEmbeddings | None:
        """The embeddings on request; None if the projection embeds only whole tables."""


class Measure(Protocol):
    """A fitted similarity. `least` and `most` are the lowest and the highest possible score of two records."""

    @property
    def least(self) -> float:
        """The lowest possible score."""

    @property
    def most(self) -> float:
        """The highest possible score."""

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> ScoreSource:
        """Scores of the queries against the candidates."""


@dataclass(frozen=True)
class Tolerances:
    """For each column the distance within which values agree, and how often values of a match within it are equal."""

    within: Mapping[str, float]
    equal: Mapping[str, float]


class FittingTables(Protocol):
    """The input for fitting a similarity."""

    @property
    def original(self) -> Table:
        """The originals."""

    @property
    def protected(self) -> Table:
        """The release."""

    @property
    def reference(self) -> Table | None:
        """People outside the release whom the attacker knows, if any."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that are compared."""

    @property
    def cells(self) -> Collection[str]:
        """The columns whose released cells are compared by the values that they allow."""

    def mean_square(self) -> float:
        """The mean of |z|^2 over the embeddings z of both tables."""

    def embeddings(self) -> Sequence[Floats]:
        """The embeddings of each table that the projection was fitted on."""

    def tolerances(self, measure: Any) -> Tolerances:
        """The tolerances, estimated by a measure of exact agreement."""

    def match_agreement(self, measure: Any) -> MatchAgreement:
        """For each column, the probability that a match agrees, estimated with the u of a measure, if that works."""


class SimilarityOperator(Protocol):
    """A similarity before fitting.

    `unit` says that scores are inner products of unit vectors: a tree can search them, records can be embedded on
    request, and a score is a sum over features. `by_distance` says that a block is searched pair by pair.
    """

    @property
    def compares(self) -> Compared:
        """What it compares."""

    @property
    def unit(self) -> bool:
        """Whether scores are inner products of unit vectors."""

    @property
    def by_distance(self) -> bool:
        """Whether scores are distances, so that every pair has to be scored."""

    @property
    def counts_reference(self) -> bool:
        """Whether fitting uses the reference people."""

    def fit(self, tables: FittingTables) -> Measure:
        """Fit it on two tables."""


Scores = NDArray[np.floating]

_PAIRS_AT_ONCE = 2048
_TIED = 4
"""With this many pairs for each record, and for each distinct pair, equal pairs are scored once."""
_RECORDS_AT_ONCE = 1 << 14
_LARGEST_SINGLE = 1e15
"""Products of longer vectors are computed in double precision: their squares would overflow a single."""


class ScoreSource(Protocol):
    """Scores of pairs of queries and candidates, and scorers of subsets of them."""

    @property
    def queries(self) -> int:
        """The number of query records."""

    @property
    def candidates(self) -> int:
        """The number of candidate records."""

    @property
    def record_bytes(self) -> int:
        """Bytes per record in a scorer."""

    @property
    def unit(self) -> bool:
        """Whether scores are inner products of unit vectors, which a tree can search."""

    @property
    def agreement(self) -> AgreementScorer | None:
        """Itself if scores are sums of agreement over columns, which an index on rare values can search; else None."""

    @property
    def cells(self) -> CellScorer | None:
        """Itself if released cells are compared by the values that they allow, else None."""

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """Scores of the pairs (queries[i], candidates[i])."""

    def sorted(self, queries: Rows, candidates: Rows) -> Scorer:
        """A scorer of some of the records, in another order, so that a block is a range."""


class Scorer(ScoreSource, Protocol):
    """A source that holds its records and scores rectangles of them too; see the package's docstring."""

    @property
    def unit_vectors(self) -> CosineScorer | None:
        """Itself if scores are inner products of unit vectors, else None."""

    def tile(self, queries: slice, candidates: slice) -> Scores:
        """Approximate scores of every query with every candidate of two ranges.

        They may be on a scale of their own; `lowest_near_best` knows it, and how far they may be from the formula.
        """

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """For each query, the entry of `tile` from which a pair may be one of the two best, or tie with the best.

        `top` and `second` are the query's two highest entries, -inf if there are none.
        """


@dataclass(frozen=True, eq=False)
class VectorScorer:
    """Scores of the rows of two matrices, one row per record."""

    a: Floats
    b: Floats
    unit: ClassVar[bool] = False
    agreement: ClassVar[None] = None
    cells: ClassVar[None] = None

    @property
    def queries(self) -> int:
        """The number of query records."""
        return len(self.a)

    @property
    def candidates(self) -> int:
        """The number of candidate records."""
        return len(self.b)

    @property
    def record_bytes(self) -> int:
        """Bytes of a vector."""
        return 8 * int(self.a.shape[1])

    @property
    def unit_vectors(self) -> CosineScorer | None:
        """None unless the vectors have unit length."""
        return None

    @property
    def tolerance(self) -> float:
        """The largest deviation of an entry of `tile` from the formula."""
        raise NotImplementedError

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """The entry from which a pair may be one of the two best, or tie with the best."""
        return lowest_near_best(top, second, tie, self.tolerance)

    def sorted(self, queries: Rows, candidates: Rows) -> Self:
        """A scorer of some of the records, in another order."""
        return replace(self, a=take_rows(self.a, queries), b=take_rows(self.b, candidates))

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The formula, in pieces that fit in the cache; if many pairs are equal, once for each distinct pair."""
        if len(queries) > _TIED * (len(self.a) + len(self.b)):
            (a, of_query), (b, of_candidate) = self._distinct
            if _TIED * len(a) * len(b) <= len(queries):
                scores = self._formulas(np.repeat(a, len(b)), np.tile(b, len(a))).reshape(len(a), len(b))
                return np.asarray(scores[of_query[queries], of_candidate[candidates]])
        return self._formulas(queries, candidates)

    @cached_property
    def _distinct(self) -> tuple[tuple[Rows, Rows], tuple[Rows, Rows]]:
        """For queries and candidates: one row of each distinct vector, and the number of each row's vector."""
        return _distinct(self.a), _distinct(self.b)

    def _formulas(self, queries: Rows, candidates: Rows) -> Floats:
        result = np.empty(len(queries))
        for start in range(0, len(queries), _PAIRS_AT_ONCE):
            at = slice(start, start + _PAIRS_AT_ONCE)
            result[at] = self.formula(self.a[queries[at]], self.b[candidates[at]])
        return result

    def formula(self, a: Floats, b: Floats) -> Floats:
        """The score of each row of `a` with the same row of `b`."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CosineScorer(VectorScorer):
    """Inner products of unit vectors; a zero vector stays zero."""

    unit: ClassVar[bool] = True
    one: float = 1.0 - 1e-12
    """Values above this differ from 1 only by rounding."""

    @property
    def unit_vectors(self) -> CosineScorer:
        """Itself."""
        return self

    @property
    def tolerance(self) -> float:
        """The rounding error of a sum of single-precision products of unit vectors, and of the vectors themselves."""
        return float(2.0**-24 * (self.a.shape[1] + 8))

    def tile(self, queries: slice, candidates: slice) -> Scores:
        """One matrix product in single precision."""
        return self.a[queries].astype(np.float32) @ self.b[candidates].astype(np.float32).T

    def formula(self, a: Floats, b: Floats) -> Floats:
        """The sum of products, component by component, clipped to [-1, 1].

        Values that differ from 1 only by rounding are set to 1, so that equal records are linked at every threshold.
        """
        cosine = inner(a, b)
        return np.where(cosine > self.one, 1.0, np.maximum(cosine, -1.0))


@dataclass(frozen=True, eq=False)
class DistanceScorer(VectorScorer):
    """1 / (1 + Euclidean distance).

    Vectors are taken from `centre`, which keeps rounding errors small; this is done on request, so that whole tables
    are not copied. A tile has <a, b> - |b|^2 / 2, which is (|a|^2 - d^2) / 2: for one query it rises as the distance d
    falls.
    """

    centre: Floats = field(kw_only=True)

    def tile(self, queries: slice, candidates: slice) -> Scores:
        """One matrix product, in single precision unless the numbers are too large for it."""
        return self._query_side[queries] @ self._candidate_side[candidates].T

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """The entry from which a pair may be one of the two best, or tie with the best.

        A tie is a matter of scores: from the best distance follows the largest distance that ties with it.
        """
        squares = self._squares[0][queries]
        longest = self._longest
        unit = float(np.finfo(self._precision).eps)
        error = unit * (self.a.shape[1] + 8) * (np.sqrt(squares) * longest + longest**2 / 2)
        farthest = np.sqrt(np.maximum(squares - 2 * (top - error), 0.0))
        score = 1 / (1 + farthest) - tie
        tied = np.where(score > 0, 1 / np.where(score > 0, score, 1.0) - 1, np.inf)
        lowest = (squares - tied**2) / 2 - error
        return np.asarray(np.where(np.isneginf(second), lowest, np.minimum(lowest, second - 2 * error)))

    @cached_property
    def _precision(self) -> type[np.floating]:
        longest = np.sqrt(self._squares[0].max(initial=0.0))
        return np.float32 if max(self._longest, float(longest)) < _LARGEST_SINGLE else np.float64

    @cached_property
    def _squares(self) -> tuple[Floats, Floats]:
        """|a|^2 of every query, and |b|^2 of every candidate."""
        a, b = (
            np.concatenate([np.zeros(0), *((piece * piece).sum(axis=1) for _, piece in self._pieces(side))])
            for side in (self.a, self.b)
        )
        return a, b

    @cached_property
    def _longest(self) -> float:
        """The largest |b|."""
        return float(np.sqrt(self._squares[1].max(initial=0.0)))

    @cached_property
    def _query_side(self) -> Scores:
        """(a, 1) for every query."""
        return self._with_column(self.a, np.ones(len(self.a)))

    @cached_property
    def _candidate_side(self) -> Scores:
        """(b, -|b|^2 / 2) for every candidate."""
        return self._with_column(self.b, self._squares[1] / -2)

    def _with_column(self, vectors: Floats, last: Floats) -> Scores:
        result = np.empty((len(vectors), vectors.shape[1] + 1), dtype=self._precision)
        for rows, piece in self._pieces(vectors):
            result[rows, :-1] = piece
        result[:, -1] = last
        return result

    def _pieces(self, vectors: Floats) -> Iterator[tuple[slice, Floats]]:
        """The vectors from the centre, some records at a time."""
        for start in range(0, len(vectors), _RECORDS_AT_ONCE):
            rows = slice(start, start + _RECORDS_AT_ONCE)
            yield rows, vectors[rows] - self.centre

    def formula(self, a: Floats, b: Floats) -> Floats:
        """The score from the differences themselves."""
        difference = (a - self.centre) - (b - self.centre)
        return 1 / (1 + np.sqrt(inner(difference, difference)))


@dataclass(frozen=True, eq=False)
class JaccardScorer(VectorScorer):
    """Shared ones divided by all ones; all sums are whole numbers, so both ways are exact."""

    tolerance: float = 0.0

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """One matrix product and the counts."""
        a, b = self.a[queries], self.b[candidates]
        shared = a @ b.T
        return _ratio(shared, a.sum(axis=1)[:, None] + b.sum(axis=1) - shared)

    def formula(self, a: Floats, b: Floats) -> Floats:
        """The score from the counts of one pair."""
        shared = inner(a, b)
        return _ratio(shared, a.sum(axis=1) + b.sum(axis=1) - shared)


def take_rows(vectors: Floats, rows: Rows) -> Floats:
    """Some of the rows; consecutive rows are not copied."""
    count = len(rows)
    if count and rows[-1] - rows[0] == count - 1 and bool((np.diff(rows) == 1).all()):
        return vectors[int(rows[0]) : int(rows[0]) + count]
    return vectors[rows]


def _distinct(vectors: Floats) -> tuple[Rows, Rows]:
    """One row of each distinct vector, and the number of each row's vector."""
    if not vectors.shape[1]:
        return np.zeros(min(1, len(vectors)), dtype=np.intp), np.zeros(len(vectors), dtype=np.intp)
    whole = np.ascontiguousarray(vectors).view(np.dtype((np.void, vectors.dtype.itemsize * vectors.shape[1])))
    _, first, number = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    return first, number


def inner(a: Floats, b: Floats) -> Floats:
    """Row-wise inner products, summed in the order of the components: the same bits for a row in any position."""
    total = np.zeros(len(a))
    for component in range(a.shape[1]):
        total += a[:, component] * b[:, component]
    return total


def _ratio(shared: Floats, either: Floats) -> Floats:
    return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)
