"""Formal criteria of a release: k-anonymity, l-diversity, t-closeness, δ-presence, and risks by class size."""
