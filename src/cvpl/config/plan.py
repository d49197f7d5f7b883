"""From what is written to what runs: a configuration checked as a whole, with every shorthand spelled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from cvpl.attacker import Attacker
from cvpl.config.written import AttackerConfig, AuditConfig, ColumnConfig, EnsembleConfig
from cvpl.errors import InputError, Problem
from cvpl.operators.blocking import Bin, Blocking, Key, Ladder, Level, Lsh, Prefix, Scheme, Truncate
from cvpl.operators.projection import Saved
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.search.budget import Budget, usual_memory
from cvpl.search.levers import Levers, SubBlock
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.hierarchy import read_hierarchy
from cvpl.tables.identity import IdentityKeys
from cvpl.tables.source import Reading

WHERE = "configuration"
_RULES_OF: dict[str, tuple[type, ...]] = {
    "numeric": (str, Bin),
    "category": (str, Level, Prefix),
    "datetime": (str, Truncate),
}


@dataclass(frozen=True)
class Plan:
    """A configuration with every shorthand spelled out: what the audit runs."""

    config: AuditConfig
    specs: tuple[ColumnSpec, ...]
    declared: tuple[str, ...]
    reading: Reading
    identity: IdentityKeys | None
    attackers: dict[str, Attacker]
    control: Path | None
    budget: Budget
    levers: Levers
    groups: tuple[str, ...] = ()


ConfigLike = AuditConfig | Mapping[str, Any] | str | Path


def load(config: ConfigLike) -> Plan:
    """Read, check and resolve a configuration: a path to a YAML file, a mapping, or an AuditConfig.

    Paths inside a file are relative to the file. Raises InputError with every problem.
    """
    base, name = Path(), WHERE
    if isinstance(config, str | Path):
        base, name = Path(config).parent, Path(config).name
        config = _read_yaml(Path(config))
    if not isinstance(config, AuditConfig):
        try:
            config = AuditConfig.model_validate(config)
        except ValidationError as error:
            raise InputError(_problems(error, name)) from None
    return _resolve(config, base, name)


class _Loader(yaml.SafeLoader):
    """The safe loader, which also refuses a key that stands twice: of two meanings one would be lost silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping in which every key stands once."""
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _read_yaml(path: Path) -> Mapping[str, Any]:
    cure = "Start from the file that `cvpl init` writes."
    try:
        content = yaml.load(path.read_text(encoding="utf-8-sig"), _Loader)  # noqa: S506 - a safe loader, made stricter
    except OSError:
        raise InputError([Problem(path.name, "the configuration cannot be opened", "Check the path.")]) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        twice = str(getattr(error, "problem", None) or "")
        what = twice if twice.endswith("stands twice") else "the configuration is not YAML"
        what += f" (line {mark.line + 1})" if mark else ""
        raise InputError([Problem(path.name, what, cure)]) from None
    if not isinstance(content, Mapping):
        raise InputError([Problem(path.name, "the configuration is not a mapping of settings", cure)])
    return content


def _problems(error: ValidationError, name: str) -> list[Problem]:
    """One problem a place; of a union's many complaints the first is told."""
    told: dict[str, Problem] = {}
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(str(part) for part in item["loc"] if not _is_type_name(part))
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "there is no such setting"
        elif item["type"] == "missing":
            message = "this setting is required"
        what = f"`{path}`: {message[0].lower()}{message[1:]}" if path else message
        told.setdefault(path, Problem(name, what, "Correct the setting."))
    return list(told.values())


_UNION_MEMBERS = (
    "AttackerConfig",
    "EnsembleConfig",
    "Lsh",
    "Calibrate",
    "Agreement",
    "Pca",
    "RobustPca",
    "float",
    "str",
)


def _is_type_name(part: object) -> bool:
    """Pydantic puts the tried member of a union into the path; a person did not write it."""
    tried = ("literal[", "function-", "list[", "dict[", "constrained-", "nullable[")
    return isinstance(part, str) and (part.startswith(tried) or part in _UNION_MEMBERS)


def _resolve(config: AuditConfig, base: Path, name: str) -> Plan:
    problems: list[Problem] = []
    specs = tuple(
        _spec(column, entry, base, name, problems) for column, entry in config.columns.items() if entry.observable
    )
    for column, entry in config.columns.items():
        problems.extend(Problem(name, what, cure, column) for what, cure in _column_problems(entry))
    if not specs:
        cure = "Give at least one column the role quasi_identifier or attribute."
        problems.append(Problem(name, "no column can be seen by an attacker", cure))
    attackers = {}
    for key, written in _written_attackers(config, name, problems).items():
        attacker = _resolve_attacker(key, written, config, name, problems)
        if attacker is not None and isinstance(attacker.projection, Saved):
            place = Saved(saved=str(base / attacker.projection.saved))
            attacker = attacker.model_copy(update={"projection": place})
        attackers[key] = attacker
    identity = _identity(config, name, problems)
    levers = _levers(config, name, problems)
    if problems:
        raise InputError(problems)
    return Plan(
        config=config,
        specs=specs,
        declared=(*config.columns, *((identity.original, identity.protected) if identity else ())),
        reading=Reading(config.reading.strip, config.reading.missing, config.reading.delimiter),
        identity=identity,
        attackers={key: attacker for key, attacker in attackers.items() if attacker is not None},
        control=base / config.control.file if config.control else None,
        budget=Budget(config.search.memory or usual_memory(), config.search.threads),
        levers=levers,
        groups=tuple(column for column, entry in config.columns.items() if entry.role == "group"),
    )


def _levers(config: AuditConfig, name: str, problems: list[Problem]) -> Levers:
    written = config.search
    sub_block = None
    if written.sub_block is not None:
        by = _scheme(written.sub_block.by, config, "`search.sub_block`", name, problems)
        sub_block = SubBlock(above=written.sub_block.above, by=by)
    return Levers(max_block=written.max_block, sample=written.sample, sub_block=sub_block, ann=written.ann)


def _spec(column: str, entry: ColumnConfig, base: Path, name: str, problems: list[Problem]) -> ColumnSpec:
    parents = None
    if entry.hierarchy is not None:
        try:
            parents = read_hierarchy(base / entry.hierarchy)
        except InputError as error:
            problems.extend(error.problems)
    if entry.type is None:
        what = "an observable column has no type"
        problems.append(Problem(name, what, "Set `type` to numeric, category or datetime.", column))
    return ColumnSpec(column, entry.role, entry.type or "category", entry.separator, parents)


def _column_problems(entry: ColumnConfig) -> list[tuple[str, str]]:
    """What does not fit together in one column's settings, with its cure."""
    found = []
    if not entry.observable:
        if entry.block is not None:
            found.append((f"a column with the role {entry.role} cannot be blocked by", "Take `block` out."))
        return found
    if entry.block is not None and entry.type and not isinstance(entry.block, _RULES_OF[entry.type]):
        allowed = {"numeric": "exact or {bin: w}", "category": "exact, {level: n} or {prefix: n}"}
        wanted = allowed.get(entry.type, "exact or {truncate: unit}")
        found.append((f"this rule cannot block a {entry.type} column", f"Set `block` to {wanted}."))
    if isinstance(entry.block, Level) and entry.separator is None and entry.hierarchy is None:
        found.append(("a level needs levels", "Set `separator` or `hierarchy`."))
    if entry.type == "datetime" and entry.vectorize and not entry.features:
        cure = "List some of hour, day_of_week, month, elapsed_days under `features`, or set `vectorize: false`."
        found.append(("a datetime column is compared by its features, and none are listed", cure))
    if entry.type != "datetime" and entry.features:
        found.append(("only a datetime column has features", "Take `features` out."))
    if entry.type != "category" and (entry.encode or entry.separator or entry.hierarchy):
        found.append(("only a category has an encoding, a separator or a hierarchy", "Take them out."))
    if entry.encode == "hierarchical" and entry.separator is None and entry.hierarchy is None:
        found.append(("a hierarchical encoding needs levels", "Set `separator` or `hierarchy`."))
    if entry.separator is not None and entry.hierarchy is not None:
        found.append(("both a separator and a hierarchy file state the levels", "Keep one of them."))
    return found


def _written_attackers(config: AuditConfig, name: str, problems: list[Problem]) -> Mapping[str, AttackerConfig]:
    if config.attacker is not None and config.attackers is not None:
        cure = "Keep `attackers`, and name the single one there."
        problems.append(Problem(name, "both `attacker` and `attackers` are set", cure))
    if config.attackers is not None:
        return config.attackers
    if config.attacker is not None:
        return {"main": config.attacker}
    what = "no attacker is named, and nothing is audited under an assumption that nobody saw"
    problems.append(Problem(name, what, "Set `attacker: paper`, or write the operators with their settings."))
    return {}


def _identity(config: AuditConfig, name: str, problems: list[Problem]) -> IdentityKeys | None:
    ids = [column for column, entry in config.columns.items() if entry.role == "id"]
    if config.truth is not None:
        return IdentityKeys(**config.truth.model_dump())
    if len(ids) > 1:
        cure = "Keep the role for the one that tells people apart, and name the rest `ignore`."
        problems.append(Problem(name, f"{len(ids)} columns have the role id", cure))
    return IdentityKeys(ids[0], ids[0]) if len(ids) == 1 else None


def _resolve_attacker(
    key: str, written: AttackerConfig, config: AuditConfig, name: str, problems: list[Problem]
) -> Attacker | None:
    observable = [column for column, entry in config.columns.items() if entry.observable]
    before = len(problems)
    for column in written.knows or ():
        if column not in observable:
            cure = "List columns with the role quasi_identifier or attribute."
            problems.append(Problem(name, f"attacker '{key}' knows a column that nobody can observe", cure, column))
    blocking = _blocking(written.blocking, config, key, name, problems)
    ladder = None
    if written.ladder is not None:
        rungs = tuple(_blocking(rung, config, key, name, problems) for rung in written.ladder.rungs)
        try:
            ladder = Ladder(rungs=rungs, stop_below=written.ladder.stop_below)
        except ValidationError as error:
            problems.extend(_problems(error, f"{name}, ladder of attacker '{key}'"))
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
            blocking=blocking,
            ladder=ladder,
            vectorization=Vectorization(**written.vectorization.model_dump(), columns=columns),
            projection=written.projection,
            similarity=written.similarity,
            threshold=config.threshold if written.threshold is None else written.threshold,
        )
    except ValidationError as error:
        problems.extend(_problems(error, f"{name}, attacker '{key}'"))
        return None


def _blocking(written: Any, config: AuditConfig, key: str, name: str, problems: list[Problem]) -> Blocking:
    if written == "none":
        return Blocking()
    if written == "columns":
        keys = [Key(column=c, rule=entry.block) for c, entry in config.columns.items() if entry.block is not None]
        return Blocking(any_of=(tuple(keys),))
    schemes = written.any_of if isinstance(written, EnsembleConfig) else [written]
    who = f"attacker '{key}'"
    return Blocking(any_of=tuple(_scheme(scheme, config, who, name, problems) for scheme in schemes))


def _scheme(written: Any, config: AuditConfig, who: str, name: str, problems: list[Problem]) -> Scheme:
    if isinstance(written, Lsh):
        return written
    keys = []
    for item in written:
        named = {item: None} if isinstance(item, str) else item
        for column, rule in named.items():
            entry = config.columns.get(column)
            if entry is None or not entry.observable:
                cure = "Name columns with the role quasi_identifier or attribute."
                what = f"{who} blocks by a column that nobody can observe"
                problems.append(Problem(name, what, cure, column))
                continue
            chosen = rule or entry.block or "exact"
            checked = entry.model_copy(update={"block": chosen})
            problems.extend(Problem(name, what, cure, column) for what, cure in _column_problems(checked))
            keys.append(Key(column=column, rule=chosen))
    return tuple(keys)
