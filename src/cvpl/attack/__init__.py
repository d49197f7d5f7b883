"""The attacker and its attack: who compares what with what, as in the paper's Algorithm 1."""
