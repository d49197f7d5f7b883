# ruff: noqa: T201 - this script prints its table
"""Attackers on k-anonymous releases by local recoding: agreement by containment beside the others.

    python docs/measurements/containment.py FOLDER

Prints the table of docs/concepts/attackers.md. FOLDER holds adult/ and german/. Half of the people of each table are
released by Mondrian over the quasi-identifiers, the other half are the control, at most 16,000 each. Up to 4,000 people
are searched in the whole release.

The baseline is Fellegi-Sunter with EM (`cvpl_paper.baselines`), in the blocks of `paper`, in those of `aligned`
and without blocks, and the same with its start values instead of EM; the best of the six is shown. "Brute force" is the
score by containment, written here once more from its formula, over every pair. The ratio is the family's largest top-1
over the larger of these two.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from validity import ADULT

import cvpl
from cvpl.attack.attack import attack
from cvpl.evaluation.truth import evaluate_truth
from cvpl.operators.similarity.expectation_maximization import MOST_STEPS
from cvpl.workflows.protect import Protector
from cvpl.workflows.reading import read_plan
from cvpl_paper.baselines.fellegi_sunter import Estimation, figures, fit_fellegi_sunter, link

PEOPLE, ASKED = 16_000, 4_000
STRENGTHS = (5, 10, 20)
HEAD = ("release", "best of the others, top-1", "power at 5%", "`contained`, top-1", "power at 5%")
HEAD = (
    *HEAD,
    "`contained_margin`, power at 5%",
    "`combined`, power at 5%",
    "baseline, top-1",
    "brute force, top-1",
    "ratio",
)
BLOCKED = ("paper", "aligned", "unblocked")
M = 0.99
AT_ONCE = 250
NUMBERS = ("month", "credit_amount", "investment_as_income_percentage", "residence_since", "age", "number_of_credits")
KNOWN = ("age", "personal_status", "employment", "housing", "skill_level", "foreign_worker", "people_liable_for")


def main() -> None:
    """Print a row for each release."""
    folder = Path(sys.argv[1])
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    adult = pd.read_csv(folder / "adult/adult.csv", skipinitialspace=True, na_values="?")
    german = pd.read_csv(folder / "german/german.csv")
    roles = {
        name: {
            "role": "quasi_identifier" if name in KNOWN else "attribute",
            "type": "numeric" if name in NUMBERS else "category",
        }
        for name in german.columns
        if name != "credit"
    }
    columns = {name: entry for name, entry in ADULT.items() if entry["role"] != "ignore"}
    for title, table, used in (("Adult", adult, columns), ("German", german, roles)):
        for k in STRENGTHS:
            row(title, table[list(used)], used, k)


def row(title: str, table: pd.DataFrame, columns: dict[str, Any], k: int) -> None:
    """Release half of a table, attack it, and print the figures."""
    order = np.random.default_rng(1).permutation(len(table))
    size = min(PEOPLE, len(table) // 2)
    people, others = (table.iloc[rows].reset_index(drop=True) for rows in (order[:size], order[size : 2 * size]))
    config = {
        "columns": {"person": {"role": "id"}, **columns},
        "truth": {"original": "person", "protected": "person"},
        "attacker": "default",
        "report": {"suppress_below": 1},
        "canaries": False,
        "sensitivity": False,
        "seed": 42,
    }
    with tempfile.TemporaryDirectory() as place:
        files = {name: Path(place) / f"{name}.csv" for name in ("original", "released", "control")}
        people.assign(person=range(size)).to_csv(files["original"], index=False)
        others.assign(person=range(size, 2 * size)).to_csv(files["control"], index=False)
        protector, _ = Protector.read(files["original"], config)
        protector.release("mondrian", k, 42).frame.write(files["released"])
        result = cvpl.audit(files["original"], files["released"], config, control=files["control"], quick=True)
        found = {item.name: item for item in result.attackers}
        rest = [item for name, item in found.items() if not name.startswith(("contained", "combined"))]
        figures_of = [
            max(item.top1_hit_rate or 0.0 for item in rest),
            max(power(item) for item in rest),
            found["contained"].top1_hit_rate,
            power(found["contained"]),
            power(found["contained_margin"]),
            power(found["combined"]),
            baseline(files, config),
            brute_force(files, columns),
        ]
        family = max(item.top1_hit_rate or 0.0 for item in found.values())
        figures_of.append(family / max(figures_of[-2:]))
    print(f"| {title}, k = {k} | {' | '.join(f'{value:.3f}' for value in figures_of)} |", flush=True)


def baseline(files: dict[str, Path], config: dict[str, Any]) -> float:
    """The largest top-1 of Fellegi-Sunter, with EM and without, over three ways of blocking."""
    resolved, inputs = read_plan(files["original"], files["released"], config, files["control"], None, quick=True)
    assert inputs.evaluation.matches is not None  # noqa: S101 - people are numbered
    found = []
    for name in BLOCKED:
        asked = resolved.max_queries(resolved.attackers[name], inputs.pair.protected.rows)
        done = attack(inputs.pair, resolved.attackers[name], seed=resolved.config.seed, most=asked)
        truth = evaluate_truth(done, inputs.evaluation.matches)
        for steps in (MOST_STEPS, 0):
            model = fit_fellegi_sunter(done, estimation=Estimation(most_steps=steps))
            found.append(figures(done, link(done, model), truth).top1_hit_rate or 0.0)
    return max(found)


def brute_force(files: dict[str, Path], columns: dict[str, Any]) -> float:
    """The top-1 of the score by containment: every pair, with the cells read as text."""
    people, released = (pd.read_csv(files[name], dtype=str, keep_default_na=False) for name in ("original", "released"))
    asked = people if len(people) <= ASKED else people.sample(ASKED, random_state=1)
    columns_of = [_weights(people[name], asked[name], released[name], entry["type"]) for name, entry in columns.items()]
    hits = 0.0
    for start in range(0, len(asked), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        scores = sum(weights[theirs][:, own[part]].T for weights, own, theirs in columns_of)
        true = asked["person"].to_numpy()[part, None] == released["person"].to_numpy()[None, :]
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-6
        hits += float(((best & true).sum(axis=1) / best.sum(axis=1)).sum())
    return hits / len(asked)


def _weights(people: pd.Series, asked: pd.Series, released: pd.Series, kind: str) -> tuple[Any, Any, Any]:
    """The weight of each distinct released cell with each distinct value, and the places of all values and cells."""
    values, own = np.unique(asked, return_inverse=True)
    cells, theirs = np.unique(released, return_inverse=True)
    known = people[people != ""]
    distinct, counts = np.unique(known, return_counts=True)
    allowed = np.array([[_allows(cell, value, kind) for value in values] for cell in cells])
    allows = np.array([[_allows(cell, value, kind) for value in distinct] for cell in cells])
    shares = (allows @ counts + 1) / (len(known) + 1)
    weights = np.where(allowed, np.log(M / shares)[:, None], np.log(1 - M))
    weights[cells == "", :] = weights[:, values == ""] = 0.0
    return weights, own, theirs


def _allows(cell: str, value: str, kind: str) -> bool:
    """Whether a released cell, a set, a range or a plain value, allows an original value."""
    if cell == value:
        return True
    if cell.startswith("{"):
        return value in cell.strip("{}").split(", ")
    ends = cell.split("-")
    if kind != "numeric" or value == "":
        return False
    return float(ends[0]) <= float(value) <= float(ends[-1])


def power(item: Any) -> float:
    """The power of an attacker at 5%."""
    return next(found.power for found in item.power if found.false_rate == 0.05)


if __name__ == "__main__":
    main()
