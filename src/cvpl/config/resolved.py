"""The resolved configuration: checked as a whole, with every shorthand expanded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cvpl.attack.attacker import Attacker
from cvpl.config.attackers import column_problems, drawn_attackers, resolve_attacker, scheme_of, written_attackers
from cvpl.config.family import FAMILY
from cvpl.config.problems import problems_of
from cvpl.config.scenarios import SCENARIOS, with_scenario
from cvpl.config.written import AuditConfig, ColumnConfig, ControlConfig, InferenceConfig, PolicyForm, ReadingConfig
from cvpl.config.written_attacker import AttackerConfig
from cvpl.config.yaml_file import read_yaml
from cvpl.errors import InputError, Problem, UsageError
from cvpl.evaluation.intervals.coverage import FEWEST_RECORDS
from cvpl.evaluation.population import population_size
from cvpl.operators.projection import Saved
from cvpl.operators.similarity import generalized_columns
from cvpl.operators.vectorization import Vectorization
from cvpl.search.budget import Budget, usual_memory
from cvpl.search.levers import Levers, SubBlock
from cvpl.tables.columns import ColumnSpec, Pair
from cvpl.tables.hierarchy import read_hierarchy
from cvpl.tables.identity import IdentityKeys
from cvpl.tables.limits import Limits
from cvpl.tables.reading_settings import Reading
from cvpl.wording import did_you_mean, unknown_names

WHERE = "configuration"

MOST_PAIRS = 2_500_000_000
"""The most pairs that a member of the family without blocking compares; it searches fewer people if needed, ..."""
MOST_DENSITIES = 400_000_000
"""Densities are summed over every pair, so fewer of them, ..."""
MOST_DISTANCES = 250_000_000
"""... and distances are computed one by one, so still fewer, ..."""
FEWEST_ASKED = 1_000
"""... but it searches at least this many people."""
QUICK_PEOPLE = 4_000
"""The most originals, and the most controls, of a quick look: the 95% interval of the strongest attacker
then has a half-width of at most 6 points."""
FIRST_ANSWER_PEOPLE = 2_000
"""The same for the quick look with which a long audit begins, since the audit then refines it."""
FEWEST_QUICK = 2_000
QUICK_PAIRS = 400_000_000
"""In a release that makes more pairs, from 100,000 records on, fewer people are searched, but at least these."""
FEWEST_SCORED = 250
SCORED_PAIRS = 500_000_000
"""The most pairs of a quick look by a member that has to score every pair, and the fewest people: in more than 250,000
released records it searches fewer people than the others."""
FEWEST_WITH_REFERENCE = 2 * FEWEST_RECORDS
"""The smallest control for a member of the family that uses half of it as a reference sample."""


@dataclass(frozen=True)
class ResolvedConfig:
    """A configuration with every shorthand expanded: what the audit runs."""

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
    subgroups: tuple[ColumnSpec, ...] = ()
    sensitive: tuple[ColumnSpec, ...] = ()
    """Columns whose values the release should not give away."""
    drawn: tuple[str, ...] = ()
    """The names of those attackers that were drawn beyond the configuration."""
    quick: bool = False
    """Whether only a sample of people is searched, without canaries and sensitivity analyses."""
    quick_people: int = 0
    """The most originals, and the most controls, of a quick look."""

    @property
    def is_family(self) -> bool:
        """Whether the attackers are the family of `attacker: default`."""
        return self.config.attacker is not None and self.config.attacker.preset == "default"

    @property
    def is_whole_family(self) -> bool:
        """Whether the attackers are the family, and none of its members was left out by name."""
        return self.is_family and set(FAMILY) <= set(self.attackers)

    @property
    def control_is_absent(self) -> bool:
        """Whether the originals without a match in the release are the control."""
        return self.config.control == "absent"

    @property
    def has_control(self) -> bool:
        """Whether the configuration gives a control: a file, or the originals without a match."""
        return self.control is not None or self.control_is_absent

    @property
    def runs_canaries(self) -> bool:
        """Whether every attacker runs on canaries: as set, or by default in the family."""
        return not self.quick and (self.is_family if self.config.canaries is None else self.config.canaries)

    @property
    def runs_sensitivity(self) -> bool:
        """Whether alternative choices are tried: as set, or by default in the family."""
        return not self.quick and (self.is_family if self.config.sensitivity is None else self.config.sensitivity)

    @property
    def runs_singling_out(self) -> bool:
        """Whether sets of columns and predicates are tried: as set, or by default in the family."""
        return not self.quick and (self.is_family if self.config.singling_out is None else self.config.singling_out)

    @property
    def inference(self) -> InferenceConfig:
        """What is asked of attribute inference."""
        written = self.config.inference
        return written if isinstance(written, InferenceConfig) else InferenceConfig()

    @property
    def runs_inference(self) -> bool:
        """Whether secrets are inferred: as set, or by default in the family; never without a secret."""
        asked = self.config.inference
        wanted = self.is_family if asked is None else asked is not False
        return not self.quick and wanted and bool(self.sensitive or self.inference.columns)

    @property
    def read_secrets(self) -> tuple[ColumnSpec, ...]:
        """The sensitive columns, if they are inferred; other secrets are columns of the tables anyway."""
        return self.sensitive if self.runs_inference else ()

    @property
    def weights(self) -> ColumnSpec | None:
        """The column of the release with sampling weights; None if there is none."""
        name = self.config.criteria.weights
        return None if name is None else ColumnSpec(name, "ignore", "numeric")

    @property
    def first_vectorization(self) -> Vectorization:
        """The first attacker's vectorization: its features are used to compare several releases."""
        return next(iter(self.attackers.values())).vectorization

    @property
    def bounds_subgroups(self) -> bool:
        """Whether a policy bounds the largest rate over subgroups."""
        policy = self.config.policy
        policies = policy if isinstance(policy, tuple) else () if policy is None else (policy,)
        return any(one.figure == "maximum_subgroup_rate" for one in policies)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Sentences on settings that are accepted for old configurations and have no effect."""
        written = self.config.intervals.replicates is not None
        return ("intervals are computed in closed form; `intervals.replicates` is ignored",) if written else ()

    def refuse_absent(self, what: str) -> None:
        """Refuse `control: absent` if releases are compared: each would have a different control."""
        if self.control_is_absent:
            cure = "Audit each release by itself, or name a control file of people who are in none of them."
            raise InputError([Problem(WHERE, f"{what} needs the same control for every release, not `absent`", cure)])

    def able(self, control: int, pair: Pair) -> dict[str, Attacker]:
        """The attackers that can run on these tables with a control of this size: some need a reference sample from it.

        Members of the family are left out if the remaining half of the control is too small for an interval, and those
        that compare cells if every released cell is a single value. Other attackers that need a reference sample raise
        InputError.
        """
        asked = dict(self.attackers)
        if self.is_family and any(attacker.alignment == "cells" for attacker in asked.values()):
            cells = generalized_columns(pair.original, pair.protected)
            asked = {name: attacker for name, attacker in asked.items() if cells or attacker.alignment != "cells"}
            if not asked:
                what = "the attackers compare released cells by the values that they allow, and every cell is one value"
                raise InputError([Problem(WHERE, what, "Name other attackers, such as `rarity`.")])
        if control >= (FEWEST_WITH_REFERENCE if self.is_family else 2):
            return asked
        unable = [name for name, attacker in asked.items() if attacker.needs_reference]
        rest = {name: attacker for name, attacker in asked.items() if name not in unable}
        if unable and (not self.is_family or not rest):
            cure = "Pass a control (`--control FILE`); half of it serves as the reference. Or remove its `evidence`."
            what = f"attacker '{unable[0]}' needs a reference sample of people outside the release, and there is none"
            raise InputError([Problem(WHERE, what, cure)])
        return rest

    def most_asked(self, attacker: Attacker, released: int) -> int | None:
        """The most originals, and the most controls, that the attacker searches in `released` records; None: all."""
        limits = [min(self.quick_people, max(FEWEST_QUICK, QUICK_PAIRS // max(1, released)))] if self.quick else []
        if self.is_family and attacker.blocking.compares_everybody:
            pairs = MOST_DENSITIES if attacker.evidence == "density" else MOST_PAIRS
            pairs = MOST_DISTANCES if attacker.similarity_operator.by_distance else pairs
            limits.append(max(FEWEST_ASKED, pairs // max(1, released)))
            if self.quick and attacker.scores_every_pair:
                limits.append(max(FEWEST_SCORED, SCORED_PAIRS // max(1, released)))
        return min(limits, default=None)

    def only(self, names: Sequence[str]) -> ResolvedConfig:
        """The same plan with some of its attackers, in the given order."""
        unknown = [name for name in names if name not in self.attackers]
        if unknown or not names:
            raise UsageError(unknown_names("attacker", unknown, self.attackers))
        return replace(self, attackers={name: self.attackers[name] for name in names})

    def quickly(self, people: int | None = None) -> ResolvedConfig:
        """The same plan for a quick look at so many originals, and controls, at most; by default `QUICK_PEOPLE`."""
        return replace(self, quick=True, quick_people=QUICK_PEOPLE if people is None else people)

    def within(self, memory: int | None) -> ResolvedConfig:
        """The same plan with a memory limit in bytes; None keeps the limit."""
        return self if memory is None else replace(self, budget=replace(self.budget, memory=memory))

    def among(self, population: float | None) -> ResolvedConfig:
        """The same plan with another population: a number of people, or a share below 1; None keeps the population."""
        if population is None:
            return self
        try:
            config = AuditConfig.model_validate({**self.config.model_dump(), "population": population})
        except ValidationError:
            raise UsageError(
                f"population is {population:g}; allowed is a whole number of people, such as 1000000, or the share of "
                "them that is in the table, such as 0.01"
            ) from None
        return replace(self, config=config)

    def check_population(self, people: int) -> None:
        """Refuse a population that is smaller than the table of originals."""
        stated = self.config.population
        if stated is not None and population_size(stated, people) < people:
            what = f"the population has {stated:,.0f} people, and the table of originals {people:,}"
            raise InputError([Problem(WHERE, what, "State the number of people that the originals are drawn from.")])

    def check_scenario(self, *, has_control: bool) -> None:
        """Refuse a scenario whose answer needs people who are not in the release, if there are none."""
        name = None if self.config.attacker is None else self.config.attacker.scenario
        if name is None or has_control or not SCENARIOS[name].needs_control:
            return
        what = f"the scenario {name} does not know who is in the release, so it needs people who are not, and has none"
        raise InputError([Problem(WHERE, what, "Pass a control (`--control FILE`), or choose another scenario.")])

    def with_drawn(self, seed: int, *, reference: bool) -> ResolvedConfig:
        """The same plan with attackers drawn by `seed` as well."""
        more = drawn_attackers(self.config, seed, reference=reference)
        return replace(self, attackers=self.attackers | more, drawn=tuple(more))


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
        return _resolve(_under(config.config, scenario), config.base, config.name)
    base, name = Path(), WHERE
    if isinstance(config, str | Path):
        base, name = Path(config).parent, Path(config).name
        config = _read_yaml(Path(config))
    if not isinstance(config, AuditConfig):
        try:
            config = AuditConfig.model_validate(config)
        except ValidationError as error:
            raise InputError(problems_of(error, name, AuditConfig)) from None
    return _resolve(_under(config, scenario), base, name)


def _under(config: AuditConfig, scenario: str | None) -> AuditConfig:
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
    secret = {column for column, entry in config.columns.items() if entry.observable or entry.role == "sensitive"}
    seen = {column for column, entry in config.columns.items() if entry.observable}
    named = {"columns": (written.columns, secret), "knows": (written.knows or (), seen)}
    named["tolerance"] = (tuple(written.tolerance), secret)
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
