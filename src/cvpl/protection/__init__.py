"""Mechanisms that turn a table into its release; each is a frozen value with `protect(frame, rng)`."""

from cvpl.protection.copula import GaussianCopula
from cvpl.protection.full_domain import KAnonymity
from cvpl.protection.mondrian import Mondrian
from cvpl.protection.perturbation import Perturbation
from cvpl.protection.rounding import Rounding

__all__ = ["GaussianCopula", "KAnonymity", "Mondrian", "Perturbation", "Rounding"]
