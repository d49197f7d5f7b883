# ruff: noqa: T201 - this script prints its table
"""Attackers on k-anonymous releases by local recoding: agreement by containment beside the others.

    python docs/measurements/containment.py FOLDER

Prints the table of docs/concepts/attackers.md. FOLDER holds adult/ and german/. Half of the people of each table are
released by Mondrian over the quasi-identifiers, the other half are the control, at most 16,000 each. Up to 4,000 people
are searched in the whole release.
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
from cvpl.workflows.protect import Protector

PEOPLE = 16_000
STRENGTHS = (5, 10, 20)
HEAD = ("release", "best of the others, top-1", "power at 5%", "`contained`, top-1", "power at 5%")
HEAD = (*HEAD, "`contained_margin`, power at 5%")
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
        rest = [item for name, item in found.items() if not name.startswith("contained")]
        figures_of = [
            max(item.top1_hit_rate or 0.0 for item in rest),
            max(power(item) for item in rest),
            found["contained"].top1_hit_rate,
            power(found["contained"]),
            power(found["contained_margin"]),
        ]
    print(f"| {title}, k = {k} | {' | '.join(f'{value:.3f}' for value in figures_of)} |", flush=True)


def power(item: Any) -> float:
    """The power of an attacker at 5%."""
    return next(found.power for found in item.power if found.false_rate == 0.05)


if __name__ == "__main__":
    main()
