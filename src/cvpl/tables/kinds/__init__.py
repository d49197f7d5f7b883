"""The kinds of columns: numbers, labels and times, each in its own file, and what the rest may ask of any column."""

from cvpl.tables.kinds.column import ColumnData
from cvpl.tables.kinds.labels import Labels
from cvpl.tables.kinds.numbers import Numbers
from cvpl.tables.kinds.times import Times

__all__ = ["ColumnData", "Labels", "Numbers", "Times"]
