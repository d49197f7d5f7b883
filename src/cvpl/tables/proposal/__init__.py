"""A first configuration, guessed from two tables, with reasons."""
