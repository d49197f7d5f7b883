"""Simulated people and protection mechanisms; both use the same frame."""
