"""The attacker and its attack, as in the paper's Algorithm 1."""
