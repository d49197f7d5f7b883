"""Mechanisms that turn a table into its release; each is an immutable value with `protect(frame, rng)`."""

from cvpl.laboratory.mechanisms.copula import GaussianCopula
from cvpl.laboratory.mechanisms.full_domain import KAnonymity
from cvpl.laboratory.mechanisms.mondrian import Mondrian
from cvpl.laboratory.mechanisms.perturbation import Perturbation
from cvpl.laboratory.mechanisms.rounding import Rounding

__all__ = ["GaussianCopula", "KAnonymity", "Mondrian", "Perturbation", "Rounding"]
