"""Attackers from the settings file, with every shorthand expanded: columns, blocking, operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from cvpl.attack.attacker import Attacker
from cvpl.config.family import draw, family
from cvpl.config.problems import problems_of
from cvpl.config.written import AuditConfig, ColumnConfig
from cvpl.config.written_attacker import AttackerConfig, EnsembleConfig
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
