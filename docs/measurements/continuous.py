# ruff: noqa: T201 - this script prints its tables
"""Every member of the family beside single distances, on tables of continuous numbers, for docs/concepts/attackers.md.

    python docs/measurements/continuous.py [DRAWS]

Breast cancer, wine and diabetes as scikit-learn carries them. Half of the people of each table are released, with
normal noise of 0.1, 0.3 or 1 standard deviation on every number; the other half are the control. Means over DRAWS (8)
random halves and noises. The single distances are computed here by brute force, over columns scaled to a standard
deviation of 1 (Euclidean, Manhattan) or a range of 1 (Gower), each also minus the best among reference people, half of
the control.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

import cvpl
from cvpl.evaluation.control import power_at

TABLES = {"breast cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}
NOISE = (0.1, 0.3, 1.0)
DRAWS = 8


def main() -> None:
    """Print a table for each release, the strongest first, and the family beside the best single distance."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    lines = []
    for title, load in TABLES.items():
        people = load(as_frame=True).data.astype(float)
        for noise in NOISE:
            found = [released(people, noise, draw) for draw in range(draws)]
            members, singles = (_mean([one[at] for one in found]) for at in (0, 1))
            print(f"\n{title}, noise of {noise:g} sd: power at 5%, its standard error, top-1")
            for name, figures in sorted({**members, **singles}.items(), key=lambda pair: -pair[1][0]):
                print(f"  {name:32} {figures[0]:.3f} {figures[1]:.3f} {figures[2]:.3f}")
            lines.append((title, noise, *_best(found, members, singles)))
    head = (
        "table",
        "noise, sd",
        "strongest member",
        "power at 5%",
        "best single distance",
        "power at 5%",
        "difference",
    )
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(str(cell) for cell in line)} |")


def released(people: pd.DataFrame, noise: float, draw: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """One draw: (power at 5%, top-1) of each member of the family, and of each single distance."""
    rng = np.random.default_rng([draw, round(10 * noise)])
    order, half = rng.permutation(len(people)), len(people) // 2
    original, control = (people.iloc[rows].reset_index(drop=True) for rows in (order[:half], order[half : 2 * half]))
    release = original + noise * original.std(ddof=0).to_numpy() * rng.normal(size=original.shape)
    config = {
        "columns": {"person": {"role": "id"}}
        | {name: {"role": "quasi_identifier", "type": "numeric"} for name in people.columns},
        "truth": {"original": "person", "protected": "person"},
        "attacker": "default",
        "report": {"suppress_below": 1},
        "canaries": False,
        "sensitivity": False,
        "seed": draw,
    }
    numbers = range(half)
    result = cvpl.audit(
        original.assign(person=numbers),
        release.assign(person=numbers),
        config,
        control=control.assign(person=[half + number for number in numbers]),
    )
    members = {
        item.name: (next(found.power for found in item.power if found.false_rate == 0.05), item.top1_hit_rate)
        for item in result.attackers
    }
    return members, dict(_single_distances(original, release, control, rng))


def _single_distances(
    original: pd.DataFrame, release: pd.DataFrame, control: pd.DataFrame, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[float, float]]]:
    both = np.vstack([original, release])
    order = rng.permutation(len(control))
    half = len(order) // 2
    for name, metric, scale in (
        ("Euclidean", "euclidean", both.std(axis=0)),
        ("Manhattan", "cityblock", both.std(axis=0)),
        ("Gower", "cityblock", np.ptp(both, axis=0)),
    ):
        mine, there, others = (table.to_numpy() / scale for table in (original, release, control))
        own, base, asked = cdist(mine, there, metric), cdist(others, there, metric), others[order[half:]]
        top1 = float(np.mean(own.argmin(axis=1) == np.arange(len(own))))
        yield name, (power_at(-own.min(axis=1), -base.min(axis=1), 0.05), top1)
        far = [cdist(side, others[order[:half]], metric).min(axis=1) for side in (mine, asked)]
        scores = far[0] - own.min(axis=1), far[1] - base[order[half:]].min(axis=1)
        yield f"{name}, reference", (power_at(*scores, 0.05), top1)


def _mean(draws: list[dict[str, Any]]) -> dict[str, tuple[float, float, float]]:
    """For each attacker the mean power, its standard error over the draws, and the mean top-1."""
    result = {}
    for name in draws[0]:
        figures = np.array([draw[name] for draw in draws], dtype=float)
        result[name] = (figures[:, 0].mean(), _error(figures[:, 0]), figures[:, 1].mean())
    return result


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _best(found: list[Any], members: dict[str, Any], singles: dict[str, Any]) -> tuple[str, str, str, str, str]:
    """The strongest of both sides by mean power, and the mean difference over the draws with its standard error."""
    mine, other = (max(side, key=lambda name: side[name][0]) for side in (members, singles))
    gaps = np.array([one[0][mine][0] - one[1][other][0] for one in found])
    gap = f"{gaps.mean():+.3f} ± {_error(gaps):.3f}"
    return f"`{mine}`", f"{members[mine][0]:.3f}", other, f"{singles[other][0]:.3f}", gap


if __name__ == "__main__":
    main()
