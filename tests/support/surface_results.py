"""Results of a surface with given rates, for tests of what is shown of them."""

from __future__ import annotations

from browser import SIZES, check, chromium, needs_browser, schemes, schemes_for_axe, serious_faults  # noqa: F401 - a fixture
from cvpl.result import (
    Attributable,
    Input,
    MeanUtility,
    Provenance,
    Rate,
    Risk,
    SurfaceCell,
    SurfaceResult,
    SurfaceSetting,
    SurfaceTarget,
)


def utility_figures(mean):
    return MeanUtility(
        mean=mean,
        correlation_preservation=mean,
        marginal_similarity=None,
        downstream_accuracy_ratio=None,
        distance_preservation=None,
        distance_basis="distributions",
    )


def cell(threshold, rate, *, safe=None, steep=False, contradicted=False):
    return SurfaceCell(
        threshold=threshold,
        linkage_rate=rate,
        low=rate,
        high=rate,
        control_rate=0.0,
        attributable_rate=rate,
        attributable_low=rate,
        attributable_high=rate,
        safe=safe,
        steep=steep,
        contradicted=contradicted,
    )


def setting(strength, rates, *, safe=(), mean=0.5, doubts=()):
    """A row over the thresholds 0.7, 0.8, 0.9; `safe` holds the places of its safe cells."""
    cells = [cell(t, r, safe=at in safe) for at, (t, r) in enumerate(zip((0.7, 0.8, 0.9), rates, strict=True))]
    return SurfaceSetting(
        strength=strength,
        release=Input(name="release.csv", rows=10, columns=3, sha256=None),
        asked=10,
        pairs=100,
        threshold=0.9,
        judged="attributable_rate",
        linkage_rate=Rate(estimate=rates[-1], low=rates[-1], high=rates[-1], method="people"),
        control=None,
        attributable_rate=Attributable(
            estimate=rates[-1], low=rates[-1], high=rates[-1], method="people", basis="control"
        ),
        power=None,
        top1_hit_rate=None,
        utility=utility_figures(mean),
        doubts=list(doubts),
        safe=2 in safe,
        cells=cells,
        warnings=[],
    )


def result_of(rows, **changes):
    content = {
        "schema": "cvpl/surface/1",
        "inputs": {"original": Input(name="people.csv", rows=10, columns=3, sha256=None)},
        "scenario": "blind",
        "sweep": "mechanism",
        "mechanism": "synthetic",
        "function": False,
        "attacker": "main",
        "asked_for": None,
        "attacker_settings": {},
        "picked": None,
        "canaries": None,
        "axis": "threshold",
        "settings": rows,
        "failed": [],
        "rises_at": [],
        "high_sensitivity": 0.05,
        "target": SurfaceTarget(rate=0.1, inside=[], isolated=[], weakest=None),
        "warnings": [],
        "lower_bound": False,
        "provenance": Provenance(seed=1, versions={"cvpl": "0"}, config={"seed": 1}),
    }
    return SurfaceResult.model_validate(content | changes)


def with_risk(row, estimate):
    ends = {"low": estimate - 0.05, "high": estimate + 0.05}
    risk = Risk(estimate=estimate, power=None, false_rate=0.05, basis="control", attacker="main", **ends)
    return row.model_copy(update={"judged": "risk", "risk": risk})
