"""Utility: how much of the original's structure a release keeps (paper, table utility-metrics).

    correlation_preservation    do the columns still hang together as they did?
    marginal_similarity         does each column still have its distribution?
    downstream_accuracy_ratio   does a model learned from the release still predict the originals?
    distance_preservation       are people who were alike still alike?

Each lies in [0, 1], or is None where it is undefined; none of them alone is the utility of a release, and neither is
their mean.
"""

from cvpl.utility.combined import Utility, utility
from cvpl.utility.correlation import CorrelationPreservation, correlation_preservation
from cvpl.utility.distance import DistancePreservation, distance_preservation
from cvpl.utility.downstream import DownstreamAccuracy, TargetAccuracy, downstream_accuracy
from cvpl.utility.marginal import MarginalSimilarity, jensen_shannon, marginal_similarity

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
