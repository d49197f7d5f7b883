"""How far a quick look is from the full audit: 40 releases, five seeds each.

    python benchmarks/quick_looks.py OUT.jsonl [ADULT_STUDY]

Its 95% interval should contain the full audit's figure at least 93% of the time, with a half-width of at most 6 points.
In a large release with known matches a quick look chooses its attackers on a part of it (`assessment/screening.py`).
These releases are not that large, so each seed is run a second time, and has to choose on a tenth of the release.
27 releases are those of `verdict_worlds` (every kind of table and change, with a tenth, half or all of 6,000 people in
them), three are of simulated people, and ten are those of the Adult study, if its folder is named. One line a release
is written to OUT.jsonl; what stands there is not run again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pandas as pd
import yaml

import adult_study
import cvpl
import tables as simulated
from cvpl.assessment import screening
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from verdict_worlds import How, Kind, Setting, config_of, draw

Tables = tuple[Any, Any, Any]
Made = tuple[Tables, dict[str, Any]]

PEOPLE = 6_000
SHARES = (0.1, 0.5, 1.0)
LEVELS = ("low", "medium", "high")
SEEDS = (1, 2, 3, 4, 5)
WANTED, WIDEST = 0.93, 0.06


def releases(study: Path | None) -> Iterator[tuple[str, Callable[[], Made]]]:
    """The name of every release, and how its tables and its configuration are made."""
    for kind in get_args(Kind):
        for how in get_args(How):
            for share in SHARES:
                setting = Setting(kind, PEOPLE, PEOPLE, share, how, "strangers")
                yield setting.key, lambda setting=setting: _world(setting)
    for level in LEVELS:
        yield f"simulated/{level}", lambda level=level: _simulated(level)
    if study is not None:
        for name in adult_study.RELEASES:
            yield f"adult_study/{name}", lambda name=name: _study(study, name)


def _world(setting: Setting) -> Made:
    world = draw(setting, np.random.default_rng(len(setting.key)))
    original, protected, control = (world.frame(name) for name in ("original", "protected", "control"))
    original["person"], protected["person"] = [f"p{at}" for at in range(len(original))], None
    protected.loc[world.copies, "person"] = [f"p{at}" for at in world.planted]
    config = config_of(setting.kind, 0, canaries=False)
    return (original, protected, control), config | {"columns": {**config["columns"], "person": {"role": "id"}}}


def _simulated(level: str) -> Made:
    people, others = (Touchpoints(records=PEOPLE).draw(np.random.default_rng(seed)) for seed in (1, 2))
    released = Perturbation(level).protect(people, np.random.default_rng(3))
    original, protected, control = (pd.DataFrame(table.to_columns()) for table in (people, released, others))
    config = yaml.safe_load(simulated.CONFIG)
    return (original, protected, control), config | {"attacker": "default", "canaries": False, "sensitivity": False}


def _study(study: Path, name: str) -> Made:
    original, protected, control = (study / f"{part}.csv.gz" for part in ("trn", name, "val"))
    return (original, protected, control), adult_study.settings(canaries=False, sensitivity=False)


def compare(name: str, made: Made) -> dict[str, Any]:
    """The full audit's figure, and the intervals of the quick looks; of those that choose, if matches are known."""
    tables, config = made
    full = cvpl.audit(*tables[:2], config | {"seed": 0, "report": {"suppress_below": 1}}, control=tables[2])
    if full.risk is None:
        raise SystemExit(f"{name} has no risk to compare")
    found: dict[str, Any] = {"release": name, "full": full.risk.estimate, "attacker": full.risk.attacker}
    found["looks"] = [look(made, seed) for seed in SEEDS]
    found["chosen"] = [] if full.scenario == "blind" else chosen(made)
    return found


def chosen(made: Made) -> list[list[Any]]:
    """The quick looks that choose their attackers on a tenth of the release."""
    with patch.multiple(screening, LARGE=0, RECORDS=PEOPLE // 10):
        return [look(made, seed) for seed in SEEDS]


def look(made: Made, seed: int) -> list[Any]:
    """The estimate, the interval and the attacker of a quick look."""
    (original, protected, control), config = made
    risk = cvpl.audit(
        original, protected, config | {"seed": seed, "report": {"suppress_below": 1}}, control=control, quick=True
    ).risk
    return [None] * 4 if risk is None else [risk.estimate, risk.low, risk.high, risk.attacker]


def summary(lines: list[dict[str, Any]], looks: str) -> str:
    """How often the intervals hold the figure of the full audit, and how wide they are."""
    held = [low <= line["full"] <= high for line in lines for _, low, high, _ in line[looks]]
    below = [high < line["full"] for line in lines for _, _, high, _ in line[looks]]
    widths = [(high - low) / 2 for line in lines for _, low, high, _ in line[looks]]
    return (
        f"{sum(bool(line[looks]) for line in lines)} releases, {len(held)} quick looks: {sum(held)} "
        f"({sum(held) / len(held):.1%}) hold the figure of the full audit (wanted: {WANTED:.0%}), {sum(below)} are "
        f"below it. Half-width: {median(widths):.3f} in the middle, {max(widths):.3f} at most (wanted: {WIDEST:.2f})."
    )


def main() -> None:
    """Run what is missing, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("study", type=Path, nargs="?")
    given = parser.parse_args()
    given.out.touch()
    lines = [json.loads(line) for line in given.out.read_text(encoding="utf-8").splitlines()]
    known = {line["release"] for line in lines}
    for name, make in releases(given.study):
        if name not in known:
            lines.append(compare(name, make()))
            with given.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
            print(name, f"{lines[-1]['full']:.3f}", lines[-1]["looks"], flush=True)
    print(summary(lines, "looks"))
    print("With attackers chosen on a tenth of the release:", summary(lines, "chosen"))


if __name__ == "__main__":
    main()
