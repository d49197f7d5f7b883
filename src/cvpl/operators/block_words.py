"""Blocking keys as 64-bit words, which mean the same in any part of any table.

`blocking.scheme_codes` numbers the blocks of whole tables together. Where a table is in many places, no place can
number them; each writes down its records' keys instead, and records with equal words share a block.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.blocking import Bin, Key, Rule, Truncate, label_keys, truncated
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times

Words = NDArray[np.int64]


def block_words(scheme: tuple[Key, ...], table: Table) -> list[Words]:
    """The words of every record under a scheme; records with equal words share a block. No words: one block."""
    specs = {spec.name: spec for spec in table.specs}
    return [word for key in scheme for word in _words(table.columns[key.column], key.rule, specs[key.column])]


@singledispatch
def _words(column: ColumnData, rule: Rule, spec: ColumnSpec) -> list[Words]:
    """The words of one key; a missing key has words of its own."""
    return [bits.view(np.int64) for bits in column.bits()]


@_words.register(Numbers)
def _number_words(column: Numbers, rule: Rule, spec: ColumnSpec) -> list[Words]:
    if not isinstance(rule, Bin):
        return [bits.view(np.int64) for bits in column.bits()]
    return [_bits(np.floor(column.values / rule.bin))]


@_words.register(Times)
def _time_words(column: Times, rule: Rule, spec: ColumnSpec) -> list[Words]:
    if not isinstance(rule, Truncate):
        return [bits.view(np.int64) for bits in column.bits()]
    return [_bits(truncated(column.middle(), rule.truncate))]


@_words.register(Labels)
def _label_words(column: Labels, rule: Rule, spec: ColumnSpec) -> list[Words]:
    numbered: dict[object, int] = {}
    numbers = [numbered.setdefault(key, len(numbered)) for key in label_keys(rule, spec, column.labels)]
    # The last entry is for missing values, whose code is -1.
    return [np.array([*numbers, len(numbered)], dtype=np.int64)[column.codes]]


def _bits(values: NDArray[np.float64]) -> Words:
    """The bits of whole numbers; -0.0 counts as 0.0, and all missing numbers are equal."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
