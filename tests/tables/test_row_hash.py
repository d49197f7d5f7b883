"""One hash for rows, however it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.tables.keys import hash_columns, mix_bits

WORD = (1 << 64) - 1


def by_hand(words):
    """The hash of one row in whole numbers of Python."""
    state = 0x9E3779B97F4A7C15
    for word in words:
        state = ((state ^ word) + 0x9E3779B97F4A7C15) & WORD
        state = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & WORD
        state = ((state ^ state >> 27) * 0x94D049BB133111EB) & WORD
        state ^= state >> 31
    return state


def test_the_mixing_is_that_of_splitmix64():
    """The first numbers that SplitMix64 gives from the seed 1234567, as its author publishes them."""
    seeds = np.array([1234567], dtype=np.uint64) + np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert mix_bits(seeds).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_arrays_and_compiled_code_have_the_same_hash(width):
    from cvpl.search.tree.tree_layout import hash_rows  # noqa: PLC0415 - loads the compiler

    bits = np.random.default_rng(0).integers(0, 1 << 64, (50, width), dtype=np.uint64)
    expected = [by_hand(row) for row in bits.tolist()]
    assert hash_columns(bits.T, len(bits)).tolist() == expected
    assert hash_rows(bits).tolist() == expected


def test_columns_in_another_order_or_another_number_have_another_hash():
    one, two = np.array([1, 2], dtype=np.uint64), np.array([3, 4], dtype=np.uint64)
    found = [hash_columns([one, two], 2), hash_columns([two, one], 2), hash_columns([one, two], 2, 2)]
    assert len({tuple(item.tolist()) for item in found}) == 3
