"""The study `intervals` of `coverage_bench.py`: every figure of an audit, by every method and kind of sampling cluster.

Each world is read at three thresholds, at which about 2%, 50% and 97% of the originals are linked. The table for the
package (`MEASURED` in `src/cvpl/evaluation/intervals/intervals.py`) has the lowest coverage of each figure and kind:

    python benchmarks/coverage_bench.py intervals docs/measurements/coverage.csv
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from coverage_bench import Reading, Row, Study, cell, lowest, markdown
from coverage_worlds import BEYOND, WORLDS, Found, World, centres, draw
from cvpl.evaluation.groups.clusters import FEWEST_BLOCKS
from cvpl.evaluation.intervals.bounds import (
    Sample,
    attributable_bounds,
    paired_bounds,
    power_bounds,
    quantile,
    rate_bounds,
    top1_bounds,
    wilson_bounds,
)
from cvpl.evaluation.intervals.intervals import FEWEST_BEYOND
from cvpl.evaluation.rates import attributable_rate, power_at
from cvpl.randomness import stream
from replicates import Replicates, percentile_ends, powers

LEVELS = (0.95, 0.999)
RATES = (0.02, 0.5, 0.97)
FALSE_RATES = (0.01, 0.05, 0.1)
NORMAL = quantile(0.95, 1e9)
REPLICATES = 200
MOST_RESAMPLED = 2_000
"""Above so many originals the bootstrap is left out: it would take most of the time."""
FIGURES = ("linkage", "control", "attributable", "left out", "power", "power, left out", "top-1")
BY_NAME = {world.name: world for world in (*WORLDS, *BEYOND)}


def thresholds(world: World, fixed: Any) -> list[float]:
    """The thresholds at which the chosen shares of the originals are linked, from ten draws."""
    best = np.concatenate([draw(world, fixed, stream(run, f"pilot {world.name}")).best for run in range(10)])
    return [float(np.quantile(best, 1 - rate, method="higher")) for rate in RATES]


def kinds(world: World) -> list[str]:
    """The clusters that make sense in a world."""
    return ["people", *(["blocks"] if world.blocks > 1 else []), *(["groups"] if world.household > 1 else [])]


def samples(found: Found, kind: Any) -> tuple[Sample, Sample]:
    """Originals and controls in clusters of this kind."""
    clusters: tuple[Any, Any] = None, None
    if kind == "blocks":
        clusters = found.block, found.control_block
    if kind == "groups":
        clusters = found.group, found.control_group + int(found.group.max()) + 1
    return (
        Sample(found.best, clusters[0], kind, found.row, found.second),
        Sample(found.control_best, clusters[1], kind, found.control_row, found.control_second),
    )


def analytic(world: World, found: Found, at: list[float]) -> Iterator[Reading]:
    """Every figure's ends by every analytic method."""
    for kind in kinds(world):
        mine, base = samples(found, kind)
        for level in LEVELS:
            for rate, tau in zip(RATES, at, strict=True):
                linked, control, wrong = (
                    float(np.mean(scores >= tau)) for scores in (found.best, found.control_best, found.wrong)
                )
                yield Reading("linkage", rate, kind, level, linked, rate_bounds(mine, tau, level))
                yield Reading("control", rate, kind, level, control, rate_bounds(base, tau, level))
                ends = attributable_bounds(mine, base, tau, level)
                yield Reading("attributable", rate, kind, level, attributable_rate(linked, control), ends)
                ends = paired_bounds(mine, found.wrong, tau, level)
                yield Reading("left out", rate, kind, level, attributable_rate(linked, wrong), ends)
                if kind == "people" and level == LEVELS[0]:
                    ends = wilson_bounds(linked, len(mine.best), NORMAL)
                    yield Reading("linkage", rate, "Wilson", level, linked, ends)
                    half = NORMAL * (linked * (1 - linked) / len(mine.best)) ** 0.5
                    yield Reading("linkage", rate, "normal", level, linked, (linked - half, linked + half))
            for alpha in FALSE_RATES if level == LEVELS[0] else FALSE_RATES[1:2]:
                power = power_at(found.best, found.control_best, alpha)
                yield Reading("power", alpha, kind, level, power, power_bounds(mine, base, alpha, level))
                if alpha == FALSE_RATES[1]:
                    power = power_at(found.best, found.wrong, alpha)
                    other = Sample(found.wrong, mine.cluster, mine.kind)
                    ends = power_bounds(mine, other, alpha, level)
                    yield Reading("power, left out", alpha, kind, level, power, ends)
            if found.has_match.any():
                hits = float(found.hit[found.has_match].mean())
                ends = top1_bounds(mine, found.hit, found.has_match, level)
                yield Reading("top-1", 0.0, kind, level, hits, ends)


def resampled(world: World, found: Found, at: list[float], rng: np.random.Generator) -> Iterator[Reading]:
    """Every figure's percentile ends by the bootstrap over records, blocks or groups."""
    n = len(found.best)
    if n > MOST_RESAMPLED:
        return
    scores = {"linked": found.best, "wrong": found.wrong, "control": found.control_best}
    places = {"linked": slice(0, n), "wrong": slice(0, n), "control": slice(n, None)}
    for kind in kinds(world):
        mine, base = samples(found, kind)
        cluster = None if mine.cluster is None or base.cluster is None else np.concatenate([mine.cluster, base.cluster])
        drawn = Replicates.draw(cluster, n + len(base.best), REPLICATES, rng)
        name = f"{kind}, bootstrap"
        for rate, tau in zip(RATES, at, strict=True):
            here = np.array([tau])
            of = {key: drawn.rates(values, here, places[key])[:, 0] for key, values in scores.items()}
            exact = {key: float(np.mean(values >= tau)) for key, values in scores.items()}
            yield Reading("linkage", rate, name, 0.95, exact["linked"], _ends(of["linked"]))
            for figure, other in (("attributable", "control"), ("left out", "wrong")):
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = (of["linked"] - of[other]) / (1 - of[other])
                value = attributable_rate(exact["linked"], exact[other])
                yield Reading(figure, rate, name, 0.95, value, _ends(values))
        power = power_at(found.best, found.control_best, 0.05)
        ends = _ends(powers(drawn, found.best, found.control_best, 0.05))
        yield Reading("power", 0.05, name, 0.95, power, ends)
        if found.has_match.any():
            size = drawn.weights.shape[1]
            hits, whole = (
                drawn.weights @ np.bincount(drawn.cluster[:n], item, minlength=size)
                for item in (found.hit * found.has_match, found.has_match.astype(float))
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                value = float(found.hit[found.has_match].mean())
            yield Reading("top-1", 0.0, name, 0.95, value, _ends(hits / whole))


def _ends(values: Any) -> tuple[float, float] | None:
    if not np.isfinite(values).any():
        return None
    low, high = percentile_ends(values, 0.95)
    return float(low), float(high)


def begin(world: World) -> Callable[[int], Iterator[Reading]]:
    """Fix where the blocks lie and the thresholds; a run is a fresh draw."""
    fixed = centres(world, stream(0, f"centres {world.name}"))
    at = thresholds(world, fixed)

    def read(run: int) -> Iterator[Reading]:
        found = draw(world, fixed, stream(run, world.name))
        yield from analytic(world, found, at)
        yield from resampled(world, found, at, stream(run, f"drawn {world.name}"))

    return read


def counted(row: dict[str, str], world: World) -> bool:
    """Whether an interval like this would be offered: a false rate needs enough controls to be read off."""
    controls = world.originals if row["figure"] == "power, left out" else world.controls
    return not row["figure"].startswith("power") or float(row["at"]) * controls >= FEWEST_BEYOND


def figure_of(name: str) -> str:
    """The figure's name in the package; the control's rate is a linkage rate too."""
    names = {"linkage": "linkage_rate", "control": "linkage_rate", "attributable": "attributable_rate"}
    return {**names, "left out": "left_out", "power, left out": "power_left_out", "top-1": "top1"}.get(name, name)


def belongs(world: World, kind: str) -> bool:
    """Whether a world is of the class for which clusters of this kind are offered."""
    if kind == "groups":
        return world.household > 1
    if world.household > 1:
        return False
    return kind == "people" or world.blocks >= FEWEST_BLOCKS


def show(rows: Sequence[Row]) -> None:
    """Print what the package holds (the lowest coverage of each figure and kind), and the tables of the docs."""
    rows = [row for row in rows if counted(row, BY_NAME[row["world"]])]
    inside = [row for row in rows if not row["world"].startswith("beyond")]
    print("MEASURED: dict[tuple[Figure, Kind], LowestCoverage] = {")
    for figure in ("linkage_rate", "attributable_rate", "left_out", "power", "power_left_out", "top1"):
        for kind in ("people", "blocks", "groups"):
            here = [
                row
                for row in inside
                if figure_of(row["figure"]) == figure and row["method"] == kind and belongs(BY_NAME[row["world"]], kind)
            ]
            shares = [lowest(here, level=level) for level in LEVELS]
            low, strict = (math.floor(1000 * (share or 0.0) + 1e-9) / 1000 for share in shares)
            print(f'    ("{figure}", "{kind}"): LowestCoverage({low:.3f}, {strict:.3f}),')
    print("}\n")
    usual = [row for row in rows if row["level"] == "0.95"]
    markdown(("world", "originals, controls", "drawn", *FIGURES), _by_world(usual))
    print()
    markdown(("method", *FIGURES), _by_method([row for row in usual if row in inside]))


def _by_world(rows: Sequence[Row]) -> Iterator[list[str]]:
    for world in BY_NAME.values():
        for kind in kinds(world):
            if world.household > 1 and kind == "blocks":
                continue
            cells = [cell(lowest(rows, world=world.name, figure=figure, method=kind)) for figure in FIGURES]
            yield [world.name, f"{world.originals:,}, {world.controls:,}", kind, *cells]


def _by_method(rows: Sequence[Row]) -> Iterator[list[str]]:
    plain = ("people", "blocks", "groups", "Wilson", "normal")
    for method in (*plain, *(f"{kind}, bootstrap" for kind in plain[:3])):
        kind = method.split(",")[0] if "," in method or method in ("blocks", "groups") else "people"
        here = [row for row in rows if belongs(BY_NAME[row["world"]], kind)]
        yield [method, *(cell(lowest(here, figure=figure, method=method)) for figure in FIGURES)]


STUDY = Study(BY_NAME, begin, show, runs=1000)
