# ruff: noqa: T201 - this script prints its tables
"""How often intervals hold the true figure, over worlds drawn anew.

Run from the top of the project:

    python docs/measurements/interval_coverage.py measure [--runs 1000] [--out coverage.csv] [world ...]
    python docs/measurements/interval_coverage.py table [coverage.csv ...]

One run of a world draws people, release and control anew, attacks, and computes every figure with every method's
interval. The truth is the mean of the figure over all runs; coverage is the share of the intervals that hold it. Each
world is read at three thresholds, at which about 2%, 50% and 97% of the originals are linked.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from coverage_worlds import BEYOND, WORLDS, Found, World, centres, draw
from replicates import Replicates, percentile_ends, powers
from threadpoolctl import threadpool_limits

from cvpl.evaluation.control import attributable_rate, power_at
from cvpl.evaluation.groups.units import FEWEST_BLOCKS
from cvpl.evaluation.intervals.bounds import (
    Sample,
    attributable_bounds,
    paired_bounds,
    power_bounds,
    rate_bounds,
    top1_bounds,
)
from cvpl.evaluation.intervals.coverage import FEWEST_BEYOND
from cvpl.evaluation.intervals.shares import quantile, wilson_bounds
from cvpl.randomness import stream

LEVELS = (0.95, 0.999)
RATES = (0.02, 0.5, 0.97)
FALSE_RATES = (0.01, 0.05, 0.1)
NORMAL = quantile(0.95, 1e9)
REPLICATES = 200
MOST_RESAMPLED = 2_000
"""Above so many originals the bootstrap is left out: it would take most of the time."""
HEAD = ("world", "figure", "at", "method", "level", "truth", "coverage", "below", "above", "width", "runs", "missing")
Row = tuple[str, str, float, str, float, float, float]
"""Figure, method, at, level, estimate, low, high."""


def thresholds(world: World, fixed: Any) -> list[float]:
    """The thresholds at which the chosen shares of the originals are linked, from ten draws."""
    best = np.concatenate([draw(world, fixed, stream(run, f"pilot {world.name}")).best for run in range(10)])
    return [float(np.quantile(best, 1 - rate, method="higher")) for rate in RATES]


def kinds(world: World) -> list[str]:
    """The units that make sense in a world."""
    return ["people", *(["blocks"] if world.blocks > 1 else []), *(["groups"] if world.household > 1 else [])]


def samples(found: Found, kind: Any) -> tuple[Sample, Sample]:
    """Originals and controls in units of this kind."""
    units: tuple[Any, Any] = None, None
    if kind == "blocks":
        units = found.block, found.control_block
    if kind == "groups":
        units = found.group, found.control_group + int(found.group.max()) + 1
    return (
        Sample(found.best, units[0], kind, found.row, found.second),
        Sample(found.control_best, units[1], kind, found.control_row, found.control_second),
    )


def analytic(world: World, found: Found, at: list[float]) -> Iterator[Any]:
    """Every figure's ends by every analytic method."""
    for kind in kinds(world):
        mine, base = samples(found, kind)
        for level in LEVELS:
            for rate, tau in zip(RATES, at, strict=True):
                linked, control, wrong = (
                    float(np.mean(scores >= tau)) for scores in (found.best, found.control_best, found.wrong)
                )
                yield "linkage", kind, rate, level, linked, rate_bounds(mine, tau, level)
                yield "control", kind, rate, level, control, rate_bounds(base, tau, level)
                yield (
                    "attributable",
                    kind,
                    rate,
                    level,
                    attributable_rate(linked, control),
                    attributable_bounds(mine, base, tau, level),
                )
                yield (
                    "left out",
                    kind,
                    rate,
                    level,
                    attributable_rate(linked, wrong),
                    paired_bounds(mine, found.wrong, tau, level),
                )
                if kind == "people" and level == LEVELS[0]:
                    yield "linkage", "Wilson", rate, level, linked, wilson_bounds(linked, len(mine.best), NORMAL)
                    half = NORMAL * (linked * (1 - linked) / len(mine.best)) ** 0.5
                    yield "linkage", "normal", rate, level, linked, (linked - half, linked + half)
            for alpha in FALSE_RATES if level == LEVELS[0] else FALSE_RATES[1:2]:
                power = power_at(found.best, found.control_best, alpha)
                yield "power", kind, alpha, level, power, power_bounds(mine, base, alpha, level)
                if alpha == FALSE_RATES[1]:
                    power = power_at(found.best, found.wrong, alpha)
                    other = Sample(found.wrong, mine.unit, mine.kind)
                    yield "power, left out", kind, alpha, level, power, power_bounds(mine, other, alpha, level)
            if found.has_match.any():
                hits = float(found.hit[found.has_match].mean())
                yield "top-1", kind, 0.0, level, hits, top1_bounds(mine, found.hit, found.has_match, level)


def resampled(world: World, found: Found, at: list[float], rng: np.random.Generator) -> Iterator[Any]:
    """Every figure's percentile ends by the bootstrap over records, blocks or groups."""
    n = len(found.best)
    if n > MOST_RESAMPLED:
        return
    scores = {"linked": found.best, "wrong": found.wrong, "control": found.control_best}
    places = {"linked": slice(0, n), "wrong": slice(0, n), "control": slice(n, None)}
    for kind in kinds(world):
        mine, base = samples(found, kind)
        unit = None if mine.unit is None or base.unit is None else np.concatenate([mine.unit, base.unit])
        drawn = Replicates.draw(unit, n + len(base.best), REPLICATES, rng)
        name = f"{kind}, bootstrap"
        for rate, tau in zip(RATES, at, strict=True):
            here = np.array([tau])
            of = {key: drawn.rates(values, here, places[key])[:, 0] for key, values in scores.items()}
            exact = {key: float(np.mean(values >= tau)) for key, values in scores.items()}
            yield "linkage", name, rate, 0.95, exact["linked"], _ends(of["linked"])
            for figure, other in (("attributable", "control"), ("left out", "wrong")):
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = (of["linked"] - of[other]) / (1 - of[other])
                yield figure, name, rate, 0.95, attributable_rate(exact["linked"], exact[other]), _ends(values)
        power = power_at(found.best, found.control_best, 0.05)
        yield "power", name, 0.05, 0.95, power, _ends(powers(drawn, found.best, found.control_best, 0.05))
        if found.has_match.any():
            size = drawn.weights.shape[1]
            hits, whole = (
                drawn.weights @ np.bincount(drawn.unit[:n], item, minlength=size)
                for item in (found.hit * found.has_match, found.has_match.astype(float))
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                yield "top-1", name, 0.0, 0.95, float(found.hit[found.has_match].mean()), _ends(hits / whole)


def _ends(values: Any) -> tuple[float, float] | None:
    if not np.isfinite(values).any():
        return None
    low, high = percentile_ends(values, 0.95)
    return float(low), float(high)


def measure(world: World, runs: int, writer: Any) -> None:
    """All runs of one world, and its rows."""
    fixed = centres(world, stream(0, f"centres {world.name}"))
    at = thresholds(world, fixed)
    kept: dict[Any, list[tuple[float, float, float]]] = defaultdict(list)
    missing: dict[Any, int] = defaultdict(int)
    for run in range(runs):
        found = draw(world, fixed, stream(run, world.name))
        every = list(analytic(world, found, at)) + list(resampled(world, found, at, stream(run, f"drawn {world.name}")))
        for figure, method, place, level, value, ends in every:
            key = figure, place, method, level
            if value is None or ends is None:
                missing[key] += 1
            else:
                kept[key].append((value, *ends))
    truth = {key[:2]: np.mean([value for value, _, _ in rows]) for key, rows in kept.items()}
    for key, rows in sorted(kept.items()):
        _, low, high = np.array(rows).T
        true = truth[key[:2]]
        under, over = np.mean(high < true - 1e-12), np.mean(low > true + 1e-12)
        figures = (true, 1 - under - over, over, under, np.mean(high - low))
        writer.writerow((world.name, *key, *(f"{item:.4f}" for item in figures), len(rows), missing[key]))


def counted(row: dict[str, str], world: World) -> bool:
    """Whether an interval like this would be offered: a false rate needs enough controls to be read off."""
    controls = world.originals if row["figure"] == "power, left out" else world.controls
    return not row["figure"].startswith("power") or float(row["at"]) * controls >= FEWEST_BEYOND


def figure_of(name: str) -> str:
    """The figure's name in the package; the control's rate is a linkage rate too."""
    names = {"linkage": "linkage_rate", "control": "linkage_rate", "attributable": "attributable_rate"}
    return {**names, "left out": "left_out", "power, left out": "power_left_out", "top-1": "top1"}.get(name, name)


def belongs(world: World, kind: str) -> bool:
    """Whether a world is of the class for which units of this kind are offered."""
    if kind == "groups":
        return world.household > 1
    if world.household > 1:
        return False
    return kind == "people" or world.blocks >= FEWEST_BLOCKS


def tell(paths: list[Path]) -> None:
    """Print what the package holds (the lowest coverage of each figure and kind), and the tables of the docs."""
    rows = [row for path in paths for row in csv.DictReader(path.open())]
    worlds = {world.name: world for world in (*WORLDS, *BEYOND)}
    rows = [row for row in rows if counted(row, worlds[row["world"]])]
    inside = [row for row in rows if not row["world"].startswith("beyond")]
    print("MEASURED: dict[tuple[Figure, Kind], Lowest] = {")
    for figure in ("linkage_rate", "attributable_rate", "left_out", "power", "power_left_out", "top1"):
        for kind in ("people", "blocks", "groups"):
            lowest = [
                min(
                    float(row["coverage"])
                    for row in inside
                    if figure_of(row["figure"]) == figure
                    and row["method"] == kind
                    and row["level"] == level
                    and belongs(worlds[row["world"]], kind)
                )
                for level in ("0.95", "0.999")
            ]
            low, strict = (math.floor(1000 * item + 1e-9) / 1000 for item in lowest)
            print(f'    ("{figure}", "{kind}"): Lowest({low:.3f}, {strict:.3f}),')
    print("}\n")
    figures = ("linkage", "control", "attributable", "left out", "power", "power, left out", "top-1")
    usual = [row for row in rows if row["level"] == "0.95"]
    print(f"| world | originals, controls | drawn | {' | '.join(figures)} |\n|{'---|' * (len(figures) + 3)}")
    for world in worlds.values():
        for kind in kinds(world):
            if world.household > 1 and kind == "blocks":
                continue
            cells = [_lowest(usual, world.name, figure, kind) for figure in figures]
            size = f"{world.originals:,}, {world.controls:,}"
            print(f"| {world.name} | {size} | {kind} | {' | '.join(cells)} |")
    methods = ("people", "blocks", "groups", "Wilson", "normal", "people, bootstrap", "blocks, bootstrap")
    methods = (*methods, "groups, bootstrap")
    print(f"\n| method | {' | '.join(figures)} |\n|{'---|' * (len(figures) + 1)}")
    for method in methods:
        kind = method.split(",")[0] if "," in method or method in ("blocks", "groups") else "people"
        names = {name for name, world in worlds.items() if belongs(world, kind)}
        mine = [row for row in usual if row in inside and row["world"] in names]
        print(f"| {method} | {' | '.join(_lowest(mine, None, figure, method) for figure in figures)} |")


def _lowest(rows: list[dict[str, str]], world: str | None, figure: str, method: str) -> str:
    found = [
        float(row["coverage"])
        for row in rows
        if world in (None, row["world"]) and row["figure"] == figure and row["method"] == method
    ]
    return f"{min(found):.3f}" if found else ""


def main(arguments: list[str]) -> None:
    """Measure, and write what was found; or tell what was written."""
    if arguments[:1] == ["table"]:
        tell([Path(argument) for argument in arguments[1:]] or [Path("docs/measurements/coverage.csv")])
        return
    runs, path, names = 1000, Path("docs/measurements/coverage.csv"), []
    arguments = arguments[1:] if arguments[:1] == ["measure"] else arguments
    while arguments:
        item = arguments.pop(0)
        if item == "--runs":
            runs = int(arguments.pop(0))
        elif item == "--out":
            path = Path(arguments.pop(0))
        else:
            names.append(item)
    with path.open("w", newline="") as file, threadpool_limits(limits=1):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for world in (*WORLDS, *BEYOND):
            if not names or world.name in names:
                began = time.perf_counter()
                measure(world, runs, writer)
                file.flush()
                print(f"{world.name}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
