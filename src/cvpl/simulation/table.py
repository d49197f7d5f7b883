"""A simulated table: columns as arrays, categories as codes, so that ten million rows never become Python strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ID = "person_id"
UNKNOWN_ID = -1
MISSING_CODE = -1


class Coded(NamedTuple):
    """A category column: a code per row into `labels`, -1 where the value is missing."""

    codes: NDArray[np.int32]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class SimulatedTable:
    """A table whose people are known.

    A missing value is NaN among the numbers, NaT among the times, code -1 among the categories; id -1 is a row that is
    nobody's. `whole` names the numbers that are written without decimals, also where a missing value forced them into
    floats. The arrays are read-only views. Columns of unequal length, or that `order` does not name, are refused.
    """

    ids: Ints
    numbers: Mapping[str, NDArray[Any]]
    times: Mapping[str, NDArray[np.datetime64]]
    categories: Mapping[str, Coded]
    order: tuple[str, ...]
    whole: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        coded = {name: Coded(_read_only(codes), tuple(labels)) for name, (codes, labels) in self.categories.items()}
        self._set("ids", _read_only(self.ids))
        self._set("numbers", MappingProxyType({name: _read_only(array) for name, array in self.numbers.items()}))
        self._set("times", MappingProxyType({name: _read_only(array) for name, array in self.times.items()}))
        self._set("categories", MappingProxyType(coded))
        names = [ID, *self.numbers, *self.times, *self.categories]
        if sorted(names) != sorted(self.order):
            raise ValueError(
                f"SimulatedTable: order names {len(self.order)} columns where the columns are {', '.join(names)}. "
                "Name each of them once."
            )
        for name, array in self._arrays().items():
            if len(array) != len(self):
                raise ValueError(
                    f"SimulatedTable, column {name!r}: found {len(array)} rows where {ID} has {len(self)}. "
                    "Give every column one value per person."
                )
        for name, (codes, labels) in self.categories.items():
            if len(codes) and not (codes.min() >= MISSING_CODE and codes.max() < len(labels)):
                raise ValueError(
                    f"SimulatedTable, column {name!r}: found codes outside -1 to {len(labels) - 1}. "
                    "Give every code a label."
                )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        codes = {name: column.codes for name, column in self.categories.items()}
        return {ID: self.ids, **self.numbers, **self.times, **codes}

    def __len__(self) -> int:
        return len(self.ids)

    def number(self, name: str) -> NDArray[Any]:
        """The number column `name`; refused where the table has it as something else, or not at all."""
        if name not in self.numbers:
            raise ValueError(
                f"SimulatedTable, column {name!r}: not among the number columns ({', '.join(self.numbers) or 'none'}). "
                "Use a table that still holds it as numbers."
            )
        return self.numbers[name]

    def category(self, name: str) -> Coded:
        """The category column `name`; refused where the table has it as something else, or not at all."""
        if name not in self.categories:
            raise ValueError(
                f"SimulatedTable, column {name!r}: not among the category columns "
                f"({', '.join(self.categories) or 'none'}). Use a table that holds it as a category."
            )
        return self.categories[name]

    def take(self, rows: NDArray[Any]) -> SimulatedTable:
        """The table of these rows in this order; `rows` holds row numbers or one truth value per row."""
        return SimulatedTable(
            ids=self.ids[rows],
            numbers={name: array[rows] for name, array in self.numbers.items()},
            times={name: array[rows] for name, array in self.times.items()},
            categories={name: Coded(codes[rows], labels) for name, (codes, labels) in self.categories.items()},
            order=self.order,
            whole=self.whole,
        )

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Every column as one array, categories as text; for small tables, since each label becomes a Python object.

        A missing category or an unknown id is None; a missing number stays NaN, a missing time NaT.
        """
        columns = self._arrays()
        for name, (codes, labels) in self.categories.items():
            columns[name] = np.array([*labels, None], dtype=object)[codes]  # code -1 finds the None at the end
        if (self.ids == UNKNOWN_ID).any():
            columns[ID] = self.ids.astype(object)
            columns[ID][self.ids == UNKNOWN_ID] = None
        return {name: columns[name] for name in self.order}

    def write(self, path: Path) -> None:
        """Write the rows in order, as `.csv`, `.csv.gz` or `.parquet` by the name of `path`; a file there is replaced.

        A missing value is an empty field (CSV) or NULL (Parquet). DuckDB looks the labels up by their codes, so that
        no row becomes a Python string.
        """
        name = path.name.lower()
        if not name.endswith((".csv", ".csv.gz", ".parquet")):
            raise ValueError(
                f"SimulatedTable.write: the file name ends in {path.suffix or 'nothing'!r}; "
                "allowed are .csv, .csv.gz and .parquet. Rename the file."
            )
        import duckdb  # noqa: PLC0415 - drawing a table must not cost its import

        labels: dict[str, object] = {}
        fields = []
        for position, column in enumerate(self.order):
            quoted = '"' + column.replace('"', '""') + '"'
            value = quoted
            if column == ID:
                value = f"nullif({quoted}, {UNKNOWN_ID})"
            elif column in self.categories:
                labels[f"labels_{position}"] = list(self.categories[column].labels)
                value = f"($labels_{position}::VARCHAR[])[{quoted} + 1]"  # lists count from 1, and entry 0 is NULL
            elif column in self.times:
                value = f"{quoted}::TIMESTAMP"
            elif self.numbers[column].dtype.kind == "f":
                value = f"nullif({quoted}, 'nan'::DOUBLE)" + ("::BIGINT" if column in self.whole else "")
            fields.append(f"{value} AS {quoted}")
        with duckdb.connect() as connection:
            connection.register("drawn", self._arrays())
            query = f"SELECT {', '.join(fields)} FROM drawn"  # noqa: S608 - names are quoted, labels are parameters
            rows = connection.sql(query, params=labels or None)
            if name.endswith(".parquet"):
                rows.write_parquet(str(path))
            else:
                rows.write_csv(str(path), compression="gzip" if name.endswith(".gz") else "none")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
