"""Protection of any table with an audit.yaml: the mechanisms, with their parameters derived from its columns.

Only declared columns enter a release, except ignored ones and those of the role group: the name of a household or an
account identifies its people, and an audit reads it from the originals. The id stays, so that the release can be
audited; remove it before publishing. A table without an id gets `original_row` instead, the row of each record's
person, counted from 0, since releases are shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np

from cvpl.config.loading import ConfigLike, load
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.written import ProtectConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import GaussianCopula, KAnonymity, Mondrian, Perturbation, copula, full_domain
from cvpl.laboratory.mechanisms.hierarchies import CodedLevel, check_nested, label_levels, number_levels, time_levels
from cvpl.laboratory.mechanisms.perturbation import LEVELS, usual_noise
from cvpl.randomness import stream
from cvpl.tables.columns import ColumnSpec, Type
from cvpl.tables.making.recount import smallest_class
from cvpl.tables.making.to_frame import read_frame
from cvpl.wording import did_you_mean
from cvpl.workflows.made_table import MadeTable

Method = Literal["k-anonymity", "mondrian", "perturbation", "synthetic"]
Strength = int | float | str

ORIGINAL_ROW = "original_row"


class Mechanism(Protocol):
    """A mechanism at one strength."""

    def protect(self, table: Frame, rng: np.random.Generator, /) -> Frame:
        """The release of a table."""
        ...


class MechanismFamily(NamedTuple):
    """A method: the meaning of its strength, and the default strengths."""

    strength: str
    usual: tuple[Strength, ...]


FAMILIES: Mapping[Method, MechanismFamily] = {
    "k-anonymity": MechanismFamily("k, a whole number from 2", full_domain.STRENGTHS),
    "mondrian": MechanismFamily("k, a whole number from 2", full_domain.STRENGTHS),
    "perturbation": MechanismFamily(f"a level: {', '.join(LEVELS)}", tuple(LEVELS)),
    "synthetic": MechanismFamily("the share of correlation that is kept, from 0 to 1", copula.STRENGTHS),
}


@dataclass(frozen=True, eq=False, repr=False)
class Release(MadeTable):
    """A release of a table; for k-anonymity with the level of each column, the rows removed and the loss.

    `classed_by` are the columns that define the classes of k-anonymity, `left_out` the table's columns that no release
    contains. `write(path)` writes it, `to_columns()` and `to_frame()` give it in memory, and `cvpl.audit` accepts the
    value itself as a table. The id is in it, so that it can be audited: remove it before you publish.
    """

    method: Method
    strength: Strength
    frame: Frame
    classed_by: tuple[str, ...]
    removed: int = 0
    levels: Mapping[str, str] | None = None
    loss: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """A name for its file."""
        return release_name(self.method, self.strength)

    def write(self, path: str | Path) -> Path:
        """Write the release as `.csv`, `.csv.gz` or `.parquet`, by the name of `path`, and return the path.

        An existing file is replaced. For k-anonymity, k is recounted from the file itself, so that a release that
        violates it is never put in place. Raises UsageError for another extension.
        """
        return self.write_counted(path)[0]

    def write_counted(self, path: str | Path) -> tuple[Path, int | None]:
        """Write like `write`; for k-anonymity also return the size of the smallest class counted in the file."""
        if self.method not in ("k-anonymity", "mondrian"):
            return self._write(Path(path)), None
        counted: list[int] = []

        def count(draft: Path) -> None:
            counted.append(smallest_class(draft, self.classed_by))
            if counted[0] < int(self.strength):
                raise RuntimeError(
                    f"the release has a class of {counted[0]} where at least {self.strength} are required"
                )

        return self._write(Path(path), count), counted[0]


def release_name(method: Method, strength: Strength) -> str:
    """A name for the file of a release."""
    return f"{method.replace('-', '_')}_{strength}"


def protect(
    table: object, method: Method, strength: Strength, config: ConfigLike, *, seed: int | None = None
) -> Release:
    """Protect a table: by k-anonymity (full-domain or Mondrian), by noise, or by synthetic rows.

    `table` is a path (CSV, TSV, Parquet, Excel, DuckDB) or a dataframe that supports Arrow. `strength` is k for
    `k-anonymity` and `mondrian`, a level (`low`, `medium`, `high`) for `perturbation`, the share of correlation kept
    for `synthetic`. `config` declares the columns, as for `cvpl.audit`; `seed` replaces its seed. Only declared columns
    enter the release. The id stays in it so that it can be audited; a table without one gets `original_row`, the row of
    each record's person. The same table, configuration and seed give the same release. Raises InputError for a table or
    configuration that cannot be used, and UsageError for an unknown method or strength.
    """
    if method not in FAMILIES:
        raise UsageError(f"the method is {method!r}; allowed are {', '.join(FAMILIES)}. Choose one of them.")
    protector, left_out = Protector.read(table, config)
    return replace(protector.release(method, strength, seed), left_out=left_out)


class Protector:
    """A table to be protected by any method at any strength.

    `frame` has the observable columns by their types; the others are carried along. `synthesized` gives the table with
    its sensitive columns read too, since synthetic rows need values that belong to nobody.
    """

    def __init__(self, resolved: ResolvedConfig, frame: Frame, synthesized: Callable[[], Frame]) -> None:
        self._plan, self.frame, self._synthesized = resolved, frame, synthesized
        self._settings = resolved.config.protect or ProtectConfig()
        self._specs = {spec.name: spec for spec in resolved.specs}
        self._levels: dict[str, Sequence[CodedLevel]] | None = None
        self._check_settings()

    @classmethod
    def read(cls, table: object, config: ConfigLike) -> tuple[Protector, tuple[str, ...]]:
        """Read a table by its configuration, and return the names of the columns that no release will contain."""
        resolved = load(config)
        named = {
            role: [name for name, entry in resolved.config.columns.items() if entry.role == role]
            for role in ("id", "sensitive")
        }
        read = read_frame(table, resolved.specs, [*chain(*named.values())], resolved.reading)

        @cache
        def synthesized() -> Frame:
            guessed = named["sensitive"]
            whole = read_frame(table, resolved.specs, named["id"], resolved.reading, guessed=guessed).frame
            return whole if named["id"] else _numbered(whole)

        return cls(resolved, read.frame if named["id"] else _numbered(read.frame), synthesized), read.left_out

    def release(self, method: Method, strength: Strength, seed: int | None = None) -> Release:
        """The release by one method at one strength; raises UsageError for an invalid strength."""
        rng = stream(self._plan.config.seed if seed is None else seed, f"protect {method} {strength}")
        try:
            if method == "k-anonymity":
                return self._full_domain(_whole(method, strength), rng)
            frame = self.frame
            mechanism: Mechanism
            if method == "mondrian":
                mechanism = self._mondrian(_whole(method, strength))
            elif method == "perturbation":
                numbers = [name for name in frame.numbers if name in self._specs]
                noise = usual_noise(frame, numbers, _level(strength)) | dict(self._settings.noise)
                mechanism = Perturbation(_level(strength), noise)
            else:
                mechanism, frame = GaussianCopula(_number(strength)), self._synthesized()
            return Release(method, strength, mechanism.protect(frame, rng), self.columns)
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def seed(self) -> int:
        """The configuration's seed."""
        return self._plan.config.seed

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that k-anonymity generalizes."""
        if self._settings.columns is not None:
            return self._settings.columns
        return tuple(spec.name for spec in self._specs.values() if spec.role == "quasi_identifier")

    def hierarchies(self) -> dict[str, Sequence[CodedLevel]]:
        """The levels of these columns."""
        if self._levels is None:
            self._levels = {name: self._levels_of(self._specs[name]) for name in self.columns}
            for name, levels in self._levels.items():
                check_nested(name, levels)
        return self._levels

    def _full_domain(self, k: int, rng: np.random.Generator) -> Release:
        mechanism = KAnonymity(k, self.hierarchies(), self._settings.removal)
        found = mechanism.search(len(self.frame))
        frame = mechanism.apply(self.frame, found, rng)
        return Release("k-anonymity", k, frame, self.columns, found.removed, found.levels, found.loss)

    def _mondrian(self, k: int) -> Mondrian:
        grouped = [self._specs[name] for name in self.columns if _has_groups(self._specs[name])]
        paths = {spec.name: spec.path for spec in grouped}
        return Mondrian(k, self.columns, paths, {spec.name: _spelling(spec) for spec in grouped})

    def _levels_of(self, spec: ColumnSpec) -> list[CodedLevel]:
        frame, name = self.frame, spec.name
        if spec.type == "numeric":
            return number_levels(frame.numbers[name], self._settings.widths.get(name), whole=name in frame.whole)
        if spec.type == "datetime":
            units = self._settings.units.get(name)
            return time_levels(frame.times[name]) if units is None else time_levels(frame.times[name], units)
        return label_levels(frame.categories[name], spec.path, _spelling(spec))

    def _check_settings(self) -> None:
        """Check the `protect` settings for columns that do not exist or have another type."""
        wanted: list[tuple[str, Sequence[str], Type | None]] = [
            ("columns", self._settings.columns or (), None),
            ("widths", tuple(self._settings.widths), "numeric"),
            ("units", tuple(self._settings.units), "datetime"),
            ("noise", tuple(self._settings.noise), "numeric"),
        ]
        problems = []
        for setting, names, kind in wanted:
            for name in names:
                spec = self._specs.get(name)
                if spec is None or (kind is not None and spec.type != kind):
                    what = f"`protect.{setting}` names a column that is not declared as {kind or 'observable'}"
                    cure = "" if name in self._plan.config.columns else did_you_mean(name, self._specs)
                    cure = cure or "Correct the name or the column's type."
                    problems.append(Problem("configuration", what, cure, name))
        if not self.columns:
            cure = "Give columns the role quasi_identifier, or list them under `protect.columns`."
            problems.append(Problem("configuration", "there is no column to generalize", cure))
        if problems:
            raise InputError(problems)


def _numbered(frame: Frame) -> Frame:
    """The table with row numbers as a column instead of an id: shuffling would otherwise lose the truth."""
    if ORIGINAL_ROW in frame.order:
        return frame
    return replace(frame, id_name=ORIGINAL_ROW, order=(ORIGINAL_ROW, *frame.order))


def _has_groups(spec: ColumnSpec) -> bool:
    return spec.separator is not None or spec.parents is not None


def _spelling(spec: ColumnSpec) -> Callable[[tuple[str, ...]], str]:
    """How a group above a label is written: "North/*", or its own name from a hierarchy file."""
    separator = spec.separator
    if separator is None:
        return lambda path: path[-1]
    return lambda path: separator.join([*path, "*"])


def _whole(method: str, strength: Strength) -> int:
    try:
        return int(str(strength))
    except ValueError:
        raise ValueError(f"{method}: k is {strength!r}; allowed is a whole number from 2. Choose one.") from None


def _number(strength: Strength) -> float:
    try:
        return float(strength)
    except ValueError:
        raise ValueError(
            f"synthetic: the share of correlation kept is {strength!r}; allowed is a number from 0 to 1. Choose one."
        ) from None


def _level(strength: Strength) -> Literal["low", "medium", "high"]:
    for level in ("low", "medium", "high"):
        if strength == level:
            return level
    raise ValueError(f"perturbation: the level is {strength!r}; allowed are {', '.join(LEVELS)}. Choose one of them.")
