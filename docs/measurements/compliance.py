# ruff: noqa: T201 - this script prints its tables
"""The numbers of the page on compliance beside attack, from two k-anonymous releases made by others.

    python docs/measurements/compliance.py DATA

DATA is a folder with the public tables `adult` and `stroke` and their releases.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cvpl
from cvpl.reports.markdown import markdown_table
from cvpl.reports.sections.compliance import compliance_section

RARITY = {"alignment": "release", "blocking": "none", "similarity": "rarity"}
ADULT = {
    "numeric": "age capital-gain capital-loss hours-per-week",
    "category": "education marital-status occupation race native-country workclass relationship sex",
    "keys": "age education marital-status occupation race native-country sex",
    "secret": "salary-class",
}
STROKE = {
    "numeric": "age",
    "category": "gender hypertension heart_disease ever_married work_type Residence_type smoking_status",
    "keys": "age gender hypertension heart_disease ever_married work_type Residence_type smoking_status",
    "secret": "stroke",
}


def configured(named: dict[str, str], **more: Any) -> dict[str, Any]:
    """A configuration with one attacker, by the names of columns."""
    columns: dict[str, dict[str, str]] = {}
    for kind in ("numeric", "category"):
        for name in named[kind].split():
            role = "quasi_identifier" if name in named["keys"].split() else "attribute"
            columns[name] = {"role": role, "type": kind}
    columns[named["secret"]] = {"role": "sensitive"}
    return {"columns": columns, "attacker": RARITY, "sensitivity": False, "canaries": False, **more}


def main(data: Path) -> None:
    """Print the table of each release."""
    reading = {"reading": {"strip": True, "missing": ["", "?"]}}
    adult = configured(ADULT, truth={"original": "row_number", "protected": "index"}, **reading)
    stroke = configured(STROKE, truth={"original": "id", "protected": "id"})
    for folder, original, released, config in (
        ("adult", "adult.csv", "adult_k10_anjana.csv", adult),
        ("stroke", "stroke.csv", "stroke_k5.csv", stroke),
    ):
        result = cvpl.audit(data / folder / original, data / folder / released, config)
        print(f"\n{released}, attacker `rarity`\n")
        for table in compliance_section(result).tables:
            print(markdown_table(table), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
