"""Worked examples of the verdict, printed for docs/concepts/verdict.md.

    python docs/measurements/verdict_examples.py

Simulated people, released in seven ways. For each release the page docs/concepts/verdict.md shows the sentence, the
findings that close the gate, and the outcome of a gate at 5%.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import cvpl
from cvpl.cli.demo import CONFIG
from cvpl.config.loading import load
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints

PEOPLE = 2_000
LIMIT = 0.05
KEY = "person_id"


def frame(table: object) -> pd.DataFrame:
    """A simulated table as a dataframe."""
    return pd.DataFrame(table.to_columns())  # type: ignore[attr-defined]


def examples() -> dict[str, tuple[pd.DataFrame, pd.DataFrame | None]]:
    """Releases by name, each with the control it is held against."""
    rng = np.random.default_rng(16)
    people = Touchpoints(records=PEOPLE).draw(rng)
    control = frame(Touchpoints(records=PEOPLE).draw(rng))
    noise = frame(Perturbation("high").protect(people, rng))
    others = frame(Touchpoints(records=PEOPLE).draw(rng)).drop(columns=KEY)
    originals = frame(people).drop(columns=KEY)
    few = pd.concat([originals.iloc[:50], others.iloc[50:]]).sample(frac=1, random_state=1)
    constant = others.assign(**{name: others[name].iloc[0] for name in others.columns if name != "income"})
    named = others.assign(contact=[f"person{at}@example.org" for at in range(len(others))])
    return {
        "noise on every column": (noise, control),
        "rows of other people": (others, control),
        "rows of other people and 50 copies of originals": (few, control),
        "rows of other people with an e-mail column": (named, control),
        "noise, no control": (noise, None),
        "noise, a control of 12 people": (noise, control.iloc[:12]),
        "every column constant": (constant, control),
    }


def main() -> None:
    """Print a row for each example."""
    rng = np.random.default_rng(16)
    original = frame(Touchpoints(records=PEOPLE).draw(rng))
    import yaml  # noqa: PLC0415 - only for the configuration

    config = load(yaml.safe_load(CONFIG) | {"sensitivity": False, "report": {"suppress_below": 1}}).config
    for name, (release, control) in examples().items():
        result = cvpl.audit(original, release, config, control=control, fail_above=LIMIT)
        print(f"## {name}\n{result.verdict.kind}: {result.verdict.sentence}")  # noqa: T201
        for policy in result.policies:
            print("gate at 5%: " + ("met" if policy.met else "not met: " + "; ".join(policy.reasons)))  # noqa: T201
        print()  # noqa: T201


if __name__ == "__main__":
    main()
