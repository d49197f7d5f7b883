"""Who belongs together, over any number of steps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.tables.evaluation_only import joined_codes
from cvpl.tables.keys import components


def union_find(pairs, count):
    parent = list(range(count))

    def root(item):
        while parent[item] != item:
            item = parent[item]
        return item

    for a, b in pairs:
        low, high = sorted((root(a), root(b)))
        parent[high] = low
    numbers = {}
    return [numbers.setdefault(root(item), len(numbers)) for item in range(count)]


PLACES = st.integers(0, 11)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(PLACES, PLACES), max_size=14))
def test_components_are_those_of_a_union_find_numbered_by_their_first_member(pairs):
    one, other = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    assert components(one, other, 12).tolist() == union_find(pairs, 12)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(PLACES, PLACES), min_size=1, max_size=14))
def test_records_that_share_any_code_belong_together(codes):
    count = len(codes)
    both = [(a, b) for a in range(count) for b in range(a)]
    pairs = [(a, b) for a, b in both if codes[a][0] == codes[b][0] or codes[a][1] == codes[b][1]]
    found = joined_codes([np.array([row[side] for row in codes]) for side in (0, 1)])
    assert found.tolist() == union_find(pairs, count)
