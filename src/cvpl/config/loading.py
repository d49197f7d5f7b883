"""A configuration as written, read from YAML, checked and resolved, and the files that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from cvpl.config.attackers import (
    SCENARIOS,
    column_problems,
    resolve_attacker,
    scheme_of,
    with_scenario,
    written_attackers,
)
from cvpl.config.problems import problems_of
from cvpl.config.resolved import WHERE, ResolvedConfig
from cvpl.config.written import (
    AttackerConfig,
    AuditConfig,
    ColumnConfig,
    ControlConfig,
    InferenceConfig,
    LimitsConfig,
    PolicyForm,
    ReadingConfig,
)
from cvpl.errors import InputError, Problem, UsageError
from cvpl.evaluation.policy import PRESETS
from cvpl.files.reading import read_bounded
from cvpl.operators.projection import SavedProjection
from cvpl.search.levers import Levers, SubBlock
from cvpl.search.machine import Budget, usual_memory
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.meaning.labels import read_hierarchy
from cvpl.tables.source.reading_settings import Limits, Reading
from cvpl.wording import did_you_mean, unknown_names


@dataclass(frozen=True)
class WithPolicy:
    """A configuration with another policy."""

    config: AuditConfig | Mapping[str, Any] | str | Path
    policy: PolicyForm


@dataclass(frozen=True)
class ConfigWithBase:
    """A configuration with paths relative to the folder `base`; problems are reported under `name`."""

    config: AuditConfig
    base: Path
    name: str = WHERE


ConfigLike = AuditConfig | Mapping[str, Any] | str | Path | WithPolicy | ConfigWithBase


def load(config: ConfigLike, scenario: str | None = None) -> ResolvedConfig:
    """Read, check and resolve a configuration: a path to a YAML file, a mapping, or an AuditConfig.

    Paths inside a file are relative to the file. `scenario` replaces that of the attacker, which must be the family.
    Raises InputError with every problem.
    """
    if isinstance(config, WithPolicy):
        resolved = load(config.config, scenario)
        return replace(resolved, config=resolved.config.model_copy(update={"policy": config.policy}))
    if isinstance(config, ConfigWithBase):
        return _resolve(_with_scenario(config.config, scenario), config.base, config.name)
    base, name = Path(), WHERE
    if isinstance(config, str | Path):
        base, name = Path(config).parent, Path(config).name
        config = _read_yaml(Path(config))
    if not isinstance(config, AuditConfig):
        try:
            config = AuditConfig.model_validate(config)
        except ValidationError as error:
            raise InputError(problems_of(error, name, AuditConfig)) from None
    return _resolve(_with_scenario(config, scenario), base, name)


def _with_scenario(config: AuditConfig, scenario: str | None) -> AuditConfig:
    """The configuration under a scenario given by name; None keeps it."""
    if scenario is None:
        return config
    if scenario not in SCENARIOS:
        raise UsageError(unknown_names("scenario", [scenario], SCENARIOS))
    written = config.attacker
    if config.attackers is not None or (written is not None and written.preset != "default"):
        raise UsageError(
            "a scenario is run by the family of attackers, and the configuration names others. Set `attacker: default`."
        )
    common = {} if written is None else {"knows_people": written.knows_people, "threshold": written.threshold}
    attacker = AttackerConfig.model_validate({"preset": "default", "scenario": scenario, **common})
    return config.model_copy(update={"attacker": attacker})


def _read_yaml(path: Path) -> Mapping[str, Any]:
    cure = "Start from the file that `cvpl init` writes."
    content = read_yaml(path, "configuration", cure)
    if not isinstance(content, Mapping):
        raise InputError([Problem(path.name, "the configuration is not a mapping of settings", cure)])
    return content


def _resolve(config: AuditConfig, base: Path, name: str) -> ResolvedConfig:
    problems: list[Problem] = []
    config = with_scenario(config, name, problems)
    specs = tuple(
        _spec(column, entry, base, name, problems) for column, entry in config.columns.items() if entry.observable
    )
    for column, entry in config.columns.items():
        problems.extend(Problem(name, what, cure, column) for what, cure in column_problems(entry))
    if not specs:
        cure = "Give at least one column the role quasi_identifier or attribute."
        problems.append(Problem(name, "no column can be seen by an attacker", cure))
    attackers = {}
    for key, written in written_attackers(config, name, problems).items():
        attacker = resolve_attacker(key, written, config, name, problems)
        if attacker is not None and (file := attacker.projection_operator.saved_file) is not None:
            attacker = attacker.model_copy(update={"projection": SavedProjection(saved=str(base / file))})
        attackers[key] = attacker
    identity = _identity(config, name, problems)
    if config.control == "absent" and (identity is None or not identity.complete):
        what = "`control: absent` uses the originals without a match, and not all matches are known"
        cure = "Declare complete truth (`truth`, or a column with the role id), or name a control file."
        problems.append(Problem(name, what, cure))
    problems.extend(_unknown_to_recipients(config, name))
    levers = _levers(config, name, problems)
    subgroups = _subgroups(config, base, name, problems)
    sensitive = tuple(
        _spec(column, _set_type(entry), base, name, problems)
        for column, entry in config.columns.items()
        if entry.role == "sensitive"
    )
    _check_inference(config, name, problems)
    if problems:
        raise InputError(problems)
    return ResolvedConfig(
        config=config,
        specs=specs,
        declared=(*config.columns, *((identity.original, identity.protected) if identity else ())),
        reading=_reading(config.reading),
        identity=identity,
        attackers={key: attacker for key, attacker in attackers.items() if attacker is not None},
        control=base / config.control.file if isinstance(config.control, ControlConfig) else None,
        budget=Budget(config.search.memory or usual_memory(), config.search.threads),
        levers=levers,
        groups=tuple(column for column, entry in config.columns.items() if entry.role == "group"),
        subgroups=subgroups,
        sensitive=sensitive,
    )


def _unknown_to_recipients(config: AuditConfig, name: str) -> Iterator[Problem]:
    """Columns that recipients are said to hold, and that no attacker compares."""
    observable = [column for column, entry in config.columns.items() if entry.observable]
    for recipient, columns in config.recipients.items():
        for column in columns:
            if column not in observable:
                cure = "List columns with the role quasi_identifier or attribute."
                cure = cure if column in config.columns else did_you_mean(column, observable) or cure
                yield Problem(name, f"recipient '{recipient}' holds a column that is not observable", cure, column)


def _reading(written: ReadingConfig) -> Reading:
    settings = written.model_dump()
    return Reading(**settings | {"limits": Limits(**settings["limits"])})


def _subgroups(config: AuditConfig, base: Path, name: str, problems: list[Problem]) -> tuple[ColumnSpec, ...]:
    """The columns for subgroup rates; a column without a type is read as a category."""
    found = []
    for column in config.report.subgroups:
        entry = config.columns.get(column)
        if entry is None:
            what = "`report.subgroups` names a column that is not declared"
            cure = did_you_mean(column, config.columns) or "Declare it under `columns`, with any role."
            problems.append(Problem(name, what, cure, column))
            continue
        found.append(_spec(column, _set_type(entry), base, name, problems))
    return tuple(found)


def _check_inference(config: AuditConfig, name: str, problems: list[Problem]) -> None:
    """Report columns under `inference` that are not declared, or that nobody can know or infer."""
    written = config.inference
    if not isinstance(written, InferenceConfig):
        return
    inferable = {column for column, entry in config.columns.items() if entry.observable or entry.role == "sensitive"}
    seen = {column for column, entry in config.columns.items() if entry.observable}
    named = {"columns": (written.columns, inferable), "knows": (written.knows or (), seen)}
    named["tolerance"] = (tuple(written.tolerance), inferable)
    for key, (columns, allowed) in named.items():
        for column in columns:
            if column not in allowed:
                cure = did_you_mean(column, allowed) or (
                    "Name a column with the role quasi_identifier or attribute."
                    if key == "knows"
                    else "Name a column with the role sensitive, quasi_identifier or attribute."
                )
                what = f"`inference.{key}` names a column that is not declared, or has another role"
                problems.append(Problem(name, what, cure, column))


def _set_type(entry: ColumnConfig) -> ColumnConfig:
    """The column with a type: without one it is read as a category."""
    return entry if entry.type is not None else entry.model_copy(update={"type": "category"})


def _levers(config: AuditConfig, name: str, problems: list[Problem]) -> Levers:
    written = config.search
    sub_block = None
    if written.sub_block is not None:
        by = scheme_of(written.sub_block.by, config, "`search.sub_block`", name, problems)
        sub_block = SubBlock(above=written.sub_block.above, by=by)
    return Levers(max_block=written.max_block, sample=written.sample, sub_block=sub_block, ann=written.ann)


def _spec(column: str, entry: ColumnConfig, base: Path, name: str, problems: list[Problem]) -> ColumnSpec:
    parents = None
    if entry.hierarchy is not None:
        try:
            parents = read_hierarchy(base / entry.hierarchy)
        except InputError as error:
            problems.extend(replace(problem, where=f"{name}, {entry.hierarchy}") for problem in error.problems)
    if entry.type is None:
        what = "an observable column has no type"
        problems.append(Problem(name, what, "Set `type` to numeric, category or datetime.", column))
    return ColumnSpec(column, entry.role, entry.type or "category", entry.separator, parents)


def _identity(config: AuditConfig, name: str, problems: list[Problem]) -> IdentityKeys | None:
    ids = [column for column, entry in config.columns.items() if entry.role == "id"]
    if config.truth is not None:
        return IdentityKeys(**config.truth.model_dump())
    if len(ids) > 1:
        cure = "Keep the role for the column that identifies people, and set the others to `ignore`."
        problems.append(Problem(name, f"{len(ids)} columns have the role id", cure))
    return IdentityKeys(ids[0], ids[0]) if len(ids) == 1 else None


MOST_MEGABYTES = 10
"""The largest file that is read as YAML."""
DEEPEST = 50
"""How deep lists and mappings may be nested: no setting is nested so deep."""
MOST_VALUES = 200_000
"""How many values a file may hold, with every alias (`*name`) counted as what it stands for."""


class _RefusedYamlError(yaml.MarkedYAMLError):
    """Why a file is refused that a plain YAML reader might accept."""


class _Loader(yaml.SafeLoader):
    """The safe loader, which also rejects duplicate keys: one of two values would be lost silently."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is not nested too deeply."""
        self.depth += 1
        if self.depth > DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _RefusedYamlError(problem=f"lists or settings are nested more than {DEEPEST} deep", problem_mark=mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def get_single_node(self) -> yaml.Node | None:
        """The whole file, if it is not too much."""
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _check_size(node)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value; one that only looks like a day or a number is an error of YAML, with its place."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, ArithmeticError, LookupError):
            problem = "this value is none, though it looks like a day, a time or a number"
            raise _RefusedYamlError(problem=problem, problem_mark=node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping without duplicate keys."""
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedYamlError(problem="a list or a mapping is used as a name", problem_mark=key.start_mark)
            if key.value in seen:
                raise _RefusedYamlError(problem=f"the key {key.value} occurs twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path, called: str, cure: str) -> Any:
    """The content of a YAML file; `called` is its name in messages, `cure` the advice if it is not YAML."""
    content = read_bounded(path, path.name, called, MOST_MEGABYTES)
    try:
        return yaml.load(content.decode("utf-8-sig"), _Loader)  # noqa: S506 - a safe loader, made stricter
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        what = str(error.problem) if isinstance(error, _RefusedYamlError) else f"the {called} is not YAML"
        what += f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise InputError([Problem(path.name, what, cure)]) from None


def _check_size(root: yaml.Node) -> None:
    """Refuse aliases that stand for very many values, or for what contains themselves."""
    sizes: dict[yaml.Node, int | None] = {}

    def size(node: yaml.Node) -> int:
        if node in sizes:
            known = sizes[node]
            if known is None:
                raise _RefusedYamlError(problem="an alias stands for what contains it", problem_mark=node.start_mark)
            return known
        sizes[node] = None
        inner = node.value if isinstance(node, yaml.SequenceNode) else ()
        if isinstance(node, yaml.MappingNode):
            inner = [part for pair in node.value for part in pair]
        total = 1 + sum(size(part) for part in inner)
        if total > MOST_VALUES:
            raise _RefusedYamlError(
                problem=f"the file holds more than {MOST_VALUES:,} values", problem_mark=node.start_mark
            )
        sizes[node] = total
        return total

    size(root)


def named_files(file: Path, base: Path | None = None) -> list[Path]:
    """The file itself and every existing file that a text in it names, relative to `base` or to its own folder.

    A file that cannot be read names none; who needs its content reports that.
    """
    try:
        content = read_yaml(file, "file", "")
    except InputError:
        return [file]
    folder = file.parent if base is None else base
    return [file, *(place for text in _texts(content) if (place := folder / text).is_file())]


def _texts(content: Any) -> Iterator[str]:
    """Every text in a document that may be the name of a file."""
    if isinstance(content, str):
        if content and "\0" not in content and len(content) < 1000:
            yield content
            yield content.partition("#")[0]
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value)


_CURE = "Write {figure: attributable_rate, bound: high, max: 0.05}, a list of such, or the name of a preset."


def read_policy(named: str | Path) -> PolicyForm:
    """The policy of a YAML file, in the form of `policy` in audit.yaml; or the preset of that name."""
    if str(named) in PRESETS:
        content, name = str(named), "policy"
    else:
        content, name = read_yaml(Path(named), "policy", _CURE), Path(named).name
    if content is None:
        raise InputError([Problem(name, "the policy is empty", _CURE)])
    try:
        checked: PolicyForm = TypeAdapter(PolicyForm).validate_python(content)
    except ValidationError as error:
        raise InputError(problems_of(error, name, PolicyForm)) from None
    return checked


def parse_config(text: str) -> AuditConfig:
    """Parse a configuration that cvpl itself wrote; `load` reads users' files."""
    return AuditConfig.model_validate(yaml.safe_load(text))


LimitsLike = Mapping[str, int | str]
"""Some of the limits of `reading.limits` by their names; bytes may be a size such as 200GB."""
_FORM = "Write such as rows=2000000000,bytes=200GB."


def limits_of(given: LimitsLike) -> Limits:
    """The limits, with the usual ones where none is given. Raises UsageError for one that is not allowed."""
    unknown = [name for name in given if name not in LimitsConfig.model_fields]
    if unknown:
        raise UsageError(f"limits: {unknown_names('limit', unknown, LimitsConfig.model_fields)}. {_FORM}")
    try:
        return Limits(**LimitsConfig.model_validate(dict(given)).model_dump())
    except ValidationError as error:
        problems = problems_of(error, "limits", LimitsConfig)
        raise UsageError(f"limits: {'; '.join(problem.what for problem in problems)}. {_FORM}") from None


def parse_limits(text: str) -> dict[str, int | str]:
    """The limits that are written as NAME=NUMBER, separated by commas. Raises UsageError for another form."""
    found: dict[str, int | str] = {}
    for part in text.split(","):
        name, sign, value = (word.strip() for word in part.partition("="))
        if not name or not sign or not value or name in found:
            raise UsageError(f"limits: expected NAME=NUMBER, each name once, separated by commas. {_FORM}")
        found[name] = int(value) if value.isascii() and value.isdecimal() else value
    limits_of(found)
    return found
