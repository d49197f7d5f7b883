"""Result sections from measurements and diagnostics. Nothing is computed here."""
