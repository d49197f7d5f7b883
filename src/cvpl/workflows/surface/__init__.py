"""The surface workflow: a sweep over a mechanism's strength or an attacker's blocking."""
