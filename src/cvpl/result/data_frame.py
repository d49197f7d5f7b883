"""Columns as a pandas dataframe, for whoever has pandas installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cvpl.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> DataFrame:
    """The columns as a pandas dataframe. Raises UsageError where pandas is not installed."""
    try:
        # By name: pandas is no dependency of cvpl.
        pandas = import_module("pandas")
    except ImportError:
        raise UsageError("to_frame: pandas is not installed. Install it with `pip install pandas`.") from None
    frame: DataFrame = pandas.DataFrame(dict(columns))
    return frame


def interval_columns(name: str, figures: Sequence[Any], value: str = "estimate") -> dict[str, list[float | None]]:
    """A figure of every row with the ends of its interval, as the columns NAME, NAME_low and NAME_high.

    `figures` holds a section with `low`, `high` and the field `value` for each row, or None where there is none.
    """
    return {
        name: [getattr(figure, value, None) for figure in figures],
        f"{name}_low": [getattr(figure, "low", None) for figure in figures],
        f"{name}_high": [getattr(figure, "high", None) for figure in figures],
    }
