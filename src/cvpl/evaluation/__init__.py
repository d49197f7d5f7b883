"""Figures computed from an attack. Nothing before this step reads the true matches."""
