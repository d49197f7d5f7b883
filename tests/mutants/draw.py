"""The mutants of a package, and a random choice of them."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .equivalent import PlaceInWords, reasons
from .places import places

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
VECTORS = "cvpl/search/tree/simd.py"
PACKAGES = {
    "operators": (
        "cvpl/operators",
        "operators operator_edges alignment rarity fellegi_sunter match_agreement containment compatible hierarchy "
        "column_kinds laws properties edges figures_by_hand against_oracle",
    ),
    "search": (
        "cvpl/search",
        "search_parts search_tree search_values search_ways rarity fellegi_sunter compatible containment row_hash "
        "engines levers machine figures_by_hand laws edges",
    ),
    "evaluation": (
        "cvpl/evaluation",
        "verdict_rules gate_rules warning_rules attack_rates figure_edges calibration rounded_rates intervals "
        "groups subgroups people policy contradictions control_likeness contribution_by_power figures_by_hand "
        "edges combined membership population formal_criteria singling_out inference inference_groups "
        "trial_statistics properties recommendation evaluation_parts inference_parts singling_out_parts "
        "group_parts interval_parts release_report structural_spread",
    ),
    "verdict": (
        "cvpl/assessment/decision.py cvpl/assessment/decision.py cvpl/assessment/decision.py cvpl/result/verdict.py "
        "cvpl/evaluation/measurement.py cvpl/evaluation/contradictions.py",
        "verdict_rules gate_rules warning_rules verdict contradictions policy figures_by_hand",
    ),
}
"""The modules of each package, and the tests that look at them."""
BY_RULE = "Only stops lists of unequal length"


@dataclass(frozen=True)
class Mutant:
    """One fault: in which module, at which place of its tree, and what is changed."""

    package: str
    file: str
    place: int
    line: int
    what: str
    function: str
    statement: str
    expression: str
    nth: int
    reason: str
    """Why no figure can show the change; "" if one can, or if nobody has looked."""

    @property
    def key(self) -> str:
        return f"{self.package}:{self.file}:{self.place}"

    @property
    def place_in_words(self) -> PlaceInWords:
        """The place as `equivalent.yaml` names it, which does not change with the lines around it."""
        return PlaceInWords(self.file, self.function, self.statement, self.expression, self.what, self.nth)

    @property
    def has_loops(self) -> bool:
        """Whether its module has compiled functions that can be run uncompiled."""
        return self.file != VECTORS and "njit" in (SOURCE / self.file).read_text(encoding="utf-8")

    @property
    def source(self) -> str:
        """A fingerprint of the sound module, as in the output."""
        return hashlib.sha256((SOURCE / self.file).read_bytes()).hexdigest()[:12]


def mutants(package: str) -> list[Mutant]:
    """Every mutant of a package."""
    known, found = reasons(), []
    for file in files_of(package):
        name = str(file.relative_to(SOURCE))
        for at, place in enumerate(places(ast.parse(file.read_text(encoding="utf-8")))):
            line = getattr(place.node, "lineno", 0)
            about = (place.what, place.function, place.statement, place.expression, place.nth)
            mutant = Mutant(package, name, at, line, *about, reason="")
            reason = BY_RULE if place.by_rule else known.get(mutant.place_in_words, "")
            found.append(replace(mutant, reason=reason))
    return found


def files_of(package: str) -> list[Path]:
    """The modules of a package."""
    parts = [SOURCE / part for part in PACKAGES[package][0].split()]
    return [file for part in parts for file in (sorted(part.rglob("*.py")) if part.is_dir() else [part])]


def drawn(package: str, count: int, seed: int) -> list[Mutant]:
    """Some of the package's mutants, the same for the same seed; those that no figure can show are left out."""
    return [one for one in in_random_order(package, seed) if not one.reason][:count]


def in_random_order(package: str, seed: int) -> list[Mutant]:
    """All of the package's mutants, in the same order for the same seed."""
    every = mutants(package)
    rng = np.random.default_rng([seed, sorted(PACKAGES).index(package)])
    return [every[at] for at in rng.permutation(len(every))]
