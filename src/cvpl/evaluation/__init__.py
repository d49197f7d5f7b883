"""Figures from what an attack found. Truth is read here, and nowhere before."""
