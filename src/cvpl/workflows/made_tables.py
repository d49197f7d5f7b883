"""Tables that cvpl makes: simulated people, protected releases, and splits into a release and a control.

Only declared columns enter a release, except ignored ones and those of the role group: the name of a household or an
account identifies its people, and an audit reads it from the originals. The id stays, so that the release can be
audited; remove it before publishing. A table without an id gets `original_row` instead, the row of each record's
person, counted from 0, since releases are shuffled.

Random split of people into a release and a control, before a table is protected. A control shows how many look-alikes
people outside the release find in it. It is valid only if its people are a random sample of the same population, and if
none of their data enters the release: so people are drawn before protecting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from cvpl.config.loading import ConfigLike, LimitsLike, limits_of, load
from cvpl.config.resolved import ResolvedConfig
from cvpl.config.written import ProtectConfig
from cvpl.errors import InputError, Problem, UsageError
from cvpl.files import check_outputs, whole_files
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import GaussianCopula, KAnonymity, Mondrian, Perturbation, copula, full_domain
from cvpl.laboratory.mechanisms.hierarchies import CodedLevel, check_nested, label_levels, number_levels, time_levels
from cvpl.laboratory.mechanisms.perturbation import LEVELS, usual_noise
from cvpl.randomness import stream
from cvpl.tables.columns import ColumnSpec, Type
from cvpl.tables.making.parting import check_parts, part, read_people
from cvpl.tables.making.recount import smallest_class
from cvpl.tables.making.to_frame import read_frame
from cvpl.wording import count_phrase, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from cvpl.config.written import AuditConfig


USUAL_SHARE = 0.5
"""The default share set aside: for a given table it gives the narrowest interval of a difference."""


@dataclass(frozen=True)
class Split:
    """The files written, and all that is needed to repeat the split: the table's SHA-256, the seed and the settings."""

    release: Path
    control: Path
    record: Path
    people_release: int
    people_control: int
    rows_release: int
    rows_control: int
    by: str | None
    seed: int
    sha256: str | None


def split(
    table: str | Path,
    *,
    share: float | None = None,
    people: int | None = None,
    by: str | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    overwrite: bool = False,
    limits: LimitsLike | None = None,
) -> Split:
    """Draw people of `table` at random as a control; write them and the rest to separate files.

    NAME_release gets everybody else and is to be protected; NAME_control gets round(share x people) people (half of
    them by default), or `people` of them; NAME_split.json records the split. Rows with equal `by` are one person or
    household and stay together; without it every row is a person. Files are CSV, gzipped CSV or Parquet like the table,
    and are written next to it or to the folder `out`, with unchanged cells in their order. The same table and seed give
    the same bytes. `limits` are those of `reading.limits` that are not the default. Raises UsageError for a side
    without people, or existing files (unless `overwrite`), InputError for a table or column that cannot be used, and
    LimitError for a table beyond a limit.
    """
    path = Path(table)
    if share is not None and people is not None:
        raise UsageError("both a share and a number of people are given. Keep one of them.")
    if share is not None and not (math.isfinite(share) and 0 < share < 1):
        raise UsageError(f"the share of people set aside is {share}; allowed is a number between 0 and 1, such as 0.5.")
    if people is not None and people < 1:
        raise UsageError(f"the number of people set aside is {people}; allowed is a whole number from 1.")
    if seed < 0:
        raise UsageError(f"the seed is {seed}; allowed is a whole number from 0.")
    folder = path.parent if out is None else Path(out)
    name, ending = _parts_of_name(path)
    targets = folder / f"{name}_release{ending}", folder / f"{name}_control{ending}"
    record = folder / f"{name}_split.json"
    check_outputs([*targets, record], [table], overwrite=overwrite)
    found = read_people(path, by, None if limits is None else limits_of(limits))
    wanted = _number_set_aside(found.people, share, people, path.name)
    aside = np.zeros(found.people, dtype=bool)
    aside[stream(seed, "split").permutation(found.people)[:wanted]] = True
    mine = aside[found.person]
    rows = int((~mine).sum()), int(mine.sum())
    done = Split(*targets, record, found.people - wanted, wanted, *rows, by, seed, found.sha256)
    folder.mkdir(parents=True, exist_ok=True)
    with whole_files(*targets, record) as (release, control, its_record):
        part(path, found.reading, mine, (release, control))
        if found.state is not None:
            found.state.check()
        check_parts((release, control), found.reading, rows, by)
        its_record.write_bytes(_record(done, path.name).encode())
    return done


def _parts_of_name(path: Path) -> tuple[str, str]:
    """A file's name and its extension, as written: people.csv.gz is ("people", ".csv.gz")."""
    ending = path.suffix
    if ending.lower() == ".gz":
        ending = Path(path.stem).suffix + ending
    return path.name.removesuffix(ending), ending


def _number_set_aside(there: int, share: float | None, people: int | None, name: str) -> int:
    """The number of people to set aside; at least one must be on either side."""
    if there < 2:
        what = "the table has only one person, who cannot be on both sides"
        raise InputError([Problem(name, what, "Check the column that identifies people.")])
    wanted = round(there * (USUAL_SHARE if share is None else share)) if people is None else people
    if not 0 < wanted < there:
        side = "the control" if wanted < 1 else "the release"
        raise UsageError(
            f"{wanted:,} of {there:,} people would be set aside, which leaves {side} empty. "
            f"Set aside from 1 to {there - 1:,} of them."
        )
    return wanted


def _record(done: Split, table: str) -> str:
    """The record as JSON: names of files and columns, numbers, no cell."""
    files = {"release": done.release.name, "control": done.control.name}
    left = {key: value for key, value in asdict(done).items() if key not in ("release", "control", "record")}
    return json.dumps({"schema": "cvpl/split/1", "table": table, **files, **left}, indent=2) + "\n"


class MadeTable:
    """The base of simulated people and releases. It supports Arrow, so `cvpl.audit` accepts it as a table."""

    frame: Frame

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.frame)

    def __repr__(self) -> str:
        """The type and size: no cell is shown."""
        rows, columns = count_phrase(len(self.frame), "row"), count_phrase(len(self.frame.order), "column")
        return f"<{type(self).__name__}: {rows}, {columns}>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Every column as one array. A missing text is None, a missing number NaN, a missing time NaT."""
        return self.frame.to_columns()

    def to_frame(self) -> DataFrame:
        """The table as a pandas dataframe. Raises UsageError if pandas is not installed."""
        from cvpl.result.document import data_frame  # noqa: PLC0415 - its package loads pydantic

        return data_frame(self.to_columns())

    def write(self, path: str | Path) -> Path:
        """Write the table as `.csv`, `.csv.gz` or `.parquet`, by the name of `path`, and return the path.

        An existing file is replaced. Raises UsageError for another extension.
        """
        return self._write(Path(path))

    def _write(self, file: Path, check: Callable[[Path], None] | None = None) -> Path:
        """Write the table; `check` gets the written draft, and nothing is put in place if it raises."""
        try:
            self.frame.write(file, check)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return file


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
            return whole if named["id"] else _add_row_numbers(whole)

        return cls(resolved, read.frame if named["id"] else _add_row_numbers(read.frame), synthesized), read.left_out

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


def _add_row_numbers(frame: Frame) -> Frame:
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


CONFIG = """\
# Simulated purchases: who bought what, when and after which advertisement.
columns:
  person_id:      {role: id}
  age:            {role: quasi_identifier, type: numeric, block: {bin: 10}}
  gender:         {role: quasi_identifier, type: category, block: exact}
  region:         {role: quasi_identifier, type: category, separator: "/", block: {level: 1}}
  brand_product:  {role: attribute, type: category}
  purchase_place: {role: attribute, type: category}
  purchase_time:  {role: attribute, type: datetime, features: [hour, day_of_week]}
  days_after_ad:  {role: attribute, type: numeric}
  ad_channel:     {role: attribute, type: category}
  income:         {role: sensitive}
truth: {original: person_id, protected: person_id, simulated: true}
attacker: default
threshold: 0.90
report: {subgroups: [gender]}
seed: 42
"""
"""The audit.yaml of simulated people."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedPeople(MadeTable):
    """Simulated people, one row each; `config_text` is an audit.yaml for their releases.

    `write(path)` writes the table, `to_columns()` and `to_frame()` give it in memory, and `cvpl.protect` and
    `cvpl.audit` accept the value itself as a table.
    """

    frame: Frame
    config_text: str = CONFIG

    @property
    def config(self) -> AuditConfig:
        """The configuration as a value."""
        from cvpl.config.loading import parse_config  # noqa: PLC0415 - loads pydantic

        return parse_config(self.config_text)


def simulate(
    records: int = 10_000,
    seed: int = 42,
    *,
    anomaly_rate: float = 0.0,
    missing_rate: float = 0.0,
    products: int = 50,
    product_alpha: float = 1.5,
) -> SimulatedPeople:
    """Simulate people who saw an advertisement and bought something, as in the paper.

    `records` people are drawn, one row each. A share `anomaly_rate` of them has a planted anomaly (a rare channel,
    product, time or delay), and each value is missing with probability `missing_rate`. Of `products`, the r-th most
    popular has a share proportional to r^-`product_alpha`. The same arguments give the same people, two seeds give
    different ones. Raises UsageError for a number outside its range.
    """
    from cvpl.laboratory.simulation import Touchpoints  # noqa: PLC0415 - loads numpy
    from cvpl.randomness import stream  # noqa: PLC0415

    if seed < 0:
        raise UsageError(f"the seed is {seed}; allowed is a whole number from 0.")
    try:
        world = Touchpoints(records, anomaly_rate, missing_rate, products, product_alpha)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return SimulatedPeople(world.draw(stream(seed, "simulated people")))
