# ruff: noqa: T201 - this script prints its table
"""Equal and compatible keys on a real release with known truth: the table in docs/concepts/blocking.md.

    python docs/measurements/compatible.py FOLDER

FOLDER holds adult.csv, adult_k10_anjana.csv and the folder hierarchies: 32,561 people, of whom 18,327 are in a release
with k = 10, by local suppression of rows and generalization of six columns.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cvpl

GROUPED = ("education", "marital-status", "occupation", "native-country")
PLAIN = ("race", "sex")
ATTRIBUTES = {
    "workclass": "category",
    "education-num": "numeric",
    "relationship": "category",
    "capital-gain": "numeric",
    "capital-loss": "numeric",
    "hours-per-week": "numeric",
}


def columns(folder: Path) -> dict[str, dict[str, str]]:
    """Six generalized columns and sex as keys; the rest is compared."""
    keys = {"age": {"role": "quasi_identifier", "type": "numeric", "block": "exact"}}
    for name in (*GROUPED, *PLAIN):
        keys[name] = {"role": "quasi_identifier", "type": "category", "block": "exact"}
        if name in GROUPED:
            keys[name]["hierarchy"] = str(folder / "hierarchies" / f"adult_hierarchy_{name}.csv")
    others = {name: {"role": "attribute", "type": kind} for name, kind in ATTRIBUTES.items()}
    return keys | others | {"fnlwgt": {"role": "ignore"}, "salary-class": {"role": "sensitive"}}


def main() -> None:
    """Print the table."""
    folder = Path(sys.argv[1])
    print("| keys | blocking recall | candidates | linkage rate | top-1 |")
    print("|---|---|---|---|---|")
    for match in ("columns", "compatible"):
        config = {
            "columns": columns(folder),
            "reading": {"strip": True, "missing": ["", "?"]},
            "truth": {"original": "row_number", "protected": "index"},
            "attacker": {"blocking": match},
        }
        found = cvpl.audit(folder / "adult.csv", folder / "adult_k10_anjana.csv", config)
        assert found.truth is not None  # noqa: S101 - the index column is there
        kind = "equal" if match == "columns" else "compatible"
        truth = found.truth
        print(
            f"| {kind} | {truth.blocking_recall:.3f} | {found.blocks.mean_candidates:.1f} | "
            f"{found.linkage_rate.estimate:.3f} | {truth.top1_hit_rate:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
