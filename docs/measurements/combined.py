# ruff: noqa: T201 - this script prints its table
"""The combined attacker beside its members, on real releases, for docs/concepts/attackers.md.

    python docs/measurements/combined.py FOLDER [NAME ...]

FOLDER holds adult_study_2021/, stroke/ and nist_ma/. The ten releases of the Adult study: 3,000 of the people that they
were made from, and 6,000 of those that they were not made from as control. Stroke: half of the people, released with
normal noise of a tenth of a standard deviation on the numbers, the other half as control. NIST: half of the people, as
released by PRAM, the other half as control. Simulated: the people of `cvpl demo`, with medium and high noise. Quick
looks, so without canaries. With NAMEs, only these releases. The last four columns are power at 5% by Fellegi-Sunter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from validity import NIST, STROKE

import cvpl
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.workflows.simulate import CONFIG

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

from adult_study import RELEASES, settings

PEOPLE, CONTROLS = 3_000, 6_000
EXACT = {"report": {"suppress_below": 1}, "canaries": False, "sensitivity": False}
HEAD = ("release", "strongest member", "power at 5%", "at 1%", "`combined`, power at 5%", "at 1%")
SUNTER = ("fellegi_sunter", "fellegi_sunter_reference", "fellegi_sunter_em", "fellegi_sunter_em_density")
Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, Mapping[str, Any]]


def main() -> None:
    """Print a row for each release."""
    folder = Path(sys.argv[1])
    worlds: dict[str, Callable[[], Tables]] = {
        f"Adult study, {name}": partial(study, folder / "adult_study_2021", name) for name in RELEASES
    }
    worlds |= {"stroke, noise": partial(stroke, folder / "stroke"), "NIST, PRAM": partial(nist, folder / "nist_ma")}
    worlds |= {f"simulated, {level} noise": partial(simulated, level) for level in ("medium", "high")}
    asked = sys.argv[2:]
    head = (*HEAD, *(f"`{name}`" for name in SUNTER))
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for title, load in worlds.items():
        if asked and not any(title.endswith(name) for name in asked):
            continue
        original, released, control, config = load()
        result = cvpl.audit(original, released, config, control=control, quick=True)
        rows = {row.name: row for row in result.attackers}
        joined = rows.pop("combined")
        first = max(rows.values(), key=lambda row: _power(row, 0.05).power)
        cells = [_told(_power(row, rate)) for row in (first, joined) for rate in (0.05, 0.01)]
        cells += [f"{_power(rows[name], 0.05).power:.3f}" for name in SUNTER]
        print(f"| {title} | `{first.name}` | {' | '.join(cells)} |", flush=True)


def study(folder: Path, name: str) -> Tables:
    """A release of the Adult study."""
    people, others, released = (pd.read_csv(folder / f"{part}.csv.gz") for part in ("trn", "val", name))
    return people.sample(PEOPLE, random_state=1), released, others.sample(CONTROLS, random_state=1), settings(**EXACT)


def stroke(folder: Path) -> Tables:
    """Half of the people of the stroke table, with noise on their numbers."""
    rng = np.random.default_rng(7)
    table = pd.read_csv(folder / "stroke.csv")
    inside = table["id"].isin(rng.permutation(table["id"])[: len(table) // 2])
    released = table[inside].copy()
    for name in ("age", "avg_glucose_level", "bmi"):
        released[name] += 0.1 * released[name].std() * rng.normal(size=len(released))
    config = {"columns": STROKE, "attacker": "default", "seed": 42} | EXACT
    return table[inside], released.sample(frac=1.0, random_state=3), table[~inside], config


def nist(folder: Path) -> Tables:
    """Half of the people of the NIST table, as PRAM released them."""
    table, released = (pd.read_csv(folder / f"{name}.csv", dtype=str) for name in ("ma2019", "pram"))
    inside = np.isin(np.arange(len(table)), np.random.default_rng(7).permutation(len(table))[: len(table) // 2])
    config = {"columns": NIST, "attacker": "default", "seed": 42, "reading": {"missing": ["", "N"]}} | EXACT
    columns = list(NIST)
    return table.loc[inside, columns], released.loc[inside, columns], table.loc[~inside, columns], config


def simulated(level: str) -> Tables:
    """The people of the demo, with noise, and as many others."""
    people, others = (Touchpoints(records=5_000).draw(stream(42, f"demo {name}")) for name in ("people", "control"))
    released = Perturbation(level).protect(people, stream(42, "demo noise"))
    tables = [pd.DataFrame(table.to_columns()) for table in (people, released, others)]
    return tables[0], tables[1], tables[2], yaml.safe_load(CONFIG) | EXACT


def _power(row: Any, rate: float) -> Any:
    return next(found for found in row.power if found.false_rate == rate)


def _told(power: Any) -> str:
    """A power with the half-width of its interval."""
    return f"{power.power:.3f}" + ("" if power.low is None else f" ± {(power.high - power.low) / 2:.3f}")


if __name__ == "__main__":
    main()
