"""The benchmark manifest: one original, its releases and how each was made, for `cvpl benchmark`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from cvpl.config.loading import ConfigWithBase, load, read_yaml
from cvpl.config.problems import problems_of
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.written import AuditConfig, ColumnConfig, ControlForm, ReadingConfig, TruthConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.settings import Settings
from cvpl.tables.source.source import locate

FILE = "benchmark.yaml"
"""The name of the manifest in a folder."""

Family = Literal["sampling", "perturbation", "k-anonymity", "generator", "differential privacy", "other"]
Text = Annotated[str, Field(min_length=1)]
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST = 60
_CURE = "Start from the example in the documentation of `cvpl benchmark`."


def _name(value: str) -> str:
    """Check a name: names become file names, so they are short and plain."""
    if not 0 < len(value) <= _LONGEST or set(value.lower()) - _LETTERS or value[0] in "_-":
        raise ValueError(f"a name has up to {_LONGEST} letters, digits, _ and -, and begins with a letter or a digit")
    return value


class ReleaseConfig(Settings):
    """One release: its file, how it was made, and its differences from the rest of the manifest.

    `columns` replaces the entries of the columns it names; `truth`, `control` and `reading` replace those of the
    manifest; null means none.
    """

    file: Text
    mechanism: Text
    family: Family
    strength: Mapping[str, int | float | str] = {}
    by: Text | None = None
    truth: TruthConfig | None = None
    control: ControlForm | None = None
    reading: ReadingConfig = ReadingConfig()
    columns: Mapping[str, ColumnConfig] = {}


class ManifestConfig(AuditConfig):
    """A whole manifest: all settings of an `audit.yaml`, and the tables."""

    name: str
    title: Text
    source: Text
    licence: Text
    original: Text
    releases: Annotated[dict[str, ReleaseConfig], Field(min_length=1)]

    @field_validator("name")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        return _name(value)

    @field_validator("releases")
    @classmethod
    def _plain_names(cls, value: dict[str, ReleaseConfig]) -> dict[str, ReleaseConfig]:
        duplicates = [name for name, times in Counter(map(str.lower, value)).items() if times > 1]
        if duplicates:
            raise ValueError("two release names differ only in upper and lower case; give each its own name")
        for name in value:
            _name(name)
        return value

    def audit_config(self, name: str) -> AuditConfig:
        """The configuration for this release: the manifest's own, with the release's changes."""
        release = self.releases[name]
        written = {key: getattr(self, key) for key in AuditConfig.model_fields if key in self.model_fields_set}
        written["columns"] = {**self.columns, **release.columns}
        written |= {
            key: getattr(release, key) for key in ("truth", "control", "reading") if key in release.model_fields_set
        }
        return AuditConfig.model_validate(written)


@dataclass(frozen=True, eq=False)
class Entry:
    """One release of a manifest, ready to be audited."""

    name: str
    made: ReleaseConfig
    original: Path
    file: Path
    config: ConfigWithBase
    resolved: ResolvedConfig


@dataclass(frozen=True, eq=False)
class Manifest:
    """A checked manifest: every file exists, and every configuration can be run."""

    config: ManifestConfig
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The name of the group of its releases."""
        return self.config.name


def read_manifests(paths: Sequence[str | Path], data: str | Path | None = None) -> list[Manifest]:
    """Read and check manifests; a folder means its benchmark.yaml.

    Files are looked up in `data`, or in the manifest's own folder. Raises InputError with every problem of all
    manifests: unknown settings, conflicting settings, missing files, duplicate names. Raises UsageError if `data` is
    not a folder.
    """
    if data is not None and not Path(data).is_dir():
        raise UsageError(f"--data {data}: there is no such folder. Name the folder that holds the tables.")
    found: list[Manifest] = []
    problems: list[Problem] = []
    for given in paths:
        path = Path(given) / FILE if Path(given).is_dir() else Path(given)
        text = f"{path.parent.name}/{path.name}" if path.name == FILE and path.parent.name else path.name
        try:
            found.append(_read_manifest(path, path.parent if data is None else Path(data), text))
        except InputError as error:
            problems.extend(
                replace(problem, where=text) if problem.where == path.name else problem for problem in error.problems
            )
            continue
        if found[-1].name.lower() in [item.name.lower() for item in found[:-1]]:
            what = "another manifest has the same `name`"
            problems.append(Problem(text, what, "Give each manifest its own name, and list each once."))
    if problems:
        raise InputError(problems)
    return found


def _read_manifest(path: Path, base: Path, text: str) -> Manifest:
    content = read_yaml(path, "manifest", _CURE)
    if not isinstance(content, Mapping):
        raise InputError([Problem(text, "the manifest is not a mapping of settings", _CURE)])
    try:
        config = ManifestConfig.model_validate(content)
    except ValidationError as error:
        raise InputError([*problems_of(error, text, ManifestConfig), *_missing(_files(content), base, text)]) from None
    problems = _missing(_files(content), base, text)
    entries, faults = [], []
    for name, release in config.releases.items():
        try:
            based = ConfigWithBase(config.audit_config(name), base, text)
            entries.append(Entry(name, release, base / config.original, base / release.file, based, load(based)))
        except InputError as error:
            faults.append((name, error.problems))
    problems += _release_problems(faults, len(config.releases), text)
    if problems:
        raise InputError(problems)
    return Manifest(config, tuple(entries))


def _files(content: Mapping[str, Any]) -> list[tuple[str, object]]:
    """The tables that a manifest names, and where; taken from the raw content, so that other faults hide none."""
    found = [("original", content.get("original")), ("control.file", _inner(content.get("control"), "file"))]
    releases = content.get("releases")
    for name, release in releases.items() if isinstance(releases, Mapping) else ():
        found.append((f"releases.{name}.file", _inner(release, "file")))
        found.append((f"releases.{name}.control.file", _inner(_inner(release, "control"), "file")))
    return found


def _inner(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _missing(files: Sequence[tuple[str, object]], base: Path, text: str) -> list[Problem]:
    cure = "Correct the path; paths are relative to --data, or without it to the manifest's folder."
    return [
        Problem(text, f"`{where}`: there is no such file: {_path_in_words(file, base)}", cure)
        for where, file in files
        if isinstance(file, str) and not locate(base / file)[0].is_file()
    ]


def _path_in_words(file: str, base: Path) -> str:
    """A path as written, and the folder that it is relative to."""
    return f"'{file}'" if Path(file).is_absolute() else f"'{file}' in the folder {base.absolute()}"


def _release_problems(faults: Sequence[tuple[str, tuple[Problem, ...]]], releases: int, text: str) -> list[Problem]:
    """The problems of all releases, each once: shared ones belong to the manifest, others to their release."""
    found = []
    for name, problems in faults:
        for problem in problems:
            shared = sum(problem in others for _, others in faults) == releases
            own = problem.where != text or shared
            found.append(problem if own else replace(problem, where=f"{text}, release '{name}'"))
    return list(dict.fromkeys(found))
