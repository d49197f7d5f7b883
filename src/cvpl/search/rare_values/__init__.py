"""Exact search by agreement, from an index on rare values."""
