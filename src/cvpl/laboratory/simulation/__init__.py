"""Simulated tables of people, for whom the truth is known."""

from cvpl.laboratory.simulation.touchpoints import Touchpoints

__all__ = ["Touchpoints"]
