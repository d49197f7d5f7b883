"""Workflows behind commands and Python calls: propose, audit, compare, surface, benchmark, split, protect, simulate."""
