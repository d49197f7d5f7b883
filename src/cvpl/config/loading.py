"""A configuration as written, read, checked and resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cvpl.config.attackers import column_problems, resolve_attacker, scheme_of, written_attackers
from cvpl.config.problems import problems_of
from cvpl.config.resolved import WHERE, ResolvedConfig
from cvpl.config.scenarios import SCENARIOS, with_scenario
from cvpl.config.written import AuditConfig, ColumnConfig, ControlConfig, InferenceConfig, PolicyForm, ReadingConfig
from cvpl.config.written_attacker import AttackerConfig
from cvpl.config.yaml_file import read_yaml
from cvpl.errors import InputError, Problem, UsageError
from cvpl.operators.projection import Saved
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
            attacker = attacker.model_copy(update={"projection": Saved(saved=str(base / file))})
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
        _spec(column, _typed(entry), base, name, problems)
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
        found.append(_spec(column, _typed(entry), base, name, problems))
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


def _typed(entry: ColumnConfig) -> ColumnConfig:
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
