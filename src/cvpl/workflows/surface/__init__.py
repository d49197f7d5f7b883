"""A mechanism's strength, or an attacker's blocking, swept."""
