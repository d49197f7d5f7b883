# ruff: noqa: T201 - this script prints its table
"""What is read if a control is modelled, for docs/concepts/no-modelled-control.md.

    python docs/measurements/modelled_control.py FOLDER [RELEASE ...]

FOLDER holds adult_study_2021/. For each release (flip10, flip50 and synthpop by default) 4,000 of its people are
searched for, with 8,000 controls of each kind: real people who are not in the release, strangers modelled from all
originals in three ways, and released rows, which are taken out of the release for it. The power is that of `rarity`,
and of the strongest of `rarity` and its two members with reference people, who are half of the same control. The true
false-positive rate is the share of real people that `rarity` links at its threshold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

import cvpl
from cvpl.attack.attack import attack
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.control import Roc
from cvpl.workflows.reading import read_plan

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

from adult_study import LABELS, NUMBERS, settings

RELEASES = ("flip10", "flip50", "synthpop")
PEOPLE, CONTROLS = 4_000, 8_000
MEMBERS = ("rarity", "rarity_reference", "rarity_density")
HEAD = ("release", "control", "power of `rarity`", "true false-positive rate", "power with reference people")


def main() -> None:
    """Print a row for each release and control."""
    folder = Path(sys.argv[1]) / "adult_study_2021"
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for name in sys.argv[2:] or RELEASES:
        people, others, released = (pd.read_csv(folder / f"{part}.csv.gz") for part in ("trn", "val", name))
        rng = np.random.default_rng(1)
        asked = people.sample(PEOPLE, random_state=rng)
        taken = rng.permutation(len(released))
        rest, rows = released.iloc[taken[CONTROLS:]], released.iloc[taken[:CONTROLS]]
        real = others.sample(CONTROLS, random_state=rng)
        measured = _scores(asked, rest, real)
        controls = {"real people": real, **dict(_modelled(people, rng)), "released rows": rows}
        for title, control in controls.items():
            figures_of = _row(asked, rest, control, measured[1])
            print(f"| {name} | {title} | {' | '.join(f'{value:.3f}' for value in figures_of)} |", flush=True)


def _modelled(people: pd.DataFrame, rng: np.random.Generator) -> Iterator[tuple[str, pd.DataFrame]]:
    """Strangers from three models of the originals, from the coarsest to the closest."""
    drawn = {name: rng.choice(people[name].to_numpy(), CONTROLS) for name in people.columns}
    yield "columns drawn independently", pd.DataFrame(drawn)
    config = settings()
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "people.csv"
        people.to_csv(file, index=False)
        made = cvpl.protect(file, "synthetic", 1.0, config, seed=1).write(Path(place) / "made.csv")
        yield "Gaussian copula", pd.read_csv(made)[list(people.columns)].sample(CONTROLS, random_state=rng)
    # Every stranger has half of the columns of a person, and the others of that person's nearest neighbour.
    numbers = people[list(NUMBERS)]
    labels = pd.get_dummies(people[list(LABELS)]).to_numpy(dtype=float)
    features = np.hstack([(numbers - numbers.mean()) / numbers.std(), labels])
    some = rng.choice(len(people), CONTROLS, replace=False)
    near = cKDTree(features).query(features[some], k=2)[1][:, 1]
    own = rng.random((CONTROLS, people.shape[1])).argsort(axis=1) < people.shape[1] // 2
    mixed = people.iloc[some].reset_index(drop=True).where(own, people.iloc[near].reset_index(drop=True))
    yield "two similar people mixed", mixed.astype(people.dtypes.to_dict())


def _row(asked: pd.DataFrame, released: pd.DataFrame, control: pd.DataFrame, real: Any) -> tuple[float, float, float]:
    """The power of `rarity`, its true false-positive rate, and the largest power with reference people."""
    originals, controls = _scores(asked, released, control)
    roc = Roc.of(originals, controls)
    linked = Roc.of(originals, real)
    threshold = roc.threshold(FALSE_RATE)
    found = cvpl.audit(
        asked,
        released,
        settings(canaries=False, sensitivity=False, report={"suppress_below": 1}),
        control=control,
        attackers=MEMBERS,
    )
    powers = [next(one.power for one in row.power if one.false_rate == FALSE_RATE) for row in found.attackers]
    return roc.power(FALSE_RATE), float(np.mean(linked.controls >= threshold)), max(powers)


def _scores(asked: pd.DataFrame, released: pd.DataFrame, control: pd.DataFrame) -> tuple[Any, Any]:
    """The evidence of `rarity` for the originals and for the control."""
    resolved, inputs = read_plan(asked, released, settings(), control, None)
    done = attack(inputs.pair, resolved.attackers["rarity"], seed=resolved.config.seed, budget=resolved.budget)
    found = done.search_control()
    assert found is not None  # noqa: S101 - there is a control
    return done.scores, done.evidence("control", found)


if __name__ == "__main__":
    main()
