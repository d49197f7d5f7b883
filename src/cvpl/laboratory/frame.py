"""A table to simulate, protect and write: columns as arrays and categories as codes, so that no row becomes strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.files import whole_files
from cvpl.files.reading import new_instance
from cvpl.wording import count_phrase

if TYPE_CHECKING:
    import duckdb

Ints = NDArray[np.int64]

NOBODY = -1
MISSING_CODE = -1


class CategoryCodes(NamedTuple):
    """A category column: a code per row into `labels`, -1 where the value is missing."""

    codes: NDArray[np.int32]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """A table of people, one row each, with the person of each row.

    A missing value is NaN among the numbers, NaT among the times, code -1 among the categories. `people` is the person
    number of each row, -1 if it belongs to nobody; with an `id_name` these numbers are a column too. `whole` names the
    numbers that are written without decimals, even if missing values have turned them into floats. `carried` are
    columns that stay with their rows and are never read. The arrays are read-only views. Raises ValueError for columns
    of unequal length, or if `order` does not name each column once.
    """

    people: Ints
    numbers: Mapping[str, NDArray[Any]]
    times: Mapping[str, NDArray[np.datetime64]]
    categories: Mapping[str, CategoryCodes]
    order: tuple[str, ...]
    whole: tuple[str, ...] = ()
    carried: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    id_name: str | None = None

    def __post_init__(self) -> None:
        coded = {
            name: CategoryCodes(_read_only(codes), tuple(labels)) for name, (codes, labels) in self.categories.items()
        }
        self._set("people", _read_only(self.people))
        for kind in ("numbers", "times", "carried"):
            arrays = {name: _read_only(array) for name, array in getattr(self, kind).items()}
            self._set(kind, MappingProxyType(arrays))
        self._set("categories", MappingProxyType(coded))
        names = list(self._arrays())
        if sorted(names) != sorted(self.order):
            raise ValueError(
                f"Frame: order names {count_phrase(len(self.order), 'column')}, but the columns are "
                f"{', '.join(names)}. "
                "Name each of them once."
            )
        for name, array in self._arrays().items():
            if len(array) != len(self):
                raise ValueError(
                    f"Frame, column {name!r}: found {count_phrase(len(array), 'row')} for "
                    f"{count_phrase(len(self), 'person', 'people')}. Give every column one value per person."
                )
        for name, (codes, labels) in self.categories.items():
            if len(codes) and not (codes.min() >= MISSING_CODE and codes.max() < len(labels)):
                raise ValueError(
                    f"Frame, column {name!r}: found codes outside -1 to {len(labels) - 1}. Give every code a label."
                )

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        codes = {name: column.codes for name, column in self.categories.items()}
        own = {} if self.id_name is None else {self.id_name: self.people}
        return {**own, **self.numbers, **self.times, **codes, **self.carried}

    def __len__(self) -> int:
        return len(self.people)

    def number(self, name: str) -> NDArray[Any]:
        """The number column `name`; raises ValueError if the table has no such number column."""
        if name not in self.numbers:
            raise ValueError(
                f"Frame, column {name!r}: not among the number columns ({', '.join(self.numbers) or 'none'}). "
                "Use a table that has it as numbers."
            )
        return self.numbers[name]

    def category(self, name: str) -> CategoryCodes:
        """The category column `name`; raises ValueError if the table has no such category column."""
        if name not in self.categories:
            raise ValueError(
                f"Frame, column {name!r}: not among the category columns "
                f"({', '.join(self.categories) or 'none'}). Use a table that has it as a category."
            )
        return self.categories[name]

    def take(self, rows: NDArray[Any]) -> Frame:
        """The table of these rows in this order; `rows` holds row numbers or one boolean per row."""
        return replace(
            self,
            people=self.people[rows],
            numbers={name: array[rows] for name, array in self.numbers.items()},
            times={name: array[rows] for name, array in self.times.items()},
            categories={name: CategoryCodes(codes[rows], labels) for name, (codes, labels) in self.categories.items()},
            carried={name: array[rows] for name, array in self.carried.items()},
        )

    def coded(self, name: str, column: CategoryCodes) -> Frame:
        """The table with a column of any kind replaced by a category."""
        return replace(
            self,
            numbers={key: array for key, array in self.numbers.items() if key != name},
            times={key: array for key, array in self.times.items() if key != name},
            categories={**self.categories, name: column},
            whole=tuple(key for key in self.whole if key != name),
        )

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Every column as one array, categories as text; for small tables, since each label becomes a Python object.

        A missing category or an unknown id is None; a missing number stays NaN, a missing time NaT.
        """
        columns = self._arrays()
        for name, (codes, labels) in self.categories.items():
            columns[name] = np.array([*labels, None], dtype=object)[codes]  # code -1 indexes the None at the end
        if self.id_name is not None and (self.people == NOBODY).any():
            columns[self.id_name] = self.people.astype(object)
            columns[self.id_name][self.people == NOBODY] = None
        return {name: columns[name] for name in self.order}

    def write(self, path: Path, check: Callable[[Path], None] | None = None) -> None:
        """Write the rows in order, as `.csv`, `.csv.gz` or `.parquet` by the name of `path`; replace an existing file.

        The file is there whole or not at all. `check` gets the written draft; if it raises, nothing is put in place.

        A missing value is an empty field (CSV) or NULL (Parquet). DuckDB looks up labels by their codes, so that no row
        becomes a Python string.
        """
        name = path.name.lower()
        if not name.endswith((".csv", ".csv.gz", ".parquet")):
            raise ValueError(
                f"Frame.write: the file name ends in {path.suffix or 'nothing'!r}; "
                "allowed are .csv, .csv.gz and .parquet. Rename the file."
            )
        with new_instance() as connection, whole_files(path) as (draft,):
            rows = self._rows(connection)
            if name.endswith(".parquet"):
                rows.write_parquet(str(draft))
            else:
                rows.write_csv(str(draft), compression="gzip" if name.endswith(".gz") else "none")
            if check is not None:
                check(draft)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table for readers of Arrow: `cvpl.audit`, pandas, Polars, pyarrow, DuckDB."""
        return self._rows(new_instance()).__arrow_c_stream__(requested_schema)

    def _rows(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The rows with labels in place of codes, and NULL where a value is missing."""
        labels: dict[str, object] = {}
        fields = []
        for position, column in enumerate(self.order):
            quoted = '"' + column.replace('"', '""') + '"'
            value = quoted
            if column == self.id_name:
                value = f"nullif({quoted}, {NOBODY})"
            elif column in self.categories:
                labels[f"labels_{position}"] = list(self.categories[column].labels)
                value = f"($labels_{position}::VARCHAR[])[{quoted} + 1]"  # lists count from 1, and entry 0 is NULL
            elif column in self.times:
                value = f"{quoted}::TIMESTAMP"
            elif column in self.numbers and self.numbers[column].dtype.kind == "f":
                value = f"nullif({quoted}, 'nan'::DOUBLE)" + ("::BIGINT" if column in self.whole else "")
            fields.append(f"{value} AS {quoted}")
        connection.register("drawn", self._arrays())
        query = f"SELECT {', '.join(fields)} FROM drawn"  # noqa: S608 - names are quoted, labels are parameters
        return connection.sql(query, params=labels or None)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
