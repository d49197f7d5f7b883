"""Releases in which there is nothing left, and releases that are healthy: what the family of attackers says of each.

    python benchmarks/destroyed_and_healthy.py OUT [COUNT]

COUNT (200) destroyed releases of simulated people: noise in the place of every value, constants, and columns drawn
independently from originals and control pooled. None may have a risk whose 99.9% interval excludes
[-0.02, 0.02], and where the representation is dead the result must say "not assessable". COUNT healthy releases:
perturbation at every level. None of them may be called not assessable. One line a release is written to OUT, and what
stands there is not run again.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cvpl.assessment.ensemble import run_attackers
from cvpl.evaluation.risk import risk_by_control
from cvpl.laboratory.mechanisms.perturbation import LEVELS, Perturbation
from cvpl.laboratory.simulation.touchpoints import Touchpoints
from cvpl.workflows.reading import read_plan

SIZES = (300, 600, 1_000, 2_000)
COLUMNS = {
    "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
    "gender": {"role": "quasi_identifier", "type": "category", "block": "exact"},
    "region": {"role": "quasi_identifier", "type": "category", "separator": "/", "block": {"level": 1}},
    "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week", "elapsed_days"]},
    "days_after_ad": {"role": "attribute", "type": "numeric"},
    "ad_channel": {"role": "attribute", "type": "category"},
    "brand_product": {"role": "attribute", "type": "category"},
}
DESTROYED = ("noise", "constants", "independent columns")


def people(seed: int) -> tuple[Any, Any]:
    """As many originals as controls, of one world."""
    records = SIZES[seed % len(SIZES)]
    frame = Touchpoints(records=2 * records).draw(np.random.default_rng(seed))
    return frame.take(np.arange(records)), frame.take(np.arange(records, 2 * records))


def table(frame: Any) -> pd.DataFrame:
    """A frame with the compared columns only."""
    return pd.DataFrame(frame.to_columns())[list(COLUMNS)]


def destroyed(kind: str, original: pd.DataFrame, control: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """A release of as many rows in which nothing of anybody is left."""
    pooled = pd.concat([original, control], ignore_index=True)
    rows = len(original)
    if kind == "independent columns":
        return pd.DataFrame({name: pooled[name].to_numpy()[rng.integers(len(pooled), size=rows)] for name in COLUMNS})
    if kind == "constants":
        row = pooled.iloc[int(rng.integers(len(pooled)))]
        return pd.DataFrame({name: [row[name]] * rows for name in COLUMNS})
    found = {}
    for name, item in COLUMNS.items():
        values = pooled[name]
        if item["type"] == "category":
            found[name] = rng.choice(values.unique(), size=rows)
        elif item["type"] == "numeric":
            found[name] = np.round(rng.uniform(values.min(), values.max(), size=rows), 1)
        else:
            moments = pd.to_datetime(values)
            seconds = rng.integers(int((moments.max() - moments.min()).total_seconds()) + 1, size=rows)
            found[name] = moments.min() + pd.to_timedelta(seconds, unit="s")
    return pd.DataFrame(found)


def read(release: pd.DataFrame, original: pd.DataFrame, control: pd.DataFrame, seed: int) -> dict[str, Any]:
    """What the family says: assessable or not, and the risk with its 99.9% interval."""
    config = {"columns": COLUMNS, "attacker": "default", "seed": seed, "sensitivity": False}
    resolved, inputs = read_plan(original, release, config, control, None)
    ensemble = run_attackers(resolved, inputs, lambda phase, share: None)
    rate, measured = ensemble.reading.false_rate, ensemble.chosen.measured
    risk = None
    if rate is not None and measured.has_control:
        risk = risk_by_control(ensemble.headline, measured, rate, 1 - 0.001 / ensemble.among)
    return {
        "assessable": not ensemble.reasons,
        "dead": [
            name for name, outcome in ensemble.outcomes.items() if any("dead" in fault for fault in outcome.faults)
        ],
        "attacker": ensemble.headline,
        "among": ensemble.among,
        "risk": None if risk is None else risk.estimate,
        "low": None if risk is None else risk.low,
        "high": None if risk is None else risk.high,
        "reasons": list(ensemble.reasons),
    }


def run(seed: int, kind: str) -> dict[str, Any]:
    """One release."""
    first, second = people(seed)
    original, control = table(first), table(second)
    rng = np.random.default_rng([seed, 1])
    if kind in DESTROYED:
        release = destroyed(kind, original, control, rng)
    else:
        release = table(Perturbation(kind).protect(first, rng))
    return {"kind": kind, "seed": seed, "records": len(original)} | read(release, original, control, seed)


def main(out: Path, count: int) -> None:
    """Run what is missing, and print what came out."""
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(line["kind"], line["seed"]) for line in lines}
    kinds = [DESTROYED[at % len(DESTROYED)] for at in range(count)]
    kinds += [list(LEVELS)[at % len(LEVELS)] for at in range(count)]
    with out.open("a") as file:
        for seed, kind in enumerate(kinds):
            if (kind, seed) not in done:
                lines.append(run(seed, kind))
                file.write(json.dumps(lines[-1]) + "\n")
                file.flush()
    print("| release | audits | not assessable | risk beyond ±0.02 (99.9%) | risk, lowest to highest |")
    print("|---|---|---|---|---|")
    for kind in (*DESTROYED, *LEVELS):
        own = [line for line in lines if line["kind"] == kind]
        able = [line for line in own if line["assessable"]]
        beyond = [item for item in able if item["low"] is not None and (item["low"] > 0.02 or item["high"] < -0.02)]
        known = [item["risk"] for item in able if item["risk"] is not None]
        spread = f"{min(known):.3f} to {max(known):.3f}" if known else "-"
        print(f"| {kind} | {len(own)} | {len(own) - len(able)} | {len(beyond)} | {spread} |")
    print("\nReasons:", dict(Counter(reason for line in lines for reason in line["reasons"])))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
