"""The attackers of a configuration: the default family, those that are written out, and those of a scenario.

The family of attackers of `attacker: default`, and random attackers from a wider family. Each member is written as in
`audit.yaml`, and lists how it differs from the paper's attacker. The maker of a release may choose its blocking, so
most members use none. Members that need a reference sample of people outside the release use half of the control, and
are left out without one. Members that compare released cells by the values that they allow run only if the release has
cells that allow several.

Scenarios: situations that guidelines describe, each a stated set of columns, errors and people. A scenario is run by
the family of `attacker: default`. It limits what the family knows. The shares of errors are assumptions that were
chosen, not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import ValidationError

from cvpl.attack.attacker import Attacker
from cvpl.config.problems import problems_of
from cvpl.config.written import AttackerConfig, AuditConfig, ColumnConfig, EnsembleConfig, ScenarioName
from cvpl.errors import Problem
from cvpl.operators.blocking import Bin, Blocking, BlockingLadder, Key, Level, Lsh, Prefix, Scheme, Truncate
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.randomness import stream
from cvpl.wording import did_you_mean

_RULES_OF: dict[str, tuple[type, ...]] = {
    "numeric": (str, Bin),
    "category": (str, Level, Prefix),
    "datetime": (str, Truncate),
}


def column_problems(entry: ColumnConfig) -> list[tuple[str, str]]:
    """Conflicts within one column's settings, each with its cure."""
    found = []
    if not entry.observable:
        if entry.block is not None:
            found.append((f"a column with the role {entry.role} cannot be used for blocking", "Remove `block`."))
        return found
    if entry.block is not None and entry.type and not isinstance(entry.block, _RULES_OF[entry.type]):
        allowed = {"numeric": "exact or {bin: w}", "category": "exact, {level: n} or {prefix: n}"}
        wanted = allowed.get(entry.type, "exact or {truncate: unit}")
        found.append((f"this rule cannot block a {entry.type} column", f"Set `block` to {wanted}."))
    if isinstance(entry.block, Level) and entry.separator is None and entry.hierarchy is None:
        found.append(("a level rule needs levels", "Set `separator` or `hierarchy`."))
    if entry.type == "datetime" and entry.vectorize and not entry.features:
        cure = "List some of hour, day_of_week, month, elapsed_days under `features`, or set `vectorize: false`."
        found.append(("a datetime column is compared by its features, and none are listed", cure))
    if entry.type != "datetime" and entry.features:
        found.append(("only a datetime column has features", "Remove `features`."))
    if entry.type != "category" and (entry.encode or entry.separator or entry.hierarchy):
        found.append(("only a category has an encoding, a separator or a hierarchy", "Remove them."))
    if entry.encode == "hierarchical" and entry.separator is None and entry.hierarchy is None:
        found.append(("a hierarchical encoding needs levels", "Set `separator` or `hierarchy`."))
    if entry.separator is not None and entry.hierarchy is not None:
        found.append(("both a separator and a hierarchy file define the levels", "Keep one of them."))
    return found


def written_attackers(config: AuditConfig, name: str, problems: list[Problem]) -> Mapping[str, AttackerConfig]:
    """The attackers that a configuration names, with each member of a family listed."""
    if config.attacker is not None and config.attackers is not None:
        cure = "Keep `attackers`, and move the single attacker there."
        problems.append(Problem(name, "both `attacker` and `attackers` are set", cure))
    for key, written in (config.attackers or {}).items():
        if written.preset == "default":
            what = f"attacker '{key}' is a whole family, but an entry of `attackers` is one attacker"
            problems.append(Problem(name, what, "Set `attacker: default` for the family, without `attackers`."))
    if config.attackers is not None:
        return config.attackers
    if config.attacker is not None:
        return family(config.attacker) if config.attacker.preset == "default" else {"main": config.attacker}
    what = "no attacker is set, and none is assumed"
    cure = "Set `attacker: default` or `attacker: paper`, or write the operators with their settings."
    problems.append(Problem(name, what, cure))
    return {}


def drawn_attackers(config: AuditConfig, seed: int, *, reference: bool) -> dict[str, Attacker]:
    """Attackers drawn by a seed that is made at audit time, so that no release can be tuned to them."""
    known = config.attacker.knows if config.attacker is not None else None
    columns = [
        column for column, item in config.columns.items() if item.observable and (known is None or column in known)
    ]
    people, errors = (1.0, 0.0) if config.attacker is None else (config.attacker.knows_people, config.attacker.errors)
    blockable = any(entry.block is not None for entry in config.columns.values())
    problems: list[Problem] = []
    found = {}
    rng = stream(seed, "drawn attackers")
    for key, written in draw(columns, people, blockable, reference, rng, errors).items():
        attacker = resolve_attacker(key, written, config, "drawn attackers", problems)
        if attacker is not None:
            found[key] = attacker
    return found


def resolve_attacker(
    key: str, written: AttackerConfig, config: AuditConfig, name: str, problems: list[Problem]
) -> Attacker | None:
    """An attacker with everything expanded; None if that fails, with the reasons added to `problems`."""
    observable = [column for column, entry in config.columns.items() if entry.observable]
    before = len(problems)
    for column in written.knows or ():
        if column not in observable:
            cure = "List columns with the role quasi_identifier or attribute."
            cure = cure if column in config.columns else did_you_mean(column, observable) or cure
            problems.append(Problem(name, f"attacker '{key}' knows a column that is not observable", cure, column))
    blocking = _blocking(written.blocking, config, key, name, problems)
    ladder = None
    if written.ladder is not None:
        rungs = tuple(_blocking(rung, config, key, name, problems) for rung in written.ladder.rungs)
        try:
            ladder = BlockingLadder(rungs=rungs, stop_below=written.ladder.stop_below)
        except ValidationError as error:
            problems.extend(problems_of(error, f"{name}, ladder of attacker '{key}'", BlockingLadder))
    if len(problems) > before:
        return None
    columns = {
        column: ColumnChoice(encode=entry.encode, features=entry.features, vectorize=entry.vectorize)
        for column, entry in config.columns.items()
        if entry.observable and (entry.encode or entry.features or not entry.vectorize)
    }
    try:
        return Attacker(
            knows=written.knows,
            knows_people=written.knows_people,
            errors=written.errors,
            alignment=written.alignment,
            blocking=blocking,
            ladder=ladder,
            vectorization=Vectorization(**written.vectorization.model_dump(), columns=columns),
            projection=written.projection,
            similarity=written.similarity,
            evidence=written.evidence,
            threshold=config.threshold if written.threshold is None else written.threshold,
        )
    except ValidationError as error:
        problems.extend(problems_of(error, f"{name}, attacker '{key}'", Attacker))
        return None


def _blocking(written: Any, config: AuditConfig, key: str, name: str, problems: list[Problem]) -> Blocking:
    if written == "none":
        return Blocking()
    if written in ("columns", "compatible"):
        keys = [Key(column=c, rule=entry.block) for c, entry in config.columns.items() if entry.block is not None]
        return Blocking(match="equality" if written == "columns" else "compatible", any_of=(tuple(keys),))
    ensemble = written if isinstance(written, EnsembleConfig) else EnsembleConfig(any_of=[written])
    who = f"attacker '{key}'"
    schemes = tuple(scheme_of(scheme, config, who, name, problems) for scheme in ensemble.any_of)
    return Blocking(match=ensemble.match, any_of=schemes)


def scheme_of(written: Any, config: AuditConfig, who: str, name: str, problems: list[Problem]) -> Scheme:
    """A blocking scheme from the settings, with the rule of every column."""
    if isinstance(written, Lsh):
        return written
    keys = []
    for item in written:
        named = {item: None} if isinstance(item, str) else item
        for column, rule in named.items():
            entry = config.columns.get(column)
            if entry is None or not entry.observable:
                cure = "Name columns with the role quasi_identifier or attribute."
                if entry is None:
                    observable = [name for name, known in config.columns.items() if known.observable]
                    cure = did_you_mean(column, observable) or cure
                what = f"{who} blocks by a column that is not observable"
                problems.append(Problem(name, what, cure, column))
                continue
            chosen = rule or entry.block or "exact"
            checked = entry.model_copy(update={"block": chosen})
            problems.extend(Problem(name, what, cure, column) for what, cure in column_problems(checked))
            keys.append(Key(column=column, rule=chosen))
    return tuple(keys)


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


Known = Literal["quasi_identifiers", "observable"]
Answer = Literal["risk", "lowest_false_rate", "best_candidate"]


@dataclass(frozen=True)
class Scenario:
    """What an attacker of a scenario knows, with what share of errors, and which figure answers its question.

    `needs_control` says that the answer needs people who are not in the release: the attacker does not know who is.
    """

    source: str
    who: str
    known: Known
    errors: float
    people: str
    answer: Answer
    needs_control: bool = False


SCENARIOS: Mapping[ScenarioName, Scenario] = {
    "motivated_intruder": Scenario(
        "ICO, anonymisation guidance",
        "somebody who starts without knowledge of the person, is reasonably competent, and searches the internet, "
        "libraries and public records, and asks around",
        "quasi_identifiers",
        0.05,
        "any person; the intruder does not know who is in the release",
        "risk",
    ),
    "neighbour": Scenario(
        "texts on disclosure control: the nosy neighbour, spontaneous recognition",
        "somebody who knows the person well, and recognizes them in the release",
        "observable",
        0.10,
        "one acquaintance, who is in the release",
        "best_candidate",
    ),
    "journalist": Scenario(
        "El Emam; ARX",
        "somebody who wants to show that one person can be found, whoever it is, with a public register",
        "quasi_identifiers",
        0.0,
        "one arbitrary person: whoever is found most surely",
        "lowest_false_rate",
        needs_control=True,
    ),
    "marketer": Scenario(
        "El Emam; ARX",
        "somebody who links a list of customers to the release, as many people as possible",
        "quasi_identifiers",
        0.05,
        "everybody on the list",
        "best_candidate",
    ),
    "data_holder": Scenario(
        "WP29 opinion 05/2014: the controller, or a third party with the same data",
        "somebody who has another extract of the same people, with all columns",
        "observable",
        0.02,
        "everybody in the extract",
        "risk",
    ),
}


def scenario_columns(config: AuditConfig, scenario: Scenario) -> tuple[str, ...]:
    """The columns that attackers of a scenario know, by their roles."""
    roles = ("quasi_identifier",) if scenario.known == "quasi_identifiers" else ("quasi_identifier", "attribute")
    return tuple(column for column, entry in config.columns.items() if entry.role in roles)


def with_scenario(config: AuditConfig, name: str, problems: list[Problem]) -> AuditConfig:
    """The configuration with the columns and errors of its scenario; unchanged without one.

    `knows` and `errors` that are written stay. A scenario without its columns is added to `problems`.
    """
    written = config.attacker
    if written is None or written.scenario is None:
        return config
    scenario = SCENARIOS[written.scenario]
    columns = scenario_columns(config, scenario)
    if not columns and written.knows is None:
        what = f"the scenario {written.scenario} knows the quasi-identifiers, and no column has that role"
        cure = "Give the columns that many people know about a person the role quasi_identifier, or list `knows`."
        problems.append(Problem(name, what, cure))
        return config
    changes: dict[str, object] = {"knows": columns if written.knows is None else written.knows}
    if "errors" not in written.model_fields_set:
        changes["errors"] = scenario.errors
    attacker = written.model_copy(update=changes)
    attacker.model_fields_set.update(changes)
    return config.model_copy(update={"attacker": attacker})
