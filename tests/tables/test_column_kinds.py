"""What every kind of column has to do alike: one test body for all kinds, generalized cells and gaps included."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.tables.column_store import ColumnStore
from cvpl.tables.columns import Labels, Numbers, Place, Times
from cvpl.tables.keys import column_keys
from cvpl.tables.kinds import FEW_ENTRIES, distinct

NAN, NAT = float("nan"), "NaT"


def times(*texts):
    return np.array(texts, dtype="datetime64[us]")


PLAIN_NUMBERS = np.array([3.0, NAN, -0.0, 3.0, 7.5])
PLAIN_TIMES = times("2024-05-05", NAT, "2024-05-06", "2024-05-05", "2024-06-01T12:00")
COLUMNS = {
    "numbers": Numbers(PLAIN_NUMBERS, PLAIN_NUMBERS, PLAIN_NUMBERS),
    "intervals": Numbers(
        np.array([35.0, NAN, 41.0, 35.0, 20.0]),
        np.array([30.0, NAN, 41.0, 30.0, 10.0]),
        np.array([40.0, NAN, 41.0, 40.0, 30.0]),
    ),
    "labels": Labels(np.array([1, -1, 0, 1, 2], dtype=np.int32), ("a", "b", "c")),
    "masked labels": Labels(np.array([1, -1, 0, 1, 2], dtype=np.int32), ("a", "b", "c/*")),
    "times": Times(PLAIN_TIMES, PLAIN_TIMES),
    "spans": Times(
        times("2024-05-01", NAT, "2024-05-06", "2024-05-01", "2024-06-01"),
        times("2024-05-31", NAT, "2024-05-06", "2024-05-31", "2024-06-02"),
    ),
}
GENERALIZED = {"intervals", "masked labels", "spans"}
"""In every column above the first and the fourth record are equal, the second is missing, the others differ."""
KNOWN = [True, False, True, True, True]


@pytest.fixture(params=COLUMNS)
def named(request):
    return request.param, COLUMNS[request.param]


def same(one, other):
    """Equal to the last bit, and plain where the other is."""
    assert type(one) is type(other)
    assert one.plain == other.plain
    for (_, mine), (_, theirs) in ((one.parts(), other.parts()),):
        assert list(mine) == list(theirs)
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name])


def test_a_gap_is_a_gap_in_every_view(named):
    _, column = named
    assert column.known().tolist() == KNOWN
    for view in (column.ordinal(), *column.bounds()):
        assert (~np.isnan(view)).tolist() == KNOWN


def test_the_middle_lies_between_the_bounds(named):
    _, column = named
    low, high = (bound[KNOWN] for bound in column.bounds())
    assert (low <= column.ordinal()[KNOWN]).all()
    assert (column.ordinal()[KNOWN] <= high).all()


@pytest.mark.parametrize("plain", [True, False])
def test_keys_and_bits_are_equal_where_values_are(named, plain):
    _, column = named
    for keys in (column.keys(plain=plain and column.plain), column_keys(column, 0)):
        codes = np.unique(keys[KNOWN], return_inverse=True)[1]
        assert (codes[:, None] == codes).tolist() == np.array(
            [[one == other for other in (0, 1, 0, 2)] for one in (0, 1, 0, 2)]
        ).tolist()


def test_equals_and_distances_compare_cell_by_cell(named):
    _, column = named
    other = column.take(np.array([3, 1, 4, 0, 2]))
    assert column.equals(other)[KNOWN].tolist() == [True, False, True, False]
    gaps = column.distances(other)
    assert np.isnan(gaps).tolist() == [False, True, False, False, False]
    assert (gaps[KNOWN] == 0).tolist() == [True, False, True, False]


def test_joined_columns_are_the_one_after_the_other(named):
    _, column = named
    rows = np.array([4, 1, 0])
    same(column.joined(column.take(rows)), column.take(np.concatenate([np.arange(5), rows])))


def test_only_generalized_cells_stand_for_several_values(named):
    name, column = named
    assert column.generalized() == (name in GENERALIZED)
    assert not column.take(np.array([1, 2])).generalized()


@pytest.mark.parametrize("place", [Place, ColumnStore])
def test_a_place_gives_back_what_was_put_there(named, place):
    _, column = named
    same(place().put(column)(), column)


def test_order_means_something_for_all_but_labels(named):
    name, column = named
    assert column.ordered == ("labels" not in name)
    assert column.label_count == (0 if column.ordered else 3)


@pytest.mark.parametrize("kind", ["ages", "amounts", "with a fraction", "far apart", "one value"])
def test_distinct_values_of_many_numbers_are_those_of_a_sort(kind):
    rng = np.random.default_rng(2)
    numbers = rng.integers(-40, 90, FEW_ENTRIES).astype(np.float64)
    numbers = {
        "ages": numbers,
        "amounts": numbers * 100 + 7,
        "with a fraction": np.where(np.arange(FEW_ENTRIES) == 5, 0.5, numbers),
        "far apart": np.where(np.arange(FEW_ENTRIES) == 5, 1e300, numbers),
        "one value": np.full(FEW_ENTRIES, -3.0),
    }[kind]
    values, places = distinct(numbers)
    expected = np.unique(numbers, return_inverse=True)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(places, expected[1])
