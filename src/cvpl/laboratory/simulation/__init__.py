"""Simulated tables of people with known true matches."""

from cvpl.laboratory.simulation.touchpoints import Touchpoints

__all__ = ["Touchpoints"]
