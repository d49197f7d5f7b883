"""From an attacker's figures at one strength to a row of the surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cvpl import assembly
from cvpl import result as out
from cvpl.contenders import Contender, Standing
from cvpl.evaluation.control import attributable_rate
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.regions import HIGH_SENSITIVITY, steep_cells
from cvpl.evaluation.truth import top1_hit_rate
from cvpl.gate import doubts
from cvpl.notices import notices
from cvpl.provenance import described
from cvpl.result.surface import JudgedFigure, Strength
from cvpl.streams import stream
from cvpl.tables.pair import Inputs
from cvpl.utility import utility


def utility_of(inputs: Inputs, contender: Contender) -> out.MeanUtility:
    """The utility of the release, by the features of the attacker, so that both speak of the same structure."""
    matches, done = inputs.matches, contender.measured.attack
    rows = (matches.original, matches.protected) if matches is not None and len(matches.original) else None
    rng = stream(done.seed, "utility")
    found = utility(inputs.pair, rng, vectorization=done.attacker.vectorization, matches=rows)
    return out.MeanUtility(mean=found.mean, distance_basis=found.distance.basis, **found.figures)


def setting_row(
    strength: Strength,
    name: str,
    contender: Contender,
    inputs: Inputs,
    *,
    confidence: float,
    target: float | None,
    useful: out.MeanUtility,
) -> out.SurfaceSetting:
    """One strength's row: the figures at the own reading, and the cells, of which the steep ones are found later."""
    measured = contender.measured.at_confidence(confidence)
    standing = Standing.of({name: contender})
    judged: JudgedFigure = "linkage_rate" if measured.basis is None else "attributable_rate"
    found = (*doubts(measured, standing.reasons, judged), *_found_more(measured, target))
    interval = measured.rate_interval if judged == "linkage_rate" else measured.attributable_interval
    done = measured.attack
    return out.SurfaceSetting(
        strength=strength,
        release=described(inputs)["protected"],
        asked=done.original.rows,
        pairs=done.blocks.pairs,
        threshold=measured.threshold,
        judged=judged,
        linkage_rate=assembly.rate(measured),
        control=assembly.control(measured),
        attributable_rate=assembly.attributable(measured),
        power=assembly.power(measured),
        top1_hit_rate=None if measured.truth is None else top1_hit_rate(measured.truth),
        utility=useful,
        doubts=list(found),
        safe=_safe(None if interval is None else interval.high, target, contradicted=bool(found)),
        cells=_cells(measured, standing.reasons, judged, target),
        warnings=[
            out.Warning_(rule=it.rule, message=it.message, docs=it.docs)
            for it in notices(measured, standing, inputs, None, None)
        ],
    )


def with_steepness(rows: Sequence[out.SurfaceSetting]) -> list[out.SurfaceSetting]:
    """The rows with their cells of high sensitivity marked, by the judged rate of each."""
    rates = [[_judged(cell, row.judged) for cell in row.cells] for row in rows]
    steep = steep_cells(rates, HIGH_SENSITIVITY)
    return [
        row.model_copy(
            update={
                "cells": [
                    cell.model_copy(update={"steep": is_steep}) for cell, is_steep in zip(row.cells, marks, strict=True)
                ]
            }
        )
        for row, marks in zip(rows, steep, strict=True)
    ]


def _judged(cell: out.SurfaceCell, judged: JudgedFigure) -> float | None:
    return cell.linkage_rate if judged == "linkage_rate" else cell.attributable_rate


def _cells(
    measured: Measurement, reasons: tuple[str, ...], judged: JudgedFigure, target: float | None
) -> list[out.SurfaceCell]:
    cells = []
    for point in assembly.curve(measured, measured.grid):
        at = measured if point.threshold is None else _read_at(measured, point.threshold)
        contradicted = bool(doubts(at, reasons, judged) or _found_more(measured, target))
        high = point.high if judged == "linkage_rate" else point.attributable_high
        safe = _safe(high, target, contradicted=contradicted)
        cells.append(out.SurfaceCell(**point.model_dump(), contradicted=contradicted, safe=safe))
    return cells


def _found_more(measured: Measurement, target: float | None) -> tuple[str, ...]:
    """Where the best candidate is the right person for more than the target, no rate below it counts."""
    hits = None if measured.truth is None else top1_hit_rate(measured.truth)
    if target is None or hits is None or hits <= target:
        return ()
    return (f"the best candidate is the right person for {hits:.1%}, more than the target",)


def _safe(high: float | None, target: float | None, *, contradicted: bool) -> bool | None:
    """Whether the upper end is at most the target and nothing contradicts it; None without a target."""
    return None if target is None else high is not None and high <= target and not contradicted


def _read_at(measured: Measurement, threshold: float) -> Measurement:
    """The same attack read at another threshold."""
    rate = linkage_rate(measured.attack.scores, threshold)
    base = None if measured.base_scores is None else linkage_rate(measured.base_scores, threshold)
    attributable = None if base is None else attributable_rate(rate, base)
    return replace(measured, threshold=threshold, rate=rate, base_rate=base, attributable=attributable)
