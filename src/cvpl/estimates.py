"""What all estimates share: the part of a share that is beyond chance, and the rate at which scores are read."""

from __future__ import annotations

FALSE_RATE = 0.05
"""The false-positive rate at which power, and any score without its own threshold, is read."""


def beyond_chance(share: float, chance: float) -> float:
    """(share - chance) / (1 - chance): the part of a share that chance does not explain, for a chance below 1."""
    return (share - chance) / (1 - chance)
