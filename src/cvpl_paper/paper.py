"""The paper's own figures, as printed in its section 8 and appendices B and C."""

from __future__ import annotations

from collections.abc import Mapping

Row = Mapping[str, float | None]

RISK_BY_K: Mapping[str, Row] = {
    "k 2 to 7": {"linkage rate": 0.032, "true link rate": 0.0},
    "k 10 to 50": {"linkage rate": 0.149, "true link rate": 0.148},
}

_SUMMARY = ("linkage rate", "FS linkage rate", "precision at 1", "FS precision at 1", "utility", "DCR", "NNDR")
SUMMARY: Mapping[str, Row] = {
    name: dict(zip(_SUMMARY, figures, strict=True))
    for name, figures in {
        "k-anonymity 5": (0.032, 0.171, 0.000, 0.000, 0.963, 1.160, 0.950),
        "k-anonymity 10": (0.149, 1.000, 0.796, 0.368, 0.964, 1.000, 1.000),
        "k-anonymity 20": (0.149, 1.000, 0.796, 0.368, 0.964, 1.000, 1.000),
        "perturbation low": (0.803, 0.998, 0.947, 0.464, 0.983, 0.155, 0.650),
        "perturbation medium": (0.590, 0.997, 0.861, 0.271, 0.960, 0.185, 0.688),
        "perturbation high": (0.364, 0.997, 0.675, 0.142, 0.923, 0.208, 0.702),
        "synthetic 0.95": (0.185, 0.985, 0.005, 0.000, 0.792, 0.187, 0.692),
        "synthetic 0.9": (0.185, 0.985, 0.005, 0.000, 0.791, 0.187, 0.692),
        "synthetic 0.85": (0.184, 0.985, 0.005, 0.000, 0.791, 0.187, 0.692),
        "synthetic 0.8": (0.184, 0.985, 0.005, 0.000, 0.793, 0.187, 0.691),
        "synthetic 0.75": (0.185, 0.985, 0.005, 0.000, 0.795, 0.187, 0.692),
        "synthetic 0.7": (0.184, 0.984, 0.005, 0.000, 0.792, 0.187, 0.692),
        "synthetic 0.6": (0.185, 0.983, 0.005, 0.000, 0.795, 0.187, 0.692),
    }.items()
}
SUMMARY_AVERAGE: Row = dict(zip(_SUMMARY, (0.260, 0.927, 0.316, 0.124, 0.870, 0.386, 0.756), strict=True))

CONTRIBUTION: Mapping[str, float] = {
    "region": 0.235,
    "purchase_time": 0.201,
    "ad_channel": 0.151,
    "purchase_place": 0.089,
    "days_after_ad": 0.089,
    "age": 0.087,
    "brand_product": 0.074,
    "gender": 0.073,
}
"""Structural contribution by column; hour and day of the week are the paper's temporal patterns."""

LADDER: tuple[float | None, ...] = (0.48, 0.65, 0.70, None, None)
"""Linkage rate with the whole region, its first level, and without the region; further rungs are ours."""

OUTLIERS: Mapping[float, Row] = {
    0.0: {"standard deviation": 0.08, "95th percentile": 0.27, "above 0.5": 0.0, "above 0.7": 0.0},
    0.01: {"standard deviation": 0.08, "95th percentile": 0.28, "above 0.5": 0.002, "above 0.7": 0.001},
    0.05: {"standard deviation": 0.12, "95th percentile": 0.31, "above 0.5": 0.016, "above 0.7": 0.009},
}

BLOCKS: Row = {"blocks": 94, "smallest": 91, "largest": 1594, "median": 1266, "mean": 955, "with 80% of the work": 49}

ABLATIONS: Mapping[str, Mapping[str, Row]] = {
    "blocking": {
        "default": {"linkage rate": 0.42, "times the pairs": 1.0},
        "none": {"linkage rate": 0.61, "times the pairs": 10.0},
        "weak": {"linkage rate": 0.55, "times the pairs": 3.0},
        "strong": {"linkage rate": 0.28, "times the pairs": 0.3},
        "ensemble": {"linkage rate": 0.45, "times the pairs": 3.0},
    },
    "projection": {
        "default": {"linkage rate": 0.42, "precision at 1": 0.78},
        "none": {"linkage rate": 0.55, "precision at 1": 0.65},
        "robust PCA": {"linkage rate": 0.40, "precision at 1": 0.79},
        "UMAP": {"linkage rate": 0.43, "precision at 1": 0.76},
        "random": {"linkage rate": 0.48, "precision at 1": 0.69},
    },
    "similarity": {
        "default": {"linkage rate": 0.42, "precision at 1": 0.78},
        "euclidean": {"linkage rate": 0.47, "precision at 1": 0.72},
        "mahalanobis": {"linkage rate": 0.40, "precision at 1": 0.80},
        "jaccard": {"linkage rate": 0.34, "precision at 1": 0.62},
    },
    "PCA fitting": {
        "default": {"linkage rate": 0.42, "precision at 1": 0.78},
        "original": {"linkage rate": 0.38, "precision at 1": 0.81},
        "protected": {"linkage rate": 0.35, "precision at 1": 0.75},
    },
}
"""Appendix B; its compute factors are times, ours pairs. It has no table of vectorizations."""

SAME_SOURCE = 0.812
"""The share of synthetic records whose closest original is "the same source", against a baseline of one half."""
UTILITY_RISK = {"Pearson": 0.43, "Spearman": -0.02}
SURFACE_PEAK = 0.36
SURFACE_FLOOR = 0.05
