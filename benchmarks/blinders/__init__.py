"""Releases that hide people from attackers, with what an attacker who knows the mechanism would find."""
