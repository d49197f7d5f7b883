"""Results as pandas dataframes, if pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cvpl.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame


def data_frame(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> DataFrame:
    """The columns as a pandas dataframe. Raises UsageError if pandas is not installed."""
    try:
        # Imported by name, because pandas is not a dependency of cvpl.
        pandas = import_module("pandas")
    except ImportError:
        raise UsageError("to_frame: pandas is not installed. Install it with `pip install pandas`.") from None
    frame: DataFrame = pandas.DataFrame(dict(columns))
    return frame


def interval_columns(name: str, figures: Sequence[Any], value: str = "estimate") -> dict[str, list[float | None]]:
    """The columns NAME, NAME_low and NAME_high: a figure of every row with the ends of its interval.

    `figures` has one section per row, with the fields `low`, `high` and `value`, or None if the row has no figure.
    """
    return {
        name: [getattr(figure, value, None) for figure in figures],
        f"{name}_low": [getattr(figure, "low", None) for figure in figures],
        f"{name}_high": [getattr(figure, "high", None) for figure in figures],
    }
