"""Exact search in a tree of candidates, with a compiled kernel."""
