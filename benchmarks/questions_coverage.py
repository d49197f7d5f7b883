"""How often intervals of inference, membership and singling out hold the true figure, over worlds drawn anew.

    python benchmarks/questions_coverage.py OUT [RUNS] [WORLD...]

One run of a world draws people, release and control anew, and runs the attackers `rarity` and `unprojected` of an audit
with its inference, membership and predicates. The truth is the mean of a figure over all runs: the expected figure for
a fresh draw. The figures are read before rounding, which only widens an interval. Runs are kept in OUT, and an
interrupted benchmark resumes; remove the folder after a change of an attack or an interval.

inference    every attacker, number of columns and score by itself at 95%. Which columns these are is chosen in every
             run anew, so the truth is the mean over choices too. "picked" is the largest attributable score with its
             published confidence, held against the truth of the attacker that was picked
membership   the area under the curve of each attacker at 95%; "picked" is the published one
predicates   the share of one, two and three columns, and what is attributable, each at 95%

A cell is the lowest coverage over the figures of its kind and, in brackets, their number. Behind them, over all
figures of the kind, is the share of intervals that lie below the truth and above it. Figures that are there in fewer
than half of the runs are left out; a pick that was there in fewer than 20 runs has no truth and is not counted.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from cvpl.assessment.diagnostics import inference as inference_run
from cvpl.assessment.diagnostics.membership import membership
from cvpl.assessment.ensemble import run_attackers
from cvpl.assessment.planning.progress import ignore_progress
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.figures import ScoredAttack, inference_rows, simultaneous, strongest
from cvpl.evaluation.membership import area_interval, area_under_curve
from cvpl.evaluation.singling_out.predicate_rates import predicate_rates
from cvpl.randomness import stream
from cvpl.result.inference import InferenceRow
from cvpl.search.blas_threads import one_blas_thread
from cvpl.tables.pair import Inputs
from cvpl.workflows.reading import read_plan

CONFIDENCE = 0.95
RUNS = 200
FEWEST = 20
"""A truth is the mean over no fewer runs."""
ATTACKERS = ("rarity", "unprojected")
Figures = dict[str, list]
"""For each figure its estimate and its two ends; None if there is none."""


@dataclass(frozen=True)
class World:
    """How people are drawn, and how their release is made."""

    originals: int = 300
    controls: int = 300
    flipped: float = 0.2
    """The chance that a released cell is another person's."""
    strangers: float = 0.0
    """The share of released records that are of nobody asked about."""
    tens: bool = False
    """Whether ages are released in intervals of ten years."""
    household: int = 1
    models: bool = False


WORLDS = {
    "flipped cells": World(),
    "few people": World(originals=80, controls=80),
    "small control": World(originals=500, controls=120),
    "nothing released": World(strangers=1.0),
    "half strangers, nearly exact": World(flipped=0.02, strangers=0.5),
    "ages in tens": World(flipped=0.05, tens=True),
    "households": World(originals=400, controls=400, household=3),
    "with models": World(originals=200, controls=200, models=True),
}


def people(rows: int, world: World, rng: np.random.Generator) -> pd.DataFrame:
    """People whose illness depends on age and job; those of a household live together and are alike."""
    home = np.arange(rows) // world.household
    homes = int(home[-1]) + 1
    town = np.minimum(rng.geometric(0.25, homes) - 1, 11)[home]
    age = np.clip(np.round(rng.normal(45, 16, homes)[home] + rng.normal(0, 4, rows)), 18, 90).astype(int)
    job = np.minimum(rng.geometric(0.3, rows) - 1, 7)
    hours = np.clip(np.round(rng.normal(38 - job, 6)), 5, 70).astype(int)
    chance = 1 / (1 + np.exp(-(age - 55 + 4 * job) / 8))
    shared = rng.random(homes)[home] if world.household > 1 else rng.random(rows)
    ill = np.where(shared < chance, "a", np.where(rng.random(rows) < 0.2, "b", "c"))
    named = {"town": [f"t{item}" for item in town], "job": [f"j{item}" for item in job]}
    return pd.DataFrame({"age": age, **named, "hours": hours, "ill": ill, "home": home})


def release(originals: pd.DataFrame, world: World, rng: np.random.Generator) -> pd.DataFrame:
    """The originals, some of them strangers, with cells of others."""
    rows = len(originals)
    kept = originals.drop(columns="home").copy()
    new = rng.random(rows) < world.strangers
    others = people(rows, world, rng).drop(columns="home")
    kept[new] = others[new]
    given = people(rows, world, rng)
    for name in kept:
        flip = rng.random(rows) < world.flipped
        kept.loc[flip, name] = given.loc[flip, name]
    kept = kept.iloc[rng.permutation(rows)].reset_index(drop=True)
    if world.tens:
        tens = kept["age"] // 10 * 10
        kept["age"] = tens.astype(str) + "-" + (tens + 9).astype(str)
    return kept


def settings(world: World) -> dict:
    """The configuration of the audit."""
    roles = {
        "age": {"role": "quasi_identifier", "type": "numeric"},
        "town": {"role": "quasi_identifier", "type": "category"},
        "job": {"role": "attribute", "type": "category"},
        "hours": {"role": "attribute", "type": "numeric"},
        "ill": {"role": "sensitive", "type": "category"},
    }
    home = {"home": {"role": "group"}} if world.household > 1 else {}
    return {"columns": roles | home, "attacker": "default", "seed": 1}


def one_run(world: World, rng: np.random.Generator) -> Figures:
    """Every figure of one draw."""
    originals, controls = (people(rows, world, rng) for rows in (world.originals, world.controls))
    released = release(originals, world, rng)
    if world.household > 1:
        controls["home"] += world.originals
        released["home"] = np.arange(len(released)) + 10**6
    else:
        originals, controls = originals.drop(columns="home"), controls.drop(columns="home")
    resolved, inputs = read_plan(originals, released, settings(world), controls, None, attackers=ATTACKERS)
    recorded: list[list[ScoredAttack]] = []

    def record(attacks: Sequence[ScoredAttack], confidence: float, *, alike: bool) -> list[InferenceRow]:
        recorded.append(list(attacks))
        return inference_rows(attacks, confidence, alike=alike)

    with one_blas_thread(), mock.patch.object(inference_run, "inference_rows", record):
        ensemble = run_attackers(resolved, inputs, ignore_progress, combining=False)
        if world.models:
            inference_run.inference(ensemble, resolved, inputs)
        else:
            with mock.patch.object(models, "available", return_value=False):
                inference_run.inference(ensemble, resolved, inputs)
    return (
        of_inference(recorded[0], alike=world.household > 1)
        | of_membership(ensemble)
        | of_predicates(inputs, stream(int(rng.integers(1 << 31)), "predicates"))
    )


def of_inference(attacks: list[ScoredAttack], *, alike: bool) -> Figures:
    """Every attacker, number of columns and score."""
    found: Figures = {}
    for row in inference_rows(attacks, CONFIDENCE, alike=alike):
        found[_name(row)] = _estimate(row.attributable, _ends(row))
    best = strongest({"ill": inference_rows(attacks, simultaneous(len(attacks)), alike=alike)})
    if best is not None:
        row = best[1]
        found["inference, picked|"] = [_name(row), *_estimate(row.attributable, _ends(row))]
    return found


def _ends(row: InferenceRow) -> tuple[float, float] | None:
    """The interval of what is attributable; None if there is none."""
    low, high = row.attributable_low, row.attributable_high
    return None if low is None or high is None else (low, high)


def _name(row: InferenceRow) -> str:
    return f"inference|{row.attacker} {row.score} by {row.columns} columns"


def of_membership(ensemble: object) -> Figures:
    """The area under the curve of each attacker, and of the best one."""
    found: Figures = {}
    for name, item in ensemble.outcomes.items():
        spread = item.measured.spread
        area = area_under_curve(item.measured.attack.scores, item.measured.base_scores)
        ends = area_interval(spread.originals, spread.base, CONFIDENCE)
        found[f"membership|{name}"] = _estimate(area, (ends.low, ends.high))
    best = membership(ensemble).area
    ends = best.interval.low, best.interval.high
    found["membership, picked|"] = [f"membership|{best.attacker}", *_estimate(best.estimate, ends)]
    return found


def of_predicates(inputs: Inputs, rng: np.random.Generator) -> Figures:
    """The predicates of each number of columns; intervals are asked for one by one, so each is at 95%."""
    found: Figures = {}
    together = 1 - 3 * (1 - CONFIDENCE)
    pair, groups = inputs.pair, inputs.evaluation.unit.codes
    units = None if groups is None else groups["original"]
    for row in predicate_rates(pair.original, pair.protected, pair.control, rng, units=units, confidence=together):
        found[f"predicates, rate|{row.columns}"] = _estimate(row.rate, row.interval)
        found[f"predicates, attributable|{row.columns}"] = _estimate(row.attributable, _ends(row))
    return found


def _estimate(figure: float | None, ends: tuple[float | None, float | None] | None) -> list:
    return [figure, *(ends or (None, None))]


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one figure hold its truth, lie below it, and lie above it."""

    kind: str
    figure: str
    truth: float
    held: float
    below: float
    above: float
    width: float
    count: int


def coverage(runs: list[Figures]) -> Iterator[Coverage]:
    """The coverage of every figure that is there in at least half of the runs."""
    values = defaultdict(list)
    for run in runs:
        for name, (*_, estimate, low, high) in run.items():
            if estimate is not None:
                values[name].append((estimate, low, high))
    truth = {name: float(np.mean([item[0] for item in items])) for name, items in values.items()}
    for name, items in values.items():
        kind, figure = name.split("|")
        if kind.endswith("picked"):
            picks = [run[name] for run in runs if name in run]
            picks = [item for item in picks if len(values[item[0]]) >= FEWEST and item[2] is not None]
            given = [(truth[item[0]], *item[2:]) for item in picks]
        else:
            given = [(truth[name], *item[1:]) for item in items if item[1] is not None]
        if len(given) >= len(runs) / 2:
            below = float(np.mean([high < true for true, _, high in given]))
            above = float(np.mean([low > true for true, low, _ in given]))
            width = float(np.mean([item[2] - item[1] for item in given]))
            yield Coverage(kind, figure, truth[name], 1 - below - above, below, above, width, len(given))


def _cell(found: Sequence[Coverage]) -> str:
    if not found:
        return ""
    below, above = (float(np.mean([getattr(one, side) for one in found])) for side in ("below", "above"))
    return f"{min(one.held for one in found):.3f} ({len(found)}); {below:.3f}, {above:.3f}"


def main(out: Path, runs: int, names: Sequence[str]) -> None:
    """Draw what is missing, and print the table."""
    out.mkdir(parents=True, exist_ok=True)
    kinds = ("inference", "inference, picked", "membership", "membership, picked")
    kinds += ("predicates, rate", "predicates, attributable")
    rows = []
    for name in names:
        file = out / f"{name.replace(' ', '_').replace(',', '')}.jsonl"
        done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        with file.open("a") as kept:
            for at in range(len(done), runs):
                done.append(one_run(WORLDS[name], stream(at, f"coverage of {name}")))
                kept.write(json.dumps(done[-1]) + "\n")
                kept.flush()
        found: dict[str, list[Coverage]] = {kind: [] for kind in kinds}
        for one in coverage(done[:runs]):
            found[one.kind].append(one)
            print(
                f"    {name}: {one.kind} {one.figure}: {one.truth:.3f}, held {one.held:.3f} of {one.count}, below "
                f"{one.below:.3f}, above {one.above:.3f}, width {one.width:.3f}",
                file=sys.stderr,
            )
        cells = [_cell(found[kind]) for kind in kinds]
        rows.append(f"| {name} | {WORLDS[name].originals}, {WORLDS[name].controls} | {' | '.join(cells)} |")
    print(f"| world | originals, controls | {' | '.join(kinds)} |\n{'|---' * (len(kinds) + 2)}|")
    print("\n".join(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else RUNS, sys.argv[3:] or list(WORLDS))
