"""k-anonymity by Mondrian: the table is cut in two repeatedly, while both sides keep at least k rows.

Each part is cut at the median along its widest column, by its span as a share of the whole table's: rows with smaller
values go left. A column along which no cut leaves k rows on both sides is skipped; a part that no column can cut is a
class. The span of numbers and times is a length; labels are sorted by their groups, so that a cut keeps neighbours
together, and their span is a number of values.

A class is written as what all of its rows share: a number's smallest and largest value, a time span, a label's
narrowest common group, or else the set of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import MISSING_CODE, CategoryCodes, Frame
from cvpl.laboratory.mechanisms.hierarchies import STAR
from cvpl.wording import count_phrase

Ints = NDArray[np.int64]
Path = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True)
class Mondrian:
    """Mondrian k-anonymity: at least k rows share every combination of values in `columns`; no row is removed.

    For a category, `paths` gives the path from a label's widest group down to the label, and `written` the text of a
    group; a category without a path is written as a set of labels. A missing value is sorted below all values of its
    column, and a class in which only some values are missing is written as a star. Rows are shuffled; other columns
    stay unchanged.
    """

    k: int
    columns: tuple[str, ...]
    paths: Mapping[str, Path] = field(default_factory=dict, repr=False)
    written: Mapping[str, Callable[[tuple[str, ...]], str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 2:
            raise ValueError(f"Mondrian: k is {self.k!r}; allowed is a whole number from 2. Set it in this range.")
        if not self.columns:
            raise ValueError("Mondrian: there is no column to generalize. Name the quasi-identifiers.")

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The release of `table`, shuffled; raises ValueError for a table with fewer than k rows."""
        if len(table) < self.k:
            raise ValueError(
                f"Mondrian: k is {self.k}, but the table has {count_phrase(len(table), 'row')}. "
                "Choose a k up to the number of rows."
            )
        ranks = np.column_stack([self._ranks(table, name) for name in self.columns])
        classes = cut_into_classes(ranks, self.k)
        for name in self.columns:
            table = table.coded(name, self._written(table, name, classes))
        return table.take(rng.permutation(len(table)))

    def _ranks(self, table: Frame, name: str) -> NDArray[np.float64]:
        """A column as numbers to cut: values, seconds, or positions in the order of labels; -inf where missing."""
        if name in table.categories:
            codes, labels = table.categories[name]
            path = self.paths.get(name)
            paths = [(label,) if path is None else path(label) for label in labels]
            place = np.full(len(labels) + 1, -np.inf)  # code -1 indexes the last entry
            place[sorted(range(len(labels)), key=paths.__getitem__)] = np.arange(len(labels))
            ranks: NDArray[np.float64] = place[codes]
            return ranks
        if name in table.times:
            times = table.times[name]
            seconds = times.astype("datetime64[us]").astype(np.int64) / 1e6
            return np.where(np.isnat(times), -np.inf, seconds)
        values = table.number(name).astype(np.float64)
        return np.where(np.isnan(values), -np.inf, values)

    def _written(self, table: Frame, name: str, classes: Sequence[Ints]) -> CategoryCodes:
        """The column with the same text for all rows of a class."""
        if name in table.categories:
            codes, labels = table.categories[name]
            path = self.paths.get(name)
            spell: Callable[[NDArray[Any]], str] = lambda own: self._labels(name, path, labels, own)  # noqa: E731
            values: NDArray[Any] = codes
            missing = codes == MISSING_CODE
        elif name in table.times:
            values = table.times[name]
            missing, spell = np.isnat(values), _span
        else:
            values = table.number(name)
            whole = name in table.whole or values.dtype.kind in "iu"
            missing, spell = np.isnan(values), lambda own: _range(own, whole=whole)
        names: dict[str, int] = {}
        result = np.full(len(table), MISSING_CODE, dtype=np.int32)
        for rows in classes:
            lost = missing[rows]
            if lost.all():
                continue
            text = STAR if lost.any() else spell(values[rows])
            result[rows] = names.setdefault(text, len(names))
        return CategoryCodes(result, tuple(names))

    def _labels(self, name: str, path: Path | None, labels: Sequence[str], own: NDArray[Any]) -> str:
        """The narrowest group that all labels share, or the set of them."""
        members: list[str] = [labels[code] for code in np.unique(own).tolist()]
        if len(members) == 1:
            return members[0]
        if path is None:
            return "{" + ", ".join(sorted(members)) + "}"
        shared: tuple[str, ...] = ()
        for parts in zip(*(path(label) for label in members), strict=False):
            if len(set(parts)) > 1:
                break
            shared = (*shared, parts[0])
        return self.written[name](shared) if shared else STAR


def cut_into_classes(ranks: NDArray[np.float64], k: int) -> list[Ints]:
    """The rows of every class: parts of at least k rows that no cut at a median along any column divides further."""
    finite = np.where(np.isfinite(ranks), ranks, np.nan)
    with np.errstate(all="ignore"):
        least = np.fmin.reduce(finite, axis=0, initial=np.inf)
        most = np.fmax.reduce(finite, axis=0, initial=-np.inf)
    width = np.where(most > least, most - least, 1.0)
    # A missing value is placed one full width below the smallest value, so that it is cut off first.
    placed = np.where(np.isfinite(ranks), ranks, np.where(np.isfinite(least), least, 0.0) - width) / width
    classes: list[Ints] = []
    parts: list[Ints] = [np.arange(len(ranks), dtype=np.int64)]
    while parts:
        rows = parts.pop()
        own = placed[rows]
        spans = own.max(axis=0) - own.min(axis=0)
        for column in np.argsort(-spans, kind="stable"):
            if spans[column] == 0 or len(rows) < 2 * k:
                classes.append(rows)
                break
            left = _left_side(own[:, column], k)
            if left is not None:
                parts += [rows[~left], rows[left]]
                break
        else:
            classes.append(rows)
    return classes


def _left_side(values: NDArray[np.float64], k: int) -> NDArray[np.bool_] | None:
    """The rows below the median, or up to it if too few are below; None if neither leaves k on both sides."""
    middle = np.partition(values, len(values) // 2)[len(values) // 2]
    for left in (values < middle, values <= middle):
        if k <= left.sum() <= len(values) - k:
            side: NDArray[np.bool_] = left
            return side
    return None


def _range(values: NDArray[Any], *, whole: bool) -> str:
    low, high = values.min(), values.max()
    if whole:
        return f"{int(low)}" if low == high else f"{int(low)}-{int(high)}"
    return repr(float(low)) if low == high else f"[{float(low)!r}, {float(high)!r}]"


def _span(times: NDArray[np.datetime64]) -> str:
    first, last = (str(item).replace("T", " ") for item in (times.min(), times.max()))
    return first if first == last else f"[{first}, {last}]"
