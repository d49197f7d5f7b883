"""Candidates with compatible keys: generalized keys that allow a common value."""
