# ruff: noqa: T201 - this script prints its tables
"""Measurements behind the constants of docs/reference/constants.md.

Run from the top of the project, with the names of the tables to print, or with none for all of them:

    python docs/measurements/constants.py [perturbation random lsh recall missing zero variance labels pairs tiles]

All on simulated people (`cvpl.laboratory.simulation`) with seed 0; times depend on the machine, the rest does not.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

import cvpl
from cvpl.assessment.diagnostics import self_linkage
from cvpl.attack.attack import Attack, attack
from cvpl.cli.demo import CONFIG
from cvpl.config.loading import load
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.search.pairs import candidate_similarities
from cvpl.tables.pair import read_inputs

RECORDS = 10_000


def demo(
    place: Path, *, records: int = RECORDS, missing: float = 0.0, level: Any = "medium"
) -> tuple[Path, Path, Path]:
    """Simulated originals, their perturbed release, and a control, as files."""
    people = Touchpoints(records=records, missing_rate=missing).draw(stream(0, "people"))
    files = (place / "original.csv", place / "released.csv", place / "control.csv")
    people.write(files[0])
    Perturbation("medium").protect(people, stream(0, "noise")).write(files[1])
    Touchpoints(records=records, missing_rate=missing).draw(stream(0, "control")).write(files[2])
    return files


def config(**attacker: Any) -> dict[str, Any]:
    """The demo's configuration with another attacker."""
    return {**yaml.safe_load(CONFIG), "attacker": attacker or "paper"}


def attacked(files: Iterable[Path], settings: dict[str, Any]) -> Attack:
    """One attack, without the evaluation."""
    resolved = load(settings)
    original, protected, _ = files
    inputs = read_inputs(
        original,
        protected,
        resolved.specs,
        reading=resolved.reading,
        identity=resolved.identity,
        declared=resolved.declared,
    )
    return attack(inputs.pair, resolved.attackers["main"], seed=0)


def audited(files: tuple[Path, Path, Path], settings: dict[str, Any]) -> Any:
    """One whole audit with its control."""
    return cvpl.audit(files[0], files[1], settings | {"report": {"suppress_below": 1}}, control=files[2])


def table(title: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print one Markdown table, row by row."""
    names = list(head)
    print(f"\n### {title}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(cell if isinstance(cell, str) else f'{cell:.4g}' for cell in row)} |", flush=True)


def perturbation(place: Path) -> None:
    """Top-1 in the perturbed copy, for working and for poor representations, under ever stronger perturbation."""
    files = demo(place)
    kinds = {
        "PCA, 90% (paper)": config(),
        "PCA, 3 components": config(projection={"pca": {"max": 3}}),
        "PCA, 1 component": config(projection={"pca": {"min": 1, "max": 1}}),
        "knows age and gender only": config(knows=["age", "gender"]),
    }
    done = {name: attacked(files, settings) for name, settings in kinds.items()}
    kept = self_linkage.NUMBER_NOISE, self_linkage.TIME_NOISE, self_linkage.SWAP
    steps = {
        "none": (0.0, 0.0, 0.0),
        "half": (0.01, 150.0, 0.01),
        "chosen": kept,
        "twice": (0.04, 600.0, 0.04),
        "five times": (0.10, 1500.0, 0.10),
    }

    def rows() -> Iterable[Iterable[object]]:
        for name, found in done.items():
            top1 = []
            for step in steps.values():
                self_linkage.NUMBER_NOISE, self_linkage.TIME_NOISE, self_linkage.SWAP = step
                copied = self_linkage.perturbed(found, 0.9, np.random.default_rng(0))
                top1.append(copied.top1_hit_rate if copied is not None else None)
            embedded = np.round(found.representation.embed(found.original), 9)
            yield name, len(np.unique(embedded, axis=0)) / len(embedded), *top1
        self_linkage.NUMBER_NOISE, self_linkage.TIME_NOISE, self_linkage.SWAP = kept

    table("Top-1 in a perturbed copy", ("representation", "attainable", *steps), rows())


def random(place: Path) -> None:
    """Random projections of several dimensions beside PCA."""
    files = demo(place)

    def rows() -> Iterable[Iterable[object]]:
        for name, projection in (
            *((f"random, {k}", {"random": {"components": k}}) for k in (5, 10, 20, 40, 79)),
            ("PCA, 90% (20 components)", "pca"),
            ("none (79 features)", "identity"),
        ):
            found = audited(files, config(projection=projection))
            copied = found.self_linkage.perturbed.top1_hit_rate
            power, top1 = found.power[1].power, found.truth.top1_hit_rate
            yield name, found.linkage_rate.estimate, found.control.rate, power, top1, copied

    head = ("projection", "linkage rate", "control rate", "power at 5%", "top-1", "self-linkage top-1")
    table("Dimension of a random projection", head, rows())


def lsh(place: Path) -> None:
    """Blocking by SimHash with several numbers of bits."""
    files = demo(place)

    def rows() -> Iterable[Iterable[object]]:
        for bits in (2, 4, 6, 8, 10, 12, 16):
            found = audited(files, config(blocking={"lsh": {"bits": bits}}))
            blocks, truth = found.blocks, found.truth
            rates = truth.blocking_recall, found.linkage_rate.estimate, truth.top1_hit_rate, found.power[1].power
            yield bits, blocks.count, blocks.mean_candidates, *rates

    head = ("bits", "blocks", "mean candidates", "blocking recall", "linkage rate", "top-1", "power at 5%")
    table("Bits of locality-sensitive hashing", head, rows())


def recall(place: Path) -> None:
    """How far blocking recall falls when the blocking is finer than the release's noise."""
    files = demo(place)
    schemes = {
        "none": "none",
        "gender": ["gender"],
        "age by 10, gender, region level 1 (demo)": "columns",
        "age by 5, gender, region level 2": [{"age": {"bin": 5}}, "gender", {"region": {"level": 2}}],
        "age exact, gender, region level 2": [{"age": "exact"}, "gender", {"region": {"level": 2}}],
        "age exact, gender, region, day of purchase": [
            {"age": "exact"},
            "gender",
            {"region": "exact"},
            {"purchase_time": {"truncate": "day"}},
        ],
    }

    def rows() -> Iterable[Iterable[object]]:
        for name, blocking in schemes.items():
            found = audited(files, config(blocking=blocking))
            rules = ", ".join(warning.rule for warning in found.warnings) or "none"
            rates = found.truth.blocking_recall, found.linkage_rate.estimate, found.control.rate
            yield name, *rates, found.truth.top1_hit_rate, rules

    head = ("blocking", "blocking recall", "linkage rate", "control rate", "top-1", "warnings")
    table("Blocking finer than the noise", head, rows())


def missing(place: Path) -> None:
    """Gaps at the pooled mean against gaps as a feature of their own, where a tenth of the values is missing.

    The noise leaves a missing number or time missing, so that gaps are a fingerprint, if one looks at them.
    """
    files = demo(place, missing=0.1)

    def rows() -> Iterable[Iterable[object]]:
        for name in ("neutral", "indicator"):
            found = audited(files, config(vectorization={"missing": name}, blocking="none"))
            rates = found.linkage_rate.estimate, found.control.rate, found.power[1].power
            yield name, *rates, found.truth.top1_hit_rate

    table("Missing values", ("missing", "linkage rate", "control rate", "power at 5%", "top-1"), rows())


def zero(place: Path) -> None:
    """Norms of records at the mean (every cell empty) and of all others, over the root mean square norm."""
    original, released, control = demo(place)
    text = original.read_text()
    columns = text.splitlines()[0].count(",")
    original.write_text(text + "".join(f"{RECORDS + i}{',' * columns}\n" for i in range(100)))
    columns_without_id = {name: item for name, item in config()["columns"].items() if name != "person_id"}
    settings = {**config(), "columns": columns_without_id, "truth": None}
    found = attacked((original, released, control), settings)
    embedded = found.representation.embed(found.original)
    norms = np.sqrt((embedded**2).sum(axis=1))
    typical = np.sqrt((norms**2).mean())
    table(
        "Norms over the root mean square norm",
        ("records", "smallest", "largest"),
        (
            (name, f"{part.min() / typical:.1e}", f"{part.max() / typical:.1e}")
            for name, part in (("all cells empty", norms[RECORDS:]), ("others", norms[:RECORDS]))
        ),
    )


def variance(place: Path) -> None:
    """Eigenvalues over the largest one: the directions that one-hot coding empties, and the smallest real one."""
    found = attacked(demo(place), config())
    space = found.representation.space
    parts = [space(side).moments(space.neutral) for side in (found.original, found.protected)]
    total = sum(part[0] for part in parts)
    mean = (parts[0][1] + parts[1][1]) / total
    values = np.linalg.eigvalsh((parts[0][2] + parts[1][2]) / total - np.outer(mean, mean))[::-1]
    empty = sum(part.encoding == "one_hot" for part in space.category_features)
    real = values[: len(values) - empty]
    table(
        "Eigenvalues over the largest",
        ("directions", "count", "largest", "smallest"),
        (
            ("with variance", len(real), f"{real[0] / values[0]:.1e}", f"{real[-1] / values[0]:.1e}"),
            (
                "emptied by one-hot coding",
                empty,
                f"{np.abs(values[-empty:]).max() / values[0]:.1e}",
                f"{np.abs(values[-empty:]).min() / values[0]:.1e}",
            ),
        ),
    )


def labels(_: Path) -> None:
    """Time and memory of the eigenvalue problem by the number of features, on one core."""

    def rows() -> Iterable[Iterable[object]]:
        rng = np.random.default_rng(0)
        for width in (500, 1000, 2000, 3000, 4000):
            matrix = rng.normal(size=(width, width))
            covariance = matrix @ matrix.T / width
            with threadpool_limits(limits=1, user_api="blas"):
                start = time.perf_counter()
                np.linalg.eigh(covariance)
                yield width, f"{time.perf_counter() - start:.1f}", covariance.nbytes / 1e6

    table("The eigenvalue problem", ("features", "seconds", "MB of one matrix"), rows())


def pairs(place: Path) -> None:
    """P(S >= 0.90) over all candidate pairs, and over samples of them."""
    found = attacked(demo(place), config())
    start = time.perf_counter()
    every = candidate_similarities(found.scorer, found.partitions, np.random.default_rng(0))
    seconds = time.perf_counter() - start
    shares = []
    for seed in range(20):
        some = candidate_similarities(found.scorer, found.partitions, np.random.default_rng(seed), most=0)
        shares.append(float(np.mean(some.values >= 0.9)))
    table(
        "Sampled pairs",
        ("pairs", "share at or above 0.90", "standard deviation over 20 draws", "seconds"),
        (
            (f"all {every.total:,}", f"{np.mean(every.values >= 0.9):.6f}", "-", f"{seconds:.2f}"),
            (f"{len(some.values):,} drawn", f"{np.mean(shares):.6f}", f"{np.std(shares):.6f}", "-"),
        ),
    )


def tiles(place: Path) -> None:
    """How far a tile's scores lie from the formula's, beside the tolerance that the search allows."""
    files = demo(place, records=2_000)

    def rows() -> Iterable[Iterable[object]]:
        for similarity in ("cosine", "euclidean", "mahalanobis", "jaccard", "agreement"):
            found = attacked(files, config(similarity=similarity))
            everything = slice(0, 2_000)
            scorer = found.scorer.sorted(np.arange(2_000), np.arange(2_000))
            tile = scorer.tile(everything, everything)
            query, candidate = (side.ravel() for side in np.indices(tile.shape))
            gap = np.abs(tile.ravel() - scorer.pairs(query, candidate)).max()
            yield similarity, f"{gap:.1e}", f"{scorer.tolerance:.1e}"

    table("Tile against formula", ("similarity", "largest difference", "tolerance"), rows())


TABLES = {
    item.__name__: item for item in (perturbation, random, lsh, recall, missing, zero, variance, labels, pairs, tiles)
}


def main() -> None:
    """Print the tables that were asked for."""
    for name in sys.argv[1:] or TABLES:
        with tempfile.TemporaryDirectory() as folder:
            TABLES[name](Path(folder))


if __name__ == "__main__":
    main()
