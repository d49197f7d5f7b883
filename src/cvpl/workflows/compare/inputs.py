"""The tables of a comparison: release names, and the problems of all tables at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cvpl import result as out
from cvpl.assessment.audit_result import described
from cvpl.config.loading import ConfigLike, load
from cvpl.config.resolved import ResolvedConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.pair import Inputs, check_files
from cvpl.tables.source.source import display_name
from cvpl.workflows.planned_audit import read_tables

_CONFIGURATION = "configuration"
_ROLE = "protected"


@dataclass(frozen=True, eq=False)
class NamedRelease:
    """A release and its name. `identity` are its own identity keys, if it numbers people by row."""

    name: str
    table: object
    identity: IdentityKeys | None = None

    @property
    def label(self) -> str:
        """Its name in messages: the file name, followed by its own name if the two differ."""
        file = display_name(self.table, self.name)
        return self.name if Path(self.name).name == file else f"{file} ({self.name})"

    def read(
        self, original: object, resolved: ResolvedConfig, control: object | None, *, checks: bool = True
    ) -> Inputs:
        """The tables of its audit; without `checks`, no check before the attack may follow."""
        return read_tables(original, self.table, self.resolved(resolved), control, checks=checks)

    def resolved(self, resolved: ResolvedConfig) -> ResolvedConfig:
        """The configuration with the release's own identity keys."""
        return resolved.identified_by(self.identity)


def named(releases: Sequence[object] | Mapping[str, object]) -> list[NamedRelease]:
    """The releases, each with a name: the mapping's, the file's (with folders if needed to be unique), or a number."""
    if isinstance(releases, str | Path):
        raise UsageError("releases is one path; give a list of tables, or a mapping from names to tables")
    if isinstance(releases, Mapping):
        return [NamedRelease(str(name), table) for name, table in releases.items()]
    parts = [Path(release).parts if isinstance(release, str | Path) else None for release in releases]
    names = []
    for at, own in enumerate(parts):
        if own is None:
            names.append(f"release {at + 1}")
            continue
        others = [part for part in parts if part is not None and part != own]
        depth = next((d for d in range(1, len(own)) if own[-d:] not in [other[-d:] for other in others]), len(own))
        names.append("/".join(own[-depth:]))
    return [NamedRelease(name, table) for name, table in zip(names, releases, strict=True)]


def resolve(
    original: object,
    releases: Sequence[NamedRelease],
    config: ConfigLike,
    control: object | None,
    memory: int | None,
    attackers: Sequence[str] | None,
) -> ResolvedConfig:
    """The configuration of a comparison; its problems are reported with those of the files."""
    try:
        resolved = load(config).with_memory(memory)
    except InputError as error:
        files = check_files(original, control, *(release.table for release in releases))
        raise InputError([*error.problems, *files]) from None
    if control is None:
        resolved.refuse_absent("a comparison")
    return resolved if attackers is None else resolved.only(attackers)


def check_releases(
    original: object, releases: Sequence[NamedRelease], resolved: ResolvedConfig, control: object | None
) -> dict[str, out.Input]:
    """Read every table once, report the problems of all of them, and describe those that all releases share.

    Problems are those of an audit, and also a duplicate release, or a release without a column that others have.
    """
    seen: list[_Seen] = []
    faults: list[tuple[NamedRelease, tuple[Problem, ...]]] = []
    for one in releases:
        try:
            seen.append(_Seen.of(one, one.read(original, resolved, control, checks=False)))
        except InputError as error:
            faults.append((one, error.problems))
    problems = _distinct(faults, len(releases)) + _twice(releases, seen) + _other_columns(seen)
    if problems:
        raise InputError(problems)
    return {role: item for role, item in seen[0].inputs.items() if role != _ROLE}


@dataclass(frozen=True, eq=False)
class _Seen:
    """What is kept of a readable release: not its cells."""

    one: NamedRelease
    inputs: dict[str, out.Input]
    lacking: frozenset[str]

    @classmethod
    def of(cls, one: NamedRelease, inputs: Inputs) -> _Seen:
        return cls(one, described(inputs), frozenset(inputs.whole.lacking[_ROLE]))


def _distinct(faults: Sequence[tuple[NamedRelease, tuple[Problem, ...]]], releases: int) -> list[Problem]:
    """The problems of all releases, each once, with the release's own name.

    A problem of the original, the control or the configuration occurs with every release and is reported once. A
    configuration problem that affects only some releases names them.
    """
    found = []
    for one, problems in faults:
        file = display_name(one.table, _ROLE)
        for problem in problems:
            shared = sum(problem in others for _, others in faults) == releases
            where = problem.where
            if where in (file, f"{file} ({_ROLE})"):
                where = one.label
            elif where == _CONFIGURATION and not shared:
                where = f"{_CONFIGURATION}, applied to {one.label}"
            found.append(replace(problem, where=where))
    return list(dict.fromkeys(found))


def _twice(releases: Sequence[NamedRelease], seen: Sequence[_Seen]) -> list[Problem]:
    """Releases that are the same table, the same file, or a file with the same bytes as an earlier one."""
    prints = {item.one.name: item.inputs[_ROLE].sha256 for item in seen}
    found = []
    for at, one in enumerate(releases):
        for before in releases[:at]:
            fingerprint = prints.get(one.name)
            equal = fingerprint is not None and fingerprint == prints.get(before.name)
            if one.table is before.table or _file(one) == _file(before) is not None or equal:
                cure = "Name each release once; equal releases cannot be compared."
                found.append(Problem(one.label, f"this is the same release as {before.label}", cure))
                break
    return found


def _file(one: NamedRelease) -> Path | None:
    return Path(one.table).resolve() if isinstance(one.table, str | Path) else None


def _other_columns(seen: Sequence[_Seen]) -> list[Problem]:
    """Columns that some releases lack and others have: their utilities would describe different tables."""
    everywhere = frozenset[str].intersection(*(item.lacking for item in seen)) if seen else frozenset[str]()
    cure = "Compare releases with the same columns; a column that is withheld on purpose may have empty cells."
    found = []
    for item in seen:
        names = sorted(item.lacking - everywhere)
        listed = ", ".join(f"'{name}'" for name in names)
        what = f"the release lacks {'a column' if len(names) == 1 else 'columns'} that other releases have: {listed}"
        found += [Problem(item.one.label, what, cure)] if names else []
    return found
