"""Utility: how much of the original's structure a release keeps (paper, table utility-metrics).

    correlation_preservation    are the correlations between columns preserved?
    marginal_similarity         is the distribution of each column preserved?
    downstream_accuracy_ratio   does a model trained on the release still predict the originals?
    distance_preservation       are people who were similar still similar?

Each is in [0, 1], or None if it is undefined; none of them alone is the utility of a release, and neither is their
mean.
"""

from cvpl.utility.combined import Utility, utility
from cvpl.utility.downstream import DownstreamAccuracy, TargetAccuracy, downstream_accuracy
from cvpl.utility.marginal import MarginalSimilarity, jensen_shannon, marginal_similarity
from cvpl.utility.structure import (
    CorrelationPreservation,
    DistancePreservation,
    correlation_preservation,
    distance_preservation,
)

__all__ = [
    "CorrelationPreservation",
    "DistancePreservation",
    "DownstreamAccuracy",
    "MarginalSimilarity",
    "TargetAccuracy",
    "Utility",
    "correlation_preservation",
    "distance_preservation",
    "downstream_accuracy",
    "jensen_shannon",
    "marginal_similarity",
    "utility",
]
