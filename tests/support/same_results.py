"""Audits of one machine and another, compared: counts and texts exactly, figures closely.

python tests/support/same_results.py     writes the reference results anew
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

import cvpl
from cvpl.laboratory.mechanisms import GaussianCopula, Mondrian, Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.workflows.made_tables import CONFIG as DEMO

PEOPLE = 240
REFERENCES = (0, 7, 14, 23)
REFERENCE = Path(__file__).parents[1] / "fixtures" / "reference"
CLOSE = 1e-9
"""The largest relative difference of a figure between two machines: libraries may sum in another order."""


def tables(number: int) -> dict[str, pd.DataFrame]:
    """The original, the release and the control of one pair: every mechanism, with and without ids."""
    rng = np.random.default_rng(number)
    people, others = (Touchpoints(records=PEOPLE + number).draw(rng) for _ in range(2))
    mechanisms = (Perturbation("low"), Perturbation("high"), GaussianCopula(), Mondrian(5, ("age", "gender", "region")))
    made = mechanisms[number % 4].protect(people, rng)
    frames = {
        name: pd.DataFrame(table.to_columns())
        for name, table in {"original": people, "protected": made, "control": others}.items()
    }
    if number % 3 == 0:
        frames["protected"] = frames["protected"].drop(columns="person_id", errors="ignore")
    return frames


def audit(frames: dict[str, pd.DataFrame], number: int, **search: Any) -> dict[str, Any]:
    """The result of an audit, without what names the files and the resources."""
    config = yaml.safe_load(DEMO) | {"seed": number, "search": search}
    if number % 5:
        config["canaries"] = False
    control = None if number % 4 == 3 else frames["control"]
    found = json.loads(cvpl.audit(frames["original"], frames["protected"], config, control=control).to_json())
    for table in found["inputs"].values():
        table.pop("sha256")
    del found["provenance"]["config"]["search"], found["provenance"]["versions"]
    return found


@cache
def usual(number: int) -> dict[str, Any]:
    """The audit of a pair as anybody calls it."""
    return audit(tables(number), number)


def digest(found: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def differences(mine: Any, theirs: Any, place: str = "") -> list[str]:
    """Where two results differ: counts, texts and indicators at all, figures by more than `CLOSE`."""
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        return [found for key in mine for found in differences(mine[key], theirs[key], f"{place}.{key}")]
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = enumerate(zip(mine, theirs, strict=True))
        return [found for at, (one, other) in pairs for found in differences(one, other, f"{place}[{at}]")]
    if isinstance(mine, float) and isinstance(theirs, float):
        return [] if math.isclose(mine, theirs, rel_tol=CLOSE, abs_tol=CLOSE) else [place]
    return [] if type(mine) is type(theirs) and mine == theirs else [place]


def kept_figures(number: int) -> dict[str, Any]:
    """An audit without inference, whose models are those of the installed scikit-learn."""
    found = audit(tables(number), number)
    assert found.pop("inference") is not None
    return found


def write_references() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for number in REFERENCES:
        kept = {"machine": platform.machine(), "result": kept_figures(number)}
        text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
        (REFERENCE / f"{number}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_references()
