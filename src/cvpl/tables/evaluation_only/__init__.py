"""What evaluation may read and no attacker can: true matches, units, sensitive columns, ids."""
