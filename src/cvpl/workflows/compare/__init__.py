"""The comparison workflow: several releases of one original."""
