"""The assessment of one release: checks before the attack, attackers, diagnostics, gate and verdict."""
