"""Keys by which whole rows are compared, and the order in which records are kept."""
