"""A public data set as an audit takes it: where its files are, what its columns are, whose it is."""

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
    """A table of originals, with what an audit of its releases needs.

    `path` is the original. `control` are people who are in no release, where the set has such. `releases` are the
    releases that lie beside it, by name; `truths` says for those whose rows are known how they are found, as `truth` of
    the configuration has it. `hierarchies` are files of levels by column. `columns` and `reading` are parts of a
    configuration.
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
        """A configuration that lacks the attacker only: `cvpl.audit(it.path, ..., {**it.config, "attacker": "paper"})`.

        A new one each time, to be changed at will. It names the control, where there is one.
        """
        found: dict[str, Any] = {"columns": deepcopy(dict(self.columns))}
        if self.reading:
            found["reading"] = deepcopy(dict(self.reading))
        if self.control is not None:
            found["control"] = {"file": str(self.control)}
        return found

    def config_for(self, release: str) -> dict[str, Any]:
        """`config` for one of `releases`, with its truth where that is known. Any other name is refused."""
        if release not in self.releases:
            there = ", ".join(self.releases) or "none"
            problem = Problem(f"cvpl.datasets.{self.name}", "no release has this name", f"There are: {there}.")
            raise InputError([problem])
        truth = self.truths.get(release)
        return self.config if truth is None else {**self.config, "truth": dict(truth)}

    def frame(self) -> Frame:
        """The original as arrays: numbers, categories as codes; what is not compared is carried along as text."""
        from cvpl.tables.columns import OBSERVABLE, ColumnSpec  # noqa: PLC0415 - loads numpy
        from cvpl.tables.source import Reading  # noqa: PLC0415
        from cvpl.tables.to_frame import read_frame  # noqa: PLC0415 - loads DuckDB

        compared = {name: entry for name, entry in self.columns.items() if entry["role"] in OBSERVABLE}
        specs = [ColumnSpec(name, entry["role"], entry["type"]) for name, entry in compared.items()]
        reading = Reading(strip=self.reading.get("strip", False), missing=tuple(self.reading.get("missing", ("",))))
        return read_frame(self.path, specs, [name for name in self.columns if name not in compared], reading).frame
