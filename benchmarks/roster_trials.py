"""Trials of a mechanism whose epsilon is known, from the table to the bound.

    python benchmarks/roster_trials.py [TRIALS]

A public roster of 1,000 distinct people: each is published with probability e^ε / (1 + e^ε) if in, and with
1 / (1 + e^ε) if out. It is (ε, 0)-private for each person, and no bound can be larger. Each trial has 8 rounds, one
attacker, no canaries. The 95% bound may exceed ε in one trial of twenty; from ε = 2 on it should be near it.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import cvpl

PEOPLE, ROUNDS = 1000, 8
EPSILONS = (0.5, 1.0, 2.0, 4.0)
CONFIG = {
    "columns": {
        "number": {"role": "attribute", "type": "numeric"},
        "place": {"role": "attribute", "type": "numeric"},
    },
    "attackers": {"main": {"preset": "paper"}},
    "canaries": False,
}


def roster() -> pd.DataFrame:
    """Distinct people, far from each other."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({"number": rng.permutation(PEOPLE), "place": rng.permutation(PEOPLE)})


def bound(table: Path, epsilon: float, seed: int) -> float:
    """The lower bound on epsilon of one trial."""
    everybody = roster()

    def publish(path: Path, rng: np.random.Generator) -> pd.DataFrame:
        inside = everybody.number.isin(pd.read_csv(path).number)
        likely = math.exp(epsilon) / (1 + math.exp(epsilon))
        return everybody[rng.random(PEOPLE) < np.where(inside, likely, 1 - likely)]

    found = cvpl.trial(table, publish, CONFIG, rounds=ROUNDS, bound=True, seed=seed)
    return found.budget.lower_bound


def main() -> None:
    """Print for each epsilon how many bounds exceed it, and their median."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "roster.csv"
        roster().to_csv(table, index=False)
        print("| epsilon | trials | bounds above it | median bound |\n|---|---|---|---|")
        for epsilon in EPSILONS:
            bounds = [bound(table, epsilon, seed) for seed in range(trials)]
            above = sum(found > epsilon for found in bounds)
            print(f"| {epsilon:g} | {trials} | {above} | {statistics.median(bounds):.2f} |", flush=True)


if __name__ == "__main__":
    main()
