"""What a command or a Python call does: propose, audit, compare, surface, benchmark, split, protect, simulate."""
