"""Cells: one release under one attacker, with every figure of the paper's tables.

A cell's people, control and noise depend on its seed and settings alone, so that cells can run in any order and on any
number of cores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.sensitivity import climb
from cvpl.assessment.diagnostics.validity import validity
from cvpl.attack.attack import Attack, attack
from cvpl.attack.embedding import linear
from cvpl.evaluation.attack_figures import block_sizes
from cvpl.evaluation.columns import structural
from cvpl.evaluation.measurement import Measurement, measure
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.truth import (
    blocking_recall,
    compare,
    false_link_rate,
    matching_recall,
    precision_at_1,
    top1_hit_rate,
    total_recall,
)
from cvpl.randomness import stream
from cvpl.search.machine import one_blas_thread
from cvpl.tables.columns import Pair
from cvpl.tables.evaluation_only import TrueMatches
from cvpl.tables.in_memory import matches_of, pair_of
from cvpl.utility import utility
from cvpl_paper.baselines.agreement import Comparison
from cvpl_paper.baselines.distances import (
    distance_to_closest_record,
    nearest_distances,
    nearest_neighbour_distance_ratio,
)
from cvpl_paper.baselines.fellegi_sunter import figures as linked_figures
from cvpl_paper.baselines.fellegi_sunter import fit_fellegi_sunter, link
from cvpl_paper.baselines.random_within_block import expected_linkage_rate, expected_top1_hit_rate
from cvpl_paper.baselines.same_source import same_source_share, training_share
from cvpl_paper.world import CONFIGURATIONS, THRESHOLD, people, release, resolved

Kind = Literal["grid", "ablation", "ladder"]
Figures = dict[str, Any]

ABLATED = "perturbation medium"
"""The release of the ablations and of the ladder: the paper does not name its own."""

VARIANTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "blocking": {
        "default": {},
        "none": {"blocking": "none"},
        "weak": {"blocking": [{"region": {"level": 1}}]},
        "strong": {"blocking": [{"age": "exact"}, {"gender": "exact"}, {"region": "exact"}]},
        "ensemble": {"blocking": {"any_of": [["age", "gender"], ["age", "region"], ["gender", "region"]]}},
    },
    "vectorization": {
        "default": {},
        "robust scaling": {"vectorization": {"scale": "robust"}},
        "frequency encoding": {"vectorization": {"encode": "frequency"}},
        "hierarchical encoding": {"vectorization": {"encode": "hierarchical"}},
    },
    "projection": {
        "default": {},
        "none": {"projection": "identity"},
        "robust PCA": {"projection": "robust_pca"},
        "UMAP": {"projection": "umap"},
        "random": {"projection": {"random": {"components": 20}}},
    },
    "similarity": {
        "default": {},
        "euclidean": {"similarity": "euclidean"},
        "mahalanobis": {"similarity": "mahalanobis"},
        "jaccard": {"similarity": "jaccard"},
    },
    "PCA fitting": {
        "default": {},
        "original": {"projection": {"pca": {"fit": "original"}}},
        "protected": {"projection": {"pca": {"fit": "protected"}}},
    },
}
"""The attackers of section 8.14 and appendix B: the changes of each to the paper's attacker."""

LADDER: tuple[tuple[str, list[Any]], ...] = (
    ("age, gender, region", [{"age": {"bin": 10}}, "gender", {"region": "exact"}]),
    ("age, gender, region level 1", [{"age": {"bin": 10}}, "gender", {"region": {"level": 1}}]),
    ("age, gender", [{"age": {"bin": 10}}, "gender"]),
    ("age", [{"age": {"bin": 10}}]),
    ("none", []),
)


@dataclass(frozen=True)
class Cell:
    """A unit of work: a configuration of the grid, a variant of an ablation ("blocking: none"), or the ladder."""

    kind: Kind
    name: str
    outliers: float
    seed: int
    records: int

    @property
    def key(self) -> str:
        """The identifier of the cell within its run."""
        return f"{self.kind}/{self.name}/{self.outliers:g}/{self.seed}"

    def run(self) -> Figures:
        """Compute its figures."""
        return run_cell(self)


def run_cell(cell: Cell) -> Figures:
    """Compute the figures of a cell; the same on every call, whatever the number of cores."""
    with one_blas_thread():
        if cell.kind == "grid":
            return _grid(cell)
        return _ablation(cell) if cell.kind == "ablation" else _ladder(cell)


def _tables(cell: Cell, configuration: str) -> tuple[Pair, TrueMatches]:
    """The people of a cell, their release, and as many other people as control."""
    original = people(cell.records, cell.outliers, cell.seed, "people")
    control = people(cell.records, cell.outliers, cell.seed, "control")
    protected = release(CONFIGURATIONS[configuration], original, cell.seed)
    pair = pair_of([original, protected, control], resolved().specs)
    return pair, matches_of(original, protected)


def _attacked(cell: Cell, pair: Pair, changes: Mapping[str, Any]) -> Attack:
    settings = resolved(changes)
    attacker = settings.attackers["main"]
    return attack(pair, attacker, seed=cell.seed, budget=settings.budget, levers=settings.levers)


def _measured(done: Attack, matches: TrueMatches) -> Measurement:
    control = done.search_control(lambda share: None)
    return measure(done, matches, control, grid=resolved().config.grid.values(), method="people")


def _grid(cell: Cell) -> Figures:
    pair, matches = _tables(cell, cell.name)
    done = _attacked(cell, pair, {})
    measured = _measured(done, matches)
    return {
        "released": pair.protected.rows,
        **_rates(measured),
        **_baselines(done, measured),
        **_utility(done, pair, matches, cell),
        **_representation(done, cell),
        "blocks": block_sizes(done.partitions[0]).model_dump(),
        "block_rates": _dispersion(done),
        "distributions": _distributions(measured),
        "random_linkage_rate": expected_linkage_rate(done, THRESHOLD),
    }


def _rates(measured: Measurement) -> Figures:
    """The attack's own figures at the threshold, and the curve."""
    truth, best = measured.truth, measured.attack.found.best
    assert truth is not None  # noqa: S101 - simulated tables have known matches
    nobody = not truth.has_match.any()
    return {
        "linkage_rate": measured.rate.value,
        "curve": [float(value) for value in measured.curve],
        "control_rate": measured.base_rate.value if measured.basis == "control" else None,
        "attributable_rate": measured.attributable.value,
        "power": None
        if measured.power is None
        else {f"{rate:g}": power.value for rate, power in measured.power.items()},
        "blocking_recall": blocking_recall(truth),
        "true_link_rate": matching_recall(truth, THRESHOLD),
        "total_recall": total_recall(truth, THRESHOLD),
        "false_link_rate": false_link_rate(truth, THRESHOLD),
        "top1_hit_rate": top1_hit_rate(truth),
        # A synthetic record belongs to nobody: every link is wrong.
        "precision_at_1": 0.0 if nobody else precision_at_1(truth, best, THRESHOLD),
        "random_top1": expected_top1_hit_rate(measured.attack, truth),
        "candidates": float(measured.attack.found.candidates.mean()),
        "pairwise_false_link_rate": float(np.mean(measured.pairs.values >= THRESHOLD)),
    }


def _baselines(done: Attack, measured: Measurement) -> Figures:
    assert measured.truth is not None  # noqa: S101 - as above
    model = fit_fellegi_sunter(done, Comparison(times="features"))  # hour and day, as the attack compares them
    found = linked_figures(done, link(done, model), measured.truth)
    nearest = nearest_distances(done)
    source, training = same_source_share(done, measured.truth), training_share(done)
    return {
        "fellegi_sunter": vars(found) | {"share": model.share},
        "dcr": vars(distance_to_closest_record(nearest)),
        "nndr": vars(nearest_neighbour_distance_ratio(nearest)),
        "same_source": vars(source),
        "training": None if training is None else vars(training),
    }


def _utility(done: Attack, pair: Pair, matches: TrueMatches, cell: Cell) -> Figures:
    rows = (matches.original, matches.protected) if len(matches.original) else None
    found = utility(pair, stream(cell.seed, "utility"), vectorization=done.attacker.vectorization, matches=rows)
    return {"utility": found.mean, "utility_parts": dict(found.figures)}


def _representation(done: Attack, cell: Cell) -> Figures:
    """The distance between the tables in the attacker's space, and the contributions of columns to it."""
    valid = validity(done, None, stream(cell.seed, "validity"))
    fitted = linear(done.representation.projection)
    choices = done.attacker.vectorization.columns
    compared = [spec.name for spec in resolved().specs if spec.name not in choices or choices[spec.name].vectorize]
    shares = dict.fromkeys(compared, 0.0)  # a column that the release fully suppresses contributes nothing
    if fitted is not None and fitted.variances is not None:
        shares |= structural(done.representation.space, fitted.loadings, fitted.variances)
    return {
        "shift": valid.shift,
        "assessable": valid.assessable,
        "components": None if fitted is None else int(fitted.loadings.shape[1]),
        "contribution": shares,
        "dependence_kept": _dependence_kept(done),
    }


def _dependence_kept(done: Attack) -> float | None:
    """The slope of the release's correlations on the original's, over pairs of features of different columns."""
    space = done.representation.space
    apart = np.array([[one != other for other in space.owners] for one in space.owners], dtype=bool)
    found = []
    for table in (done.original, done.protected):
        total, first, second = done.representation.vectors(table).moments(space.neutral)
        mean = first / total
        covariance = second / total - np.outer(mean, mean)
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        scale = np.outer(deviation, deviation)
        correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 1e-12)
        found.append(correlation[apart])
    square = float(found[0] @ found[0])
    return float(found[0] @ found[1]) / square if square > 0 else None


def _dispersion(done: Attack) -> Figures:
    """The linkage rates of single blocks: their spread and their tail."""
    blocks = done.blocks.schemes[0].codes["original"]
    linked = (done.found.best >= THRESHOLD).astype(np.float64)
    sizes = np.bincount(blocks)
    rates = np.bincount(blocks, weights=linked)[sizes > 0] / sizes[sizes > 0]
    return {
        "sd": float(rates.std()),
        "p95": float(np.quantile(rates, 0.95)),
        "above_0.5": float(np.mean(rates > 0.5)),
        "above_0.7": float(np.mean(rates > 0.7)),
    }


def _distributions(measured: Measurement) -> Figures | None:
    assert measured.truth is not None  # noqa: S101 - as above
    found = compare(measured.truth.match_similarity, measured.pairs.values)
    if found is None:
        return None
    shares: dict[str, NDArray[np.float64]] = {
        "edges": found.edges,
        "matches": found.matches,
        "non_matches": found.non_matches,
    }
    lists = {name: [round(float(value), 6) for value in values] for name, values in shares.items()}
    return lists | {"overlap": found.overlap, "separation": found.separation}


def _ablation(cell: Cell) -> Figures:
    table, variant = cell.name.split(": ")
    pair, matches = _tables(cell, ABLATED)
    measured = _measured(_attacked(cell, pair, VARIANTS[table][variant]), matches)
    assert measured.truth is not None  # noqa: S101 - as above
    best = measured.attack.found.best
    return {
        "linkage_rate": linkage_rate(best, THRESHOLD),
        "linkage_rate_without_threshold": linkage_rate(best, -1.0),
        "precision_at_1": precision_at_1(measured.truth, best, THRESHOLD),
        "top1_hit_rate": top1_hit_rate(measured.truth),
        "blocking_recall": blocking_recall(measured.truth),
        # A projection that cannot map other people has no control, and its own basis would not compare.
        "control_rate": measured.base_rate.value if measured.basis == "control" else None,
        "attributable_rate": measured.attributable.value if measured.basis == "control" else None,
        "pairs": measured.attack.blocks.pairs,
    }


def _ladder(cell: Cell) -> Figures:
    pair, _ = _tables(cell, ABLATED)
    rungs = [blocking for _, blocking in LADDER]
    done = _attacked(cell, pair, {"ladder": {"rungs": rungs, "stop_below": 0}})
    found = climb(done, THRESHOLD)
    assert found is not None  # noqa: S101 - the attacker has a ladder
    return {"rates": [rung.linkage_rate for rung in found.rungs], "pairs": [rung.pairs for rung in found.rungs]}
