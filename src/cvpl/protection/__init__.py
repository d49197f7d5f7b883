"""Mechanisms that turn a simulated table into its release; each is a frozen value with `protect(table, rng)`."""

from cvpl.protection.copula import GaussianCopula
from cvpl.protection.perturbation import Perturbation
from cvpl.protection.rounding import Rounding

__all__ = ["GaussianCopula", "Perturbation", "Rounding"]
