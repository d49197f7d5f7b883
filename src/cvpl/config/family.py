"""The family of attackers of `attacker: default`, and random attackers from a wider family.

Each member is written as in `audit.yaml`, and lists how it differs from the paper's attacker. The maker of a release
may choose its blocking, so most members use none. Members that need a reference sample of people outside the release
use half of the control, and are left out without one. Members that compare released cells by the values that they allow
run only if the release has cells that allow several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cvpl.config.written_attacker import AttackerConfig

_OPEN = {"alignment": "release", "blocking": "none"}
_NEAREST = _OPEN | {"similarity": "euclidean", "threshold": "false_rate"}
_RARITY = _OPEN | {"similarity": "rarity"}
_ESTIMATED = _OPEN | {"similarity": {"agreement": {"m": "release", "u": "values", "tolerance": "release"}}}
_RANKS = {"alignment": "ranks", "blocking": "none", "threshold": "false_rate"}
_NEAREST_RANKS = _RANKS | {"projection": "identity", "similarity": "euclidean"}
_CONTAINED = {"alignment": "cells", "blocking": "none", "similarity": {"rarity": {"m": 0.99}}}

FAMILY: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "aligned": {"alignment": "release", "blocking": "compatible"},
    "unblocked": _OPEN,
    "unprojected": _OPEN | {"projection": "identity"},
    "margin": _OPEN | {"evidence": "margin"},
    "nearest": _NEAREST,
    "nearest_reference": _NEAREST | {"evidence": "reference"},
    "nearest_unprojected": _NEAREST | {"projection": "identity"},
    "nearest_unprojected_reference": _NEAREST | {"projection": "identity", "evidence": "reference"},
    "fellegi_sunter": _OPEN | {"similarity": "agreement"},
    "fellegi_sunter_reference": _OPEN | {"similarity": {"agreement": {"m": 0.6}}, "evidence": "reference"},
    "fellegi_sunter_em": _ESTIMATED,
    "fellegi_sunter_em_density": _ESTIMATED | {"evidence": "density"},
    "rarity": _RARITY,
    "rarity_margin": _RARITY | {"evidence": "margin"},
    "rarity_reference": _RARITY | {"evidence": "reference"},
    "rarity_density": _RARITY | {"evidence": "density"},
    "contained": _CONTAINED,
    "contained_margin": _CONTAINED | {"evidence": "margin"},
    "ranks": _NEAREST_RANKS,
    "ranks_reference": _NEAREST_RANKS | {"evidence": "reference"},
    "ranks_fellegi_sunter": _RANKS | _ESTIMATED | {"alignment": "ranks"},
    "differences": _OPEN | {"alignment": "differences", "similarity": {"rarity": {"tolerance": 0}}},
    "ratios": _NEAREST | {"alignment": "ratios", "projection": "identity"},
    "between": _NEAREST | {"projection": "identity", "evidence": "between"},
    "words": _NEAREST | {"projection": "identity", "evidence": "words"},
    "single_values": _RARITY | {"evidence": "values"},
}

_PROJECTIONS: tuple[Any, ...] = (
    "pca",
    "robust_pca",
    "identity",
    {"pca": {"variance": 0.8}},
    {"pca": {"variance": 0.99}},
)
_BY_VECTORS: tuple[Any, ...] = ("cosine", "euclidean")
_BY_VALUES: tuple[Any, ...] = ("agreement", {"agreement": {"m": 0.6}}, "rarity")
_KNOWN = 0.75
"""The probability that a drawn attacker ignores a column; it keeps at least one."""
DRAWN = 3


def family(common: AttackerConfig) -> dict[str, AttackerConfig]:
    """The members of the family, each with the attacker's knowledge from `common`."""
    known = {
        "knows": common.knows,
        "knows_people": common.knows_people,
        "errors": common.errors,
        "threshold": common.threshold,
    }
    return {name: AttackerConfig.model_validate({**known, **settings}) for name, settings in FAMILY.items()}


def draw(
    columns: list[str], people: float, blockable: bool, reference: bool, rng: np.random.Generator, errors: float = 0.0
) -> dict[str, AttackerConfig]:
    """Random attackers, so that no release can be tuned to them: columns, operators and evidence are drawn.

    `columns` are those that attackers may know, `people` the share of the originals that they know, and `errors` the
    share of their values that are wrong. `blockable` says
    whether the columns have blocking rules, `reference` whether there is a control to use as a reference sample.
    """
    drawn = {}
    for number in range(1, DRAWN + 1):
        kept = [name for name in columns if rng.random() < _KNOWN]
        blocked = blockable and rng.random() < 0.25
        projection, similarity = _one(_PROJECTIONS, rng), _one(_BY_VECTORS + _BY_VALUES, rng)
        evidence = ["best", "margin"] + (["reference"] if reference else [])
        if reference and similarity in _BY_VALUES and not blocked:
            evidence.append("density")
        settings: dict[str, Any] = {
            "knows": kept or columns,
            "knows_people": people,
            "errors": errors,
            "alignment": "release",
            "blocking": "columns" if blocked else "none",
            "projection": projection,
            "similarity": similarity,
            "evidence": _one(tuple(evidence), rng),
            "threshold": "false_rate",
            "vectorization": {"scale": _one(("z_score", "robust"), rng), "encode": _one(("one_hot", "frequency"), rng)},
        }
        drawn[f"drawn_{number}"] = AttackerConfig.model_validate(settings)
    return drawn


def _one(choices: tuple[Any, ...], rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]
