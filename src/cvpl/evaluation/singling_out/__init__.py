"""Singling out: who is unique, by which columns, and whom an attacker can describe from the release alone."""
