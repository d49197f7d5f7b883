"""The family of `attacker: default` (docs/concepts/attackers.md), and the scores of its members.

The halves of the control are drawn at random, so they are handed over: `reference` are the rows of the control that
serve as reference people; the others stay the control of the members that compare with reference people.

Choices where the page is silent:
- The lowest possible score is -1 for the cosine, 0 for distances and rarity, and for a weight the sum over columns of
  the smallest of the agreement weight, the disagreement weight and 0. By containment it is log(1 - m) in every column
  with a released value.
- Whether the members by containment run is a matter of the release alone; canaries run for whoever runs on the release.
"""

import math
from dataclasses import dataclass

from . import figures
from .attack import Attack, attack
from .containment import columns_with_cells
from .vectors import length

PAPER = {
    "knows": None,
    "scale": "z_score",
    "encode": "one_hot",
    "missing": "neutral",
    "projection": {"kind": "pca", "variance": 0.9, "min": 3, "max": 50, "fit": "joint"},
    "similarity": {"kind": "cosine"},
}
NEAREST = {"similarity": {"kind": "euclidean"}, "off_scale": True}
PLAIN = {"projection": {"kind": "identity"}}
ESTIMATED = {
    "similarity": {"kind": "agreement", "m": "release", "u": "values", "tolerance": "release"},
    "off_scale": True,
}
RARITY = {"similarity": {"kind": "rarity"}, "off_scale": True}
CONTAINED = {"similarity": {"kind": "contained", "m": 0.99}, "off_scale": True, "aligned": "but cells"}
MEMBERS = {
    "paper": {"blocking": "columns", "aligned": False},
    "aligned": {"blocking": "compatible"},
    "unblocked": {},
    "unprojected": PLAIN,
    "margin": {"evidence": "margin", "off_scale": True},
    "nearest": NEAREST,
    "nearest_reference": NEAREST | {"evidence": "reference"},
    "nearest_unprojected": NEAREST | PLAIN,
    "nearest_unprojected_reference": NEAREST | PLAIN | {"evidence": "reference"},
    "fellegi_sunter": {"similarity": {"kind": "agreement", "m": 0.9}, "off_scale": True},
    "fellegi_sunter_reference": {
        "similarity": {"kind": "agreement", "m": 0.6},
        "evidence": "reference",
        "off_scale": True,
    },
    "fellegi_sunter_em": ESTIMATED,
    "fellegi_sunter_em_density": ESTIMATED | {"evidence": "density"},
    "rarity": RARITY,
    "rarity_margin": RARITY | {"evidence": "margin"},
    "rarity_reference": RARITY | {"evidence": "reference"},
    "rarity_density": RARITY | {"evidence": "density"},
    "contained": CONTAINED,
    "contained_margin": CONTAINED | {"evidence": "margin"},
}
FEWEST_WITH_REFERENCE = 40
"""With a smaller control, half of it is too few for an interval, and members with reference people are not run."""


@dataclass
class Member:
    """One attacker of the family: the evidence of the originals and of its control, and what it found."""

    name: str
    scores: list  # of the originals, None without a candidate
    controls: list | None  # of the control that is left to this member
    found: Attack
    off_scale: bool  # read at a false-positive rate, not at the threshold
    compares_values: bool  # agreement, rarity and containment compare records, not vectors
    compared: dict  # table -> the values that are compared, after alignment
    compares_everybody: bool = True  # without blocking
    projects: bool = False  # compares principal components


def members(controls, cells=False):
    """The names of the attackers that run, and of those that are left out, for so many controls.

    Members by containment run if the release has a cell that allows several values; otherwise they are not left out,
    there is nothing for them to do.
    """
    able = [name for name, member in MEMBERS.items() if cells or member.get("aligned") != "but cells"]
    if controls >= FEWEST_WITH_REFERENCE:
        return able, []
    unable = [name for name in able if MEMBERS[name].get("evidence") in ("reference", "density")]
    return [name for name in able if name not in unable], unable


def run(original, protected, columns, schemes, control=None, reference=(), aligned=None, cells=False):
    """Every member that can be run.

    `schemes` are the columns' blocking rules; `aligned` brings a table's values to the granularity of the release, and
    `cells` says whether the release has a cell that allows several values.
    """
    names, _ = members(0 if control is None else length(control), cells)
    done, shared = [], {}
    for name in names:
        written = PAPER | MEMBERS[name]
        evidence = written.get("evidence", "best")
        counted = list(reference) if evidence in ("reference", "density") else []
        tables = {"original": original, "protected": protected}
        if control is not None:
            tables["control"] = control
        how = written.get("aligned", True)
        if aligned is not None and how:
            kept = columns_with_cells(original, protected, columns, control) if how == "but cells" else {}
            tables = {
                table: values if table == "protected" else aligned(values) | {name: values[name] for name in kept}
                for table, values in tables.items()
            }
        written["released_labels"] = bool(how)
        written["schemes"] = schemes if "blocking" in written else [[]]
        written["match"] = "compatible" if written.get("blocking") == "compatible" else "equal"
        written["similarity"] = fitted(written["similarity"], counted)
        key = repr([written.get(k) for k in ("aligned", "schemes", "match", "projection", "similarity")])
        if key not in shared:
            shared[key] = attack(
                tables["original"], tables["protected"], columns, written, control=tables.get("control")
            )
        found = shared[key]
        left = [r for r in range(length(control)) if r not in set(counted)] if control is not None else None
        done.append(
            Member(
                name,
                gathered(found, "original", range(length(original)), evidence, counted, tables),
                None if left is None else gathered(found, "control", left, evidence, counted, tables),
                found,
                written.get("off_scale", False),
                written["similarity"]["kind"] in ("agreement", "rarity", "contained"),
                {table: {name: tables[table][name] for name in found.columns} for table in ("original", "protected")},
                written["schemes"] == [[]],
                written["similarity"]["kind"] in ("cosine", "euclidean") and written["projection"]["kind"] == "pca",
            )
        )
    return done


def fitted(similarity, reference):
    """The similarity with what it reads from the tables: reference people for rarity."""
    return similarity | {"reference": reference} if similarity["kind"] == "rarity" else similarity


def gathered(found, table, rows, evidence, reference, tables):
    """The evidence for each of the rows (docs/concepts/attackers.md, "Evidence")."""
    searched = found if table == "original" else found.control
    values = []
    for i in rows:
        best = searched.best[i]
        if best is None or evidence == "best":
            values.append(best)
        elif evidence == "margin":
            second = searched.second[i]
            values.append(best - (lowest(found) if second is None else second))
        else:
            scores = [found.between(table, i, "control", r) for r in reference]
            if evidence == "reference":
                values.append(best - max(scores))
            else:
                there = [found.between(table, i, "protected", j) for j in range(length(tables["protected"]))]
                values.append(log_mean(there) - log_mean(scores))
    return values


def log_mean(scores):
    return math.log(sum(math.exp(s) for s in scores) / len(scores))


def lowest(found):
    if found.kind == "cosine":
        return -1.0
    if found.kind in ("euclidean", "rarity"):
        return 0.0
    if found.kind == "contained":
        return found.least
    raise ValueError(found.kind)


def top1(member, truth):
    """The top-1 hit rate; it reads the best candidates, whatever the evidence."""
    return figures.top1_hit_rate(member.found, truth)
