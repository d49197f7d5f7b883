"""Fellegi-Sunter on an attack's own candidate pairs, with its parameters before and after EM."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.estimates import FALSE_RATES
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import Roc
from cvpl.evaluation.truth import Truth
from cvpl.operators.similarity.match_agreement import FittedParameters, Parameters
from cvpl_paper.baselines.fellegi_sunter import START_M, FellegiSunter, Links, figures, fit_fellegi_sunter, link

Floats = NDArray[np.float64]


def weighed(measured: Measurement) -> dict[str, Any]:
    """The figures of both, by name.

    `em` has m and the share of matches as EM estimates them from the pairs. `start` has EM's start values, which use
    the pairs only for their chance agreement u: m = u + 0.9 (1 - u), one match for each record of the smaller table.
    The weights of `start` express the prior assumption that matches agree.
    """
    done, truth = measured.attack, measured.truth
    assert truth is not None  # noqa: S101 - releases made here have known matches
    model = fit_fellegi_sunter(done)
    return {name: _figures(done, item, truth) for name, item in (("em", model), ("start", at_the_start(done, model)))}


def at_the_start(done: Attack, model: FellegiSunter) -> FellegiSunter:
    """The model with EM's start values; u is the probability in blocks, which EM does not change."""
    u = model.estimate.parameters.u
    share = min(0.5, min(done.original.rows, done.protected.rows) / max(1, model.patterns.pairs))
    start = Parameters(u + START_M * (1 - u), u, share)
    return replace(model, estimate=FittedParameters(start, True, np.zeros(1)))


def _figures(done: Attack, model: FellegiSunter, truth: Truth) -> dict[str, Any]:
    links = link(done, model)
    roc = Roc.of(links.found.best, _base(done, links, truth))
    return asdict(figures(done, links, truth)) | {
        "power": {f"{rate:g}": roc.power(rate) for rate in FALSE_RATES},
        "share": model.share,
        "m": dict(model.m),
        "u": dict(model.u),
    }


def _base(done: Attack, links: Links, truth: Truth) -> Floats:
    """The best weights of the control or, without one, of the originals with their own matches left out."""
    if done.control is None:
        return done.find(links.scorer, done.partitions, truth.matches).best
    scorer = links.model.scorer(done.control, done.protected)
    return done.find(scorer, done.searched.partitions("control", "protected")).best
