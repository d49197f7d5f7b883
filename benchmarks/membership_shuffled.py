"""How often `membership_peers.py` would call the family weaker than a peer where nobody is stronger than anybody.

    python benchmarks/membership_shuffled.py FOLDER [SHUFFLES]

Takes the scores that `membership_peers.py` left in FOLDER for three releases, and shuffles members and control people,
the same way for all attacks: then the power of each attack is the false rate, but for chance. Counts the comparisons
whose 95% interval is all below 0, which an interval that holds what it says is in 2.5% of them, and the shuffles in
which that happens to at least one peer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import paired_power
from cvpl.randomness import stream
from membership_peers import PEERS, SEED, WAYS, figures, reached, scores_of
from paired_power import Scores

RELEASES = ("ctgan", "tvae", "gaussian_copula")
REPLICATES = 200
"""Enough for the end of an interval, and a fifth of the time."""


def shuffled(attacks: dict[str, Scores], order: np.ndarray) -> dict[str, Scores]:
    """The scores with people in another order, the first ones being members."""
    mixed = {name: (np.concatenate(both)[order], len(both[0])) for name, both in attacks.items()}
    return {name: (scores[:members], scores[members:]) for name, (scores, members) in mixed.items()}


def main(folder: Path, shuffles: int) -> None:
    """Print a row for each way of making the interval."""
    paired_power.REPLICATES = REPLICATES
    below, weaker = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
    for release in RELEASES:
        place = folder / f"seed_{SEED}" / release
        peers = scores_of(place / "by_classifier.npz") | scores_of(place / "by_distance_and_density.npz")
        family = scores_of(place / "by_family.npz")
        rng = stream(SEED, f"shuffled {release}")
        for _ in range(shuffles):
            order = rng.permutation(sum(map(len, peers["DCR"])))
            item = figures(shuffled(peers, order), shuffled(family, order))
            for way in WAYS:
                below[way] += sum(cell[way][1] < 0 for cell in item["differences"].values())
                weaker[way] += not reached(item, way)
    count = shuffles * len(RELEASES)
    print("| interval | comparisons all below 0 | shuffles with one |\n|---|---|---|")
    for way in WAYS:
        print(f"| {way} | {below[way]} of {count * len(PEERS)} | {weaker[way]} of {count} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
