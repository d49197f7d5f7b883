"""Load a `Dataset` from a folder or from its original source."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cvpl.datasets.dataset import Dataset
from cvpl.datasets.fetching import fetch as fetch_file
from cvpl.errors import InputError, Problem
from cvpl.files import write_whole

FOLDER_VARIABLE = "CVPL_DATA"
"""The environment variable that names the folder of local copies."""


@dataclass(frozen=True)
class SourceFile:
    """A file at its source: name, SHA-256, size in bytes, and the function that turns its bytes into the table.

    `address` is None if it cannot be fetched.
    """

    name: str
    sha256: str
    size: int
    to_table: Callable[[bytes], bytes]
    address: str | None = None


@dataclass(frozen=True)
class Description:
    """The description of a data set before it is located: its files below a folder, and the facts of a `Dataset`.

    `table` is the original's file, `by_hand` how to get it, with {folder} for its folder, `source_file` the file it is
    made from, if that is known. `control`, `releases` and `hierarchies` are optional files in the same folder.
    """

    name: str
    table: str
    source: str
    licence: str
    citation: str
    by_hand: str
    columns: Mapping[str, Mapping[str, Any]]
    reading: Mapping[str, Any] = field(default_factory=dict)
    source_file: SourceFile | None = None
    control: str | None = None
    releases: Mapping[str, str] = field(default_factory=dict)
    truths: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hierarchies: Mapping[str, str] = field(default_factory=dict)


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder of local copies, with a subfolder for each set: `folder`, else CVPL_DATA, else the user's cache."""
    if folder is not None:
        return Path(folder).expanduser()
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    return _cache() / "cvpl" / "data"


def _cache() -> Path:
    """The system's cache folder for the user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def load(
    described: Description,
    folder: str | Path | None = None,
    *,
    fetch: bool = False,
    schemes: Sequence[str] = ("https",),
) -> Dataset:
    """Load the data set from `data_folder(folder)` or, if it is missing there and `fetch` is set, from its source.

    An existing table is used unchanged. An existing source file is checked against its SHA-256 and converted to the
    table. Raises InputError if both are missing, or if the control is, and says what to put where.
    """
    top = data_folder(folder)
    table = top / described.table
    if not table.is_file():
        _refuse_own_folder(described, top)
        _make(described, table, fetch, schemes)
    control = None if described.control is None else top / described.control
    if control is not None and not control.is_file():
        raise InputError([_absent(described, control, "")])
    beside = [
        {name: top / file for name, file in files.items() if (top / file).is_file()}
        for files in (described.releases, described.hierarchies)
    ]
    return Dataset(
        name=described.name,
        path=table,
        source=described.source,
        licence=described.licence,
        citation=described.citation,
        columns=deepcopy(dict(described.columns)),
        reading=deepcopy(dict(described.reading)),
        control=control,
        releases=beside[0],
        truths={name: truth for name, truth in described.truths.items() if name in beside[0]},
        hierarchies=beside[1],
    )


def _make(described: Description, table: Path, fetch: bool, schemes: Sequence[str]) -> None:
    """Write the table from its source file, which is in the same folder or is fetched."""
    known = described.source_file
    if known is None:
        raise InputError([_absent(described, table, "It is not fetched: its source publishes no checksum. ")])
    file = table.absolute().parent / known.name
    if not file.is_file():
        if not fetch:
            more = "Pass fetch=True to get it from its source. Or: " if known.address is not None else ""
            raise InputError([_absent(described, table, more)])
        if known.address is None:
            raise InputError([_absent(described, table, "It is not fetched: its source requires a login. ")])
        fetch_file(known.address, file, sha256=known.sha256, size=known.size, schemes=schemes)
    content = file.read_bytes()
    if len(content) != known.size or hashlib.sha256(content).hexdigest() != known.sha256:
        what = "the file is not identical to the one at its source"
        raise InputError([Problem(str(file), what, f"Remove it. {_manual_instructions(described, file)}")])
    try:
        write_whole(table, known.to_table(content))
    except OSError as error:
        what = f"the table cannot be written: {error.strerror}"
        raise InputError([Problem(str(table.parent), what, "Name a folder that can be written to.")]) from None


def _refuse_own_folder(described: Description, top: Path) -> None:
    """Raise InputError if the folder is that of the set itself instead of its parent."""
    own = Path(described.table)
    names = [own.name] if described.source_file is None else [own.name, described.source_file.name]
    place = top.resolve()
    held = [name for name in names if (place / name).is_file()]
    if held and place.name == own.parent.name:
        what = f"the folder {place} itself contains {held[0]}; the folder above it is needed"
        cure = f"Name {place.parent} as `folder`, or in {FOLDER_VARIABLE}."
        raise InputError([Problem(f"cvpl.datasets.{described.name}", what, cure)])


def _manual_instructions(described: Description, file: Path) -> str:
    """How to get the file, and where to put it."""
    return described.by_hand.format(folder=file.absolute().parent)


def _absent(described: Description, file: Path, more: str) -> Problem:
    what = f"there is no copy of it at {file.absolute()}"
    cure = f"{more}{_manual_instructions(described, file)} Set `folder`, or {FOLDER_VARIABLE}, to the folder above it."
    return Problem(f"cvpl.datasets.{described.name}", what, cure)
