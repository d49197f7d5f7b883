"""Dataframes in a form that DuckDB reads without losing or guessing a value."""

from __future__ import annotations

import sys
from typing import Any

_AS_IT_IS = ("string", "integer", "date", "datetime", "datetime64", "empty")
"""Kinds of uniform columns whose cells DuckDB writes as a file would."""


class ArrowStream:
    """The Arrow interface of a dataframe and nothing else, so that DuckDB reads all kinds the same way."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def is_pandas(data: object) -> bool:
    """Whether `data` is a pandas dataframe, without importing pandas."""
    kind = type(data)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def is_spark_frame(data: object) -> bool:
    """Whether `data` is a DataFrame of Spark, classic or through Spark Connect, without importing Spark."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(data).__mro__
    )


def column_names(data: Any) -> list[str] | None:
    """Return the column names if the dataframe has them, else None: DuckDB renames columns that it sees as duplicates.

    Polars, pandas and DuckDB have them in `columns`; a pyarrow table holds its data there, and the names in its schema.
    """
    names = getattr(getattr(data, "schema", None), "names", None)
    if not isinstance(names, list):
        names = getattr(data, "columns", None)
    if names is None or callable(names):
        return None
    return [str(name) for name in names]


def readable(frame: Any) -> Any:
    """Return a pandas frame in which columns of mixed cells, intervals and periods are text.

    A numeric column in which a protection tool has written labels ("30-39", "*") holds cells of several kinds.
    """
    copy = frame.copy(deep=False)
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if _is_mixed(column):
            missing = column.isna()
            cells = [None if gone else _text(cell) for cell, gone in zip(column, missing, strict=True)]
            copy[name] = type(column)(cells, index=frame.index, dtype="string")
    return copy


def _is_mixed(column: Any) -> bool:
    pandas = sys.modules["pandas"]  # already loaded: the caller has a pandas frame
    kinds = getattr(column.dtype, "categories", column).dtype
    if str(kinds.name).startswith(("interval", "period")):
        return True
    return bool(column.dtype == object) and pandas.api.types.infer_dtype(column, skipna=True) not in _AS_IT_IS


def _text(cell: Any) -> str:
    """Return a cell's text as DuckDB writes a column of its kind; a whole float is written like an integer."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)
