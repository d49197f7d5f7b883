"""The columns of a table in a file, for tables that are larger than the memory limit.

A fetched column is an array over the memory-mapped file: only the parts that are read enter memory, and they leave it
with the array. So do not hold a fetched column for longer than one step of the work.

The file is an unnamed temporary file (on Windows it has a name, and is deleted on close). It disappears with the table,
even if the program is killed: no data is left behind.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import LimitError
from cvpl.files import temporary_place, unnamed_file
from cvpl.tables.columns import ColumnData, Fetch, Place
from cvpl.tables.kinds import Make

Array = NDArray[Any]


@dataclass(frozen=True)
class _ArrayLocation:
    """The location of an array in the file."""

    start: int
    length: int
    kind: np.dtype[Any]


class ColumnStore(Place):
    """The columns of one table on disk."""

    in_memory: ClassVar[bool] = False

    def __init__(self) -> None:
        try:
            self.file = unnamed_file()
        except OSError as error:
            raise _limit_error(error) from None
        weakref.finalize(self, self.file.close)

    def put(self, column: ColumnData) -> Fetch:
        """Write a column to the file; an array that the column uses twice is written once."""
        written: dict[int, _ArrayLocation] = {}
        stored: dict[str, _ArrayLocation] = {}
        make, arrays = column.parts()
        for name, array in arrays.items():
            if id(array) not in written:
                written[id(array)] = self._write(array)
            stored[name] = written[id(array)]
        return partial(self._fetch, make, stored)

    def new_storage(self) -> ColumnStore:
        """Return a new store."""
        return ColumnStore()

    def _fetch(self, make: Make, stored: Mapping[str, _ArrayLocation]) -> ColumnData:
        opened = {place: self._mapped(place) for place in stored.values()}
        return make(**{name: opened[place] for name, place in stored.items()})

    def _write(self, array: Array) -> _ArrayLocation:
        end = self.file.seek(0, os.SEEK_END)
        start = -(-end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self.file.seek(start)
        try:
            self.file.write(np.ascontiguousarray(array).view(np.uint8).data)
            self.file.flush()
        except OSError as error:
            raise _limit_error(error) from None
        return _ArrayLocation(start, len(array), array.dtype)

    def _mapped(self, stored: _ArrayLocation) -> Array:
        size = stored.length * stored.kind.itemsize
        if not size:
            return np.zeros(0, dtype=stored.kind)
        mapped = mmap.mmap(self.file.fileno(), size, access=mmap.ACCESS_READ, offset=stored.start)
        return np.frombuffer(mapped, dtype=stored.kind)


def _limit_error(error: OSError) -> LimitError:
    return LimitError(
        f"the tables exceed the memory limit and cannot be stored on disk in {temporary_place()}: "
        f"{error.strerror or 'the system refused'}. Free space there, set the environment variable TMPDIR to another "
        "folder, or raise the memory limit with --memory or `search.memory`."
    )
