"""From measurements and diagnostics to the sections of a result. Nothing is computed here."""
