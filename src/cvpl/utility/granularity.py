"""The information in a released value: which of the original's values it allows.

A value that allows m of the column's M values keeps the share

    said = (M - m) / (M - 1)

of a value: all of it if m = 1, nothing if it allows every value. In between, a reader can only treat the allowed values
as equally likely.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec

Ints = NDArray[np.intp]


def said(allowed: Ints, values: int) -> NDArray[np.float64]:
    """The share of a value that is kept if `allowed` of the original's `values` remain possible.

    A value that allows none of them is a different value, and the only value of a column allows nothing else: both are
    kept fully.
    """
    if values < 2:
        return np.ones(len(allowed))
    return np.minimum(1.0, (values - allowed) / (values - 1))


class OriginalLabels:
    """The original's labels, to look up the ones that a released label allows."""

    def __init__(self, spec: ColumnSpec, labels: Iterable[tuple[int, str]]) -> None:
        self._spec = spec
        self._codes: dict[str, int] = {}
        self._below: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self._starting: dict[tuple[int, str], list[int]] | None = None
        for code, label in labels:
            self._codes[label] = code
            path = spec.path(label)
            for depth in range(1, len(path) + 1):
                self._below[path[:depth]].append(code)

    def allowed(self, label: str) -> Ints | None:
        """The codes of the original's labels that `label` allows; None if it is fully suppressed.

        A label of the original allows itself. "North/*", or a group of the hierarchy file, allows the labels below it;
        "123**" those of the same length with the same start; "{A, B}" its members. Any other label allows none.
        """
        if label in self._codes:
            return np.array([self._codes[label]], dtype=np.intp)
        if self._spec.says_nothing(label):
            return None
        found = self._below.get(self._spec.path(label), [])
        if not found and label.startswith("{") and label.endswith("}"):
            members = (self._codes.get(member.strip()) for member in label[1:-1].split(","))
            found = sorted({code for code in members if code is not None})
        elif not found and label.endswith("*"):
            found = self._masked().get((len(label), label.rstrip("*")), [])
        return np.array(found, dtype=np.intp)

    def _masked(self) -> dict[tuple[int, str], list[int]]:
        if self._starting is None:
            self._starting = defaultdict(list)
            for label, code in self._codes.items():
                for length in range(1, len(label)):
                    self._starting[len(label), label[:length]].append(code)
        return self._starting
