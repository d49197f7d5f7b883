"""Candidates by compatibility: which generalized keys allow which values."""
