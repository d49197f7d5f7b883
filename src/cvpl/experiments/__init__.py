"""The paper's experiments, run anew: its grid, its ablations, its tables and findings."""
