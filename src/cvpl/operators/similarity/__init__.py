"""Similarity of two records.

    cosine        <a, b> / (|a| |b|), in [-1, 1]; a zero vector has similarity 0 to everything
    euclidean     1 / (1 + |a - b|)
    mahalanobis   1 / (1 + d), d^2 = (a - b)^T S^+ (a - b), S the covariance of the fitted embeddings
    jaccard       |a and b| / |a or b| on unprojected 0/1 features; 0 where both are empty
    agreement     the Fellegi-Sunter weight: the sum over columns of log(m/u) where a pair agrees and of
                  log((1-m)/(1-u)) where it does not, 0 where either value is missing; no upper limit of its own
    rarity        the sum of log(1/frequency) over the columns on which a pair agrees; no upper limit of its own

`fit` returns a `Measure`, and a measure makes a `Scorer` of two sets of records (`measure`). A scorer computes the same
score in two ways: `pairs`, the formula itself, one pair at a time, with the same bits for a pair in any position; and
`tile`, a whole rectangle at once by matrix products, which is used only to find the pairs to which the formula is then
applied: `lowest_near_best` says which entries of a tile may matter.
"""

from collections.abc import Mapping
from typing import Literal

from cvpl.operators.similarity.agreement import AgreementScorer
from cvpl.operators.similarity.containment import CellScorer, generalized_columns
from cvpl.operators.similarity.measure import (
    ComparedRecords,
    CosineScorer,
    JaccardScorer,
    Measure,
    OnDemandEmbeddings,
    Scorer,
    ScoreSource,
    SimilarityOperator,
)
from cvpl.operators.similarity.vectors import (
    Cosine,
    CosineMeasure,
    DistanceMeasure,
    Euclidean,
    Jaccard,
    JaccardMeasure,
    Mahalanobis,
    fit_euclidean,
)
from cvpl.operators.similarity.weights import (
    Agreement,
    AgreementMeasure,
    AgreementSettings,
    Rarity,
    RarityMeasure,
    RaritySettings,
)

Similarity = Literal["cosine", "euclidean", "mahalanobis", "jaccard"] | Agreement | Rarity

_BY_NAME: Mapping[str, SimilarityOperator] = {
    "cosine": Cosine(),
    "euclidean": Euclidean(),
    "mahalanobis": Mahalanobis(),
    "jaccard": Jaccard(),
}


def similarity_operator(similarity: Similarity) -> SimilarityOperator:
    """The operator for the settings, given by name or as settings."""
    return _BY_NAME[similarity] if isinstance(similarity, str) else similarity


__all__ = [
    "Agreement",
    "AgreementMeasure",
    "AgreementScorer",
    "AgreementSettings",
    "CellScorer",
    "ComparedRecords",
    "CosineMeasure",
    "CosineScorer",
    "DistanceMeasure",
    "JaccardMeasure",
    "JaccardScorer",
    "Measure",
    "OnDemandEmbeddings",
    "Rarity",
    "RarityMeasure",
    "RaritySettings",
    "ScoreSource",
    "Scorer",
    "Similarity",
    "SimilarityOperator",
    "fit_euclidean",
    "generalized_columns",
    "similarity_operator",
]
