"""The best candidates by containment: a tree of released records, and its search."""
