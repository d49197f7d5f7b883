"""Simulated tables of people, for whom the truth is known."""

from cvpl.simulation.touchpoints import Touchpoints

__all__ = ["Touchpoints"]
