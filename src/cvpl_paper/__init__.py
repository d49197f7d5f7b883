"""A reproduction of the paper's experiments: its grid, ablations, tables and findings."""
