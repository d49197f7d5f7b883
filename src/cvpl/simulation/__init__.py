"""Simulated tables of people, for whom the truth is known."""

from cvpl.simulation.touchpoints import Coded, SimulatedTable, Touchpoints

__all__ = ["Coded", "SimulatedTable", "Touchpoints"]
