"""The study `questions` of `coverage_bench.py`: inference, membership and singling out.

One run of a world draws people, release and control anew, and runs the attackers `rarity` and `unprojected` of an audit
with its inference, membership and predicates. The truth is the mean of a figure over all runs: the expected figure for
a fresh draw. The figures are read before rounding, which only widens an interval.

inference    every attacker, number of columns and score by itself at 95%. Which columns these are is chosen in every
             run anew, so the truth is the mean over choices too. "picked" is the largest attributable score with its
             published confidence, held against the truth of the attacker that was picked
membership   the area under the curve of each attacker at 95%; "picked" is the published one
predicates   the share of one, two and three columns, and what is attributable, each at 95%

A cell is the lowest coverage over the figures of its kind and, in brackets, their number. Behind them, over all
figures of the kind, is the share of intervals that lie below the truth and above it. Figures that are there in fewer
than half of the runs are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
import pandas as pd

from coverage_bench import Reading, Row, Study, markdown
from cvpl.assessment.diagnostics import inference as inference_run
from cvpl.assessment.diagnostics.release_questions import membership
from cvpl.assessment.ensemble import run_attackers
from cvpl.assessment.planning.progress import ignore_progress
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.figures import ScoredAttack, inference_rows, simultaneous, strongest
from cvpl.evaluation.measurement import area_interval, area_under_curve
from cvpl.evaluation.singling_out.predicates import predicate_rates
from cvpl.randomness import stream
from cvpl.result.questions import InferenceRow
from cvpl.search.machine import one_blas_thread
from cvpl.tables.pair import Inputs
from cvpl.workflows.planned_audit import read_plan

CONFIDENCE = 0.95
ATTACKERS = ("rarity", "unprojected")
KINDS = (
    "inference",
    "inference, picked",
    "membership",
    "membership, picked",
    "predicates, rate",
    "predicates, attributable",
)


@dataclass(frozen=True)
class World:
    """How people are drawn, and how their release is made."""

    name: str
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


WORLDS = (
    World("flipped cells"),
    World("few people", originals=80, controls=80),
    World("small control", originals=500, controls=120),
    World("nothing released", strangers=1.0),
    World("half strangers, nearly exact", flipped=0.02, strangers=0.5),
    World("ages in tens", flipped=0.05, tens=True),
    World("households", originals=400, controls=400, household=3),
    World("with models", originals=200, controls=200, models=True),
)


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


def one_run(world: World, rng: np.random.Generator) -> Iterator[Reading]:
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
    yield from of_inference(recorded[0], alike=world.household > 1)
    yield from of_membership(ensemble)
    yield from of_predicates(inputs, stream(int(rng.integers(1 << 31)), "predicates"))


def reading(kind: str, name: str, value: float | None, ends: tuple[float, float] | None, of: str = "") -> Reading:
    """One figure; the truth of a figure that was picked is that of the figure `of`."""
    picked = kind.removesuffix(", picked"), of or name
    return Reading(kind, 0.0, name, CONFIDENCE, value, ends, picked)


def of_inference(attacks: list[ScoredAttack], *, alike: bool) -> Iterator[Reading]:
    """Every attacker, number of columns and score."""
    for row in inference_rows(attacks, CONFIDENCE, alike=alike):
        yield reading("inference", _name(row), row.attributable, _ends(row))
    best = strongest({"ill": inference_rows(attacks, simultaneous(len(attacks)), alike=alike)})
    if best is not None:
        row = best[1]
        yield reading("inference, picked", "picked", row.attributable, _ends(row), _name(row))


def _ends(row: InferenceRow) -> tuple[float, float] | None:
    """The interval of what is attributable; None if there is none."""
    low, high = row.attributable_low, row.attributable_high
    return None if low is None or high is None else (low, high)


def _name(row: InferenceRow) -> str:
    return f"{row.attacker} {row.score} by {row.columns} columns"


def of_membership(ensemble: object) -> Iterator[Reading]:
    """The area under the curve of each attacker, and of the best one."""
    for name, item in ensemble.outcomes.items():
        spread = item.measured.spread
        area = area_under_curve(item.measured.attack.scores, item.measured.base_scores)
        ends = area_interval(spread.originals, spread.base, CONFIDENCE)
        yield reading("membership", name, area, (ends.low, ends.high))
    best = membership(ensemble).auc
    yield reading("membership, picked", "picked", best.estimate, (best.low, best.high), best.attacker)


def of_predicates(inputs: Inputs, rng: np.random.Generator) -> Iterator[Reading]:
    """The predicates of each number of columns; intervals are computed one by one, so each is at 95%."""
    together = 1 - 3 * (1 - CONFIDENCE)
    pair, groups = inputs.pair, inputs.evaluation.groups.codes
    clusters = None if groups is None else groups["original"]
    for row in predicate_rates(
        pair.original, pair.protected, pair.control, rng, clusters=clusters, confidence=together
    ):
        yield reading("predicates, rate", str(row.columns), row.rate, row.interval)
        yield reading("predicates, attributable", str(row.columns), row.attributable, row.attributable_interval)


def begin(world: World) -> Callable[[int], Iterator[Reading]]:
    """A run is a fresh draw."""
    return lambda run: one_run(world, stream(run, f"coverage of {world.name}"))


def show(rows: Sequence[Row]) -> None:
    """Print a row for each world."""
    lines = []
    for world in WORLDS:
        mine = [row for row in rows if row["world"] == world.name]
        runs = max((int(row["runs"]) for row in mine), default=0)
        often = [row for row in mine if int(row["runs"]) >= runs / 2]
        if often:
            size = f"{world.originals}, {world.controls}"
            lines.append(
                [world.name, size, *(_cell([row for row in often if row["figure"] == kind]) for kind in KINDS)]
            )
    markdown(("world", "originals, controls", *KINDS), lines)


def _cell(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    # An interval lies below the truth where the truth lies above the interval.
    below, above = (float(np.mean([float(row[side]) for row in rows])) for side in ("above", "below"))
    return f"{min(float(row['coverage']) for row in rows):.3f} ({len(rows)}); {below:.3f}, {above:.3f}"


STUDY = Study({world.name: world for world in WORLDS}, begin, show, runs=200)
