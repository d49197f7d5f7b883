"""A public data set as input to an audit: its files, its columns, its source."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import InputError, Problem

if TYPE_CHECKING:
    from cvpl.laboratory.frame import Frame


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of originals, with the inputs for an audit of its releases.

    `path` is the original. `control` are people who are in no release, if the set has any. `releases` are the local
    releases by name; `truths` gives, for those with known true matches, the `truth` entry of the configuration.
    `hierarchies` are hierarchy files by column. `columns` and `reading` are parts of a configuration.
    """

    name: str
    path: Path
    source: str
    licence: str
    citation: str
    columns: Mapping[str, Mapping[str, Any]]
    reading: Mapping[str, Any] = field(default_factory=dict)
    control: Path | None = None
    releases: Mapping[str, Path] = field(default_factory=dict)
    truths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hierarchies: Mapping[str, Path] = field(default_factory=dict)

    @property
    def config(self) -> dict[str, Any]:
        """A configuration without the attacker: `cvpl.audit(data.path, ..., {**data.config, "attacker": "paper"})`.

        Each call returns a new dict, which you may change. It names the control, if there is one.
        """
        found: dict[str, Any] = {"columns": deepcopy(dict(self.columns))}
        if self.reading:
            found["reading"] = deepcopy(dict(self.reading))
        if self.control is not None:
            found["control"] = {"file": str(self.control)}
        return found

    def config_for(self, release: str) -> dict[str, Any]:
        """`config` for one of `releases`, with its truth if that is known. Raises InputError for any other name."""
        if release not in self.releases:
            there = ", ".join(self.releases) or "none"
            problem = Problem(f"cvpl.datasets.{self.name}", "no release has this name", f"There are: {there}.")
            raise InputError([problem])
        truth = self.truths.get(release)
        return self.config if truth is None else {**self.config, "truth": dict(truth)}

    def frame(self) -> Frame:
        """The original as arrays: numbers, and categories as codes; columns that are not compared are kept as text."""
        from cvpl.tables.columns import OBSERVABLE, ColumnSpec  # noqa: PLC0415 - loads numpy
        from cvpl.tables.making.to_frame import read_frame  # noqa: PLC0415 - loads DuckDB
        from cvpl.tables.source.reading_settings import Reading  # noqa: PLC0415

        compared = {name: entry for name, entry in self.columns.items() if entry["role"] in OBSERVABLE}
        specs = [ColumnSpec(name, entry["role"], entry["type"]) for name, entry in compared.items()]
        reading = Reading(strip=self.reading.get("strip", False), missing=tuple(self.reading.get("missing", ("",))))
        return read_frame(self.path, specs, [name for name in self.columns if name not in compared], reading).frame
