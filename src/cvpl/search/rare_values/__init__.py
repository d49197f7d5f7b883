"""Exact search for agreement scores, with an index on rare values."""
