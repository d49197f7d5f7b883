# ruff: noqa: T201 - this script prints its table
"""Gower's measure by brute force on tables of numbers and categories, for docs/concepts/attackers.md.

    python docs/measurements/gower.py FOLDER

The releases of docs/measurements/combined.py that keep people's rows, with at most 1,500 people and 3,000 controls,
half of them reference people. The measure is the mean over the columns of 1 - |a - b| / range for numbers and times,
and of 1 or 0 for labels; a missing value is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from combined import nist, simulated, stroke, study

from cvpl.evaluation.control import power_at

PEOPLE, CONTROLS, AT_ONCE = 1_500, 3_000, 100


def main() -> None:
    """Print power at 5% with and without reference people for each release."""
    folder = Path(sys.argv[1])
    worlds = {
        "Adult study, flip10": study(folder / "adult_study_2021", "flip10"),
        "stroke, noise": stroke(folder / "stroke"),
        "NIST, PRAM": nist(folder / "nist_ma"),
        "simulated, medium noise": simulated("medium"),
        "simulated, high noise": simulated("high"),
    }
    print("| release | Gower | Gower, reference |\n|---|---|---|")
    for title, (original, released, control, config) in worlds.items():
        asked, others = (
            table.sample(min(most, len(table)), random_state=1)
            for table, most in ((original, PEOPLE), (control, CONTROLS))
        )
        half = len(others) // 2
        tables = _coded([asked, others.iloc[half:], released, others.iloc[:half]], config["columns"])
        mine, base, there, reference = tables
        best, best_of_control = _best(mine, there), _best(base, there)
        ahead = best - _best(mine, reference), best_of_control - _best(base, reference)
        print(f"| {title} | {power_at(best, best_of_control, 0.05):.3f} | {power_at(*ahead, 0.05):.3f} |", flush=True)


def _coded(tables: list[pd.DataFrame], columns: dict[str, Any]) -> list[tuple[Any, Any]]:
    """For each table the numbers, over their range, and the labels as codes; missing values are NaN and -1."""
    numbers: list[list[Any]] = [[] for _ in tables]
    labels: list[list[Any]] = [[] for _ in tables]
    for name, entry in columns.items():
        if entry["role"] not in ("quasi_identifier", "attribute"):
            continue
        values = [table[name] for table in tables]
        if entry["type"] == "category":
            codes = pd.factorize(pd.concat(values).astype("string"))[0]
            parts = np.split(codes, np.cumsum([len(part) for part in values])[:-1])
            for place, part in zip(labels, parts, strict=True):
                place.append(part)
            continue
        if entry["type"] == "datetime":
            values = [pd.to_datetime(part).astype("int64") for part in values]
        read = [pd.to_numeric(part, errors="coerce").to_numpy(dtype=float) for part in values]
        width = np.nanmax(np.concatenate(read)) - np.nanmin(np.concatenate(read))
        for place, part in zip(numbers, read, strict=True):
            place.append(part / width)
    return [(np.array(own), np.array(codes)) for own, codes in zip(numbers, labels, strict=True)]


def _best(queries: tuple[Any, Any], candidates: tuple[Any, Any]) -> Any:
    """The largest measure of each query."""
    found = []
    for start in range(0, queries[1].shape[1], AT_ONCE):
        total, known = 0.0, 0.0
        for mine, there in zip(queries[0], candidates[0], strict=True):
            near = 1 - np.abs(mine[start : start + AT_ONCE, None] - there)
            total, known = total + np.nan_to_num(near), known + ~np.isnan(near)
        for mine, there in zip(queries[1], candidates[1], strict=True):
            asked = mine[start : start + AT_ONCE, None]
            both = (asked >= 0) & (there >= 0)
            total, known = total + (both & (asked == there)), known + both
        found.append((total / np.maximum(known, 1)).max(axis=1))
    return np.concatenate(found)


if __name__ == "__main__":
    main()
