"""Column kinds (numbers, labels and times), each in its own file, and the interface that they share."""

from cvpl.tables.kinds.column import ColumnData
from cvpl.tables.kinds.labels import Labels
from cvpl.tables.kinds.numbers import Numbers
from cvpl.tables.kinds.times import Times

__all__ = ["ColumnData", "Labels", "Numbers", "Times"]
