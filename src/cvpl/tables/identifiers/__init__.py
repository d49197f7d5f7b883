"""Direct identifiers in a release: names, addresses, numbers, notes, unchanged unique values."""
