# ruff: noqa: T201 - this script prints its tables
"""What alignment to the release's grain changes, on releases whose true matches are known.

Run from the top of the project; prints the tables of docs/concepts/alignment.md:

    python docs/measurements/alignment.py              simulated releases
    python docs/measurements/alignment.py FOLDER       releases made by others, in FOLDER

Simulated: 2,000 people of the paper's world and as many others as a control, three seeds a row (the figures are means
over the seeds). FOLDER holds adult/, stroke/ and nist_ma/.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from validity import ADULT, NIST, ROWS, STROKE

import cvpl
from cvpl.attack.attack import attack
from cvpl.config.loading import load
from cvpl.laboratory.mechanisms.hierarchies import floor_time
from cvpl.tables.pair import read_inputs
from cvpl.workflows.protect import Method, Protector
from cvpl_paper.world import CONFIG, people

RECORDS = 2_000
SEEDS = range(3)
STRENGTHS = (5, 10, 20, 50)
HEAD = ("release", "similarity", "alignment", "rate", "top-1", "blocking recall", "power at 5%", "warned")


class Found(NamedTuple):
    """An audit's result, and the linkage rate among the originals that have a match."""

    result: cvpl.AuditResult
    rate_of_matched: float | None


def simulated() -> None:
    """k-anonymity on age, gender and region, with times cut to hours or days."""
    methods: tuple[Method, ...] = ("k-anonymity", "mondrian")
    for method in methods:
        for unit in ("hour", "day"):
            for k in STRENGTHS:
                for alignment in ("none", "release"):
                    found = [_simulated(method, k, unit, alignment, seed) for seed in SEEDS]
                    show(f"{method}, k = {k}, {unit}s", "cosine", alignment, found)


def _simulated(method: Method, k: int, unit: str, alignment: str, seed: int) -> Found:
    config = {**CONFIG, "protect": {"columns": ["age", "gender", "region"]}, "search": {}, "seed": seed}
    table = people(RECORDS, 0.0, seed, "people")
    released = Protector(load(config), table, lambda: table).release(method, k, seed).frame
    released = replace(released, times={name: floor_time(time, unit) for name, time in released.times.items()})
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.csv" for name in ("original", "released", "control")}
        tables = {"original": table, "released": released, "control": people(RECORDS, 0.0, seed, "control")}
        for name, file in files.items():
            tables[name].write(file)
        changed = {**config, "attacker": {"alignment": alignment}}
        return run(files["original"], files["released"], changed, files["control"])


def by_others(folder: Path) -> None:
    """One release after the other, by cosine and by weights of agreement."""
    stroke = {"columns": STROKE, "reading": {"missing": ["", "N/A", "NULL"]}}
    adult = {"columns": ADULT, "reading": {"strip": True, "missing": ["", "?"]}}
    nist = {"columns": NIST, "reading": {"missing": ["", "N"]}, "truth": ROWS}
    runs: list[tuple[str, str, str, dict[str, Any]]] = [
        (f"Stroke, k = {k}", "stroke/stroke.csv", f"stroke/stroke_k{k}.csv", stroke) for k in (2, 5, 10, 20)
    ]
    truth = {"truth": {"original": "row_number", "protected": "index"}}
    runs.append(("Adult, k = 10", "adult/adult.csv", "adult/adult_k10_anjana.csv", adult | truth))
    runs.append(("NIST MA, PRAM", "nist_ma/ma2019.csv", "nist_ma/pram.csv", nist))
    for name, original, protected, config in runs:
        for similarity in ("cosine", "agreement"):
            for alignment in ("none", "release"):
                attacker = {"alignment": alignment, "similarity": similarity}
                changed = {**config, "attacker": attacker, "seed": 42}
                show(name, similarity, alignment, [run(folder / original, folder / protected, changed)])


def run(original: Path, protected: Path, config: dict[str, Any], control: Path | None = None) -> Found:
    """An audit, and beside it the linkage rate among those who have a match."""
    resolved = load(config)
    inputs = read_inputs(
        original,
        protected,
        resolved.specs,
        reading=resolved.reading,
        identity=resolved.identity,
        declared=resolved.declared,
    )
    result = cvpl.audit(original, protected, config | {"report": {"suppress_below": 1}}, control=control)
    if result.threshold is None or inputs.evaluation.matches is None:
        return Found(result, None)
    done = attack(inputs.pair, resolved.attackers["main"], seed=resolved.config.seed)
    return Found(
        result, float(np.mean(done.found.best[np.unique(inputs.evaluation.matches.original)] >= result.threshold))
    )


def show(name: str, similarity: str, alignment: str, found: list[Found]) -> None:
    """Print one row of the table."""

    def mean(values: list[Any]) -> str:
        return "-" if None in values else f"{np.mean(values):.3f}"

    warned = sum(any(warning.rule == "top1_above_rate" for warning in each.result.warnings) for each in found)
    truths = [each.result.truth for each in found if each.result.truth is not None]
    powers = [next((item.power for item in each.result.power or () if item.false_rate == 0.05), None) for each in found]
    cells = [
        mean([each.rate_of_matched for each in found]),
        mean([truth.top1_hit_rate for truth in truths]),
        mean([truth.blocking_recall for truth in truths]),
        mean(powers),
        f"{warned} of {len(found)}",
    ]
    print(f"| {' | '.join((name, similarity, alignment, *cells))} |", flush=True)


def main() -> None:
    """Print the head and the rows."""
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    if len(sys.argv) > 1:
        by_others(Path(sys.argv[1]))
    else:
        simulated()


if __name__ == "__main__":
    main()
