"""Simulated people and the mechanisms that protect a table; both work on the same frame."""
