"""A shelf: the columns of a table in a file, for tables that are larger than the memory allowed.

A column that is fetched is an array over the mapped file: only the parts that are looked at come into memory, and they
leave it with the array. So nobody should hold one for longer than a step of the work.

The file has no name (on Windows one that goes with it), lies where the system keeps temporary files, and is gone once
the table is, also where the program is killed: nothing of the data stays behind.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import LimitError
from cvpl.tables.columns import ColumnData, Fetch, Place
from cvpl.tables.kinds.column import Make

Array = NDArray[Any]


@dataclass(frozen=True)
class _Stored:
    """Where an array stands in the file."""

    start: int
    length: int
    kind: np.dtype[Any]


class ColumnStore(Place):
    """The columns of one table on disk."""

    in_memory: ClassVar[bool] = False

    def __init__(self) -> None:
        try:
            self._file = tempfile.TemporaryFile(prefix="cvpl-")  # noqa: SIM115 - it is closed with the shelf
        except OSError as error:
            raise _refused(error) from None
        weakref.finalize(self, self._file.close)

    def put(self, column: ColumnData) -> Fetch:
        """Write a column down; an array that serves it twice is written once."""
        written: dict[int, _Stored] = {}
        stored: dict[str, _Stored] = {}
        make, arrays = column.parts()
        for name, array in arrays.items():
            if id(array) not in written:
                written[id(array)] = self._write(array)
            stored[name] = written[id(array)]
        return partial(self._fetch, make, stored)

    def another(self) -> ColumnStore:
        """A new shelf."""
        return ColumnStore()

    def _fetch(self, make: Make, stored: Mapping[str, _Stored]) -> ColumnData:
        opened = {place: self._mapped(place) for place in stored.values()}
        return make(**{name: opened[place] for name, place in stored.items()})

    def _write(self, array: Array) -> _Stored:
        end = self._file.seek(0, os.SEEK_END)
        start = -(-end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self._file.seek(start)
        try:
            self._file.write(np.ascontiguousarray(array).view(np.uint8).data)
            self._file.flush()
        except OSError as error:
            raise _refused(error) from None
        return _Stored(start, len(array), array.dtype)

    def _mapped(self, stored: _Stored) -> Array:
        size = stored.length * stored.kind.itemsize
        if not size:
            return np.zeros(0, dtype=stored.kind)
        mapped = mmap.mmap(self._file.fileno(), size, access=mmap.ACCESS_READ, offset=stored.start)
        return np.frombuffer(mapped, dtype=stored.kind)


def _refused(error: OSError) -> LimitError:
    return LimitError(
        f"the tables do not fit the memory allowed, and cannot be kept on disk in {tempfile.gettempdir()} either: "
        f"{error.strerror or 'the system refused'}. Make room there, name another folder in the environment variable "
        "TMPDIR, or allow more memory with --memory or `search.memory`."
    )
