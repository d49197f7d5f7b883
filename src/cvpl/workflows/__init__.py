"""What a command or a Python call does: audit, compare, surface, benchmark, split, protect."""
