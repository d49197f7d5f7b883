import csv
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.laboratory.mechanisms import KAnonymity, Mondrian
from cvpl.laboratory.mechanisms.hierarchies import check_nested, label_levels, number_levels, star_level, time_levels
from cvpl.laboratory.mechanisms.mondrian import cut_into_classes
from cvpl.tables.making.recount import smallest_class
from examples import examples


def split(label):
    """The levels of a region."""
    return tuple(label.split("/"))


def joined(path):
    """A group of regions as it is written."""
    return "/".join(path) + "/*"


def coded(labels):
    """Texts as codes."""
    names = sorted({label for label in labels if label is not None})
    return CategoryCodes(
        np.array([-1 if item is None else names.index(item) for item in labels], dtype=np.int32), tuple(names)
    )


def people(ages, regions, times=None):
    """A table of an age, a region and perhaps a time."""
    count = len(ages)
    return Frame(
        people=np.arange(count),
        numbers={"age": np.array(ages, dtype=float)},
        times={} if times is None else {"when": np.array(times, dtype="datetime64[s]")},
        categories={"region": coded(regions)},
        order=("age", "region") if times is None else ("age", "region", "when"),
        whole=("age",),
    )


def hierarchies(table, widths=(5, 10, 20)):
    """The levels of age and region."""
    return {
        "age": number_levels(table.numbers["age"], widths, whole=True),
        "region": label_levels(table.categories["region"], split, joined),
    }


def written(level):
    """The texts of a level, row by row."""
    return [None if code < 0 else str(level.values[code]) for code in level.codes]


def test_a_number_becomes_coarser():
    """Intervals of whole numbers are written with both ends, and lose width - 1 of the span; a star loses all."""
    levels = number_levels(np.array([18.0, 33.0, np.nan, 57.0]), (10, 20), whole=True)
    assert [level.name for level in levels] == ["value", "width 10", "width 20", "*"]
    assert written(levels[0]) == ["18", "33", None, "57"]
    assert written(levels[1]) == ["10-19", "30-39", None, "50-59"]
    assert written(levels[2]) == ["0-19", "20-39", None, "40-59"]
    assert written(levels[3]) == ["*", "*", None, "*"]
    # ages 18 to 57 are forty values; an interval of ten allows nine besides its own
    assert levels[1].row_loss().tolist() == pytest.approx([9 / 39, 9 / 39, 0, 9 / 39])
    assert levels[3].row_loss().tolist() == [1, 1, 0, 1]


def test_fractions_become_half_open_intervals():
    """Numbers that are not whole are written as [low, high)."""
    levels = number_levels(np.array([0.25, 0.75, 3.5]), (0.5, 1), whole=False)
    assert written(levels[1]) == ["[0, 0.5)", "[0.5, 1)", "[3.5, 4)"]
    assert levels[1].loss == pytest.approx(0.5 / 3.25)


@pytest.mark.parametrize(
    ("values", "widths"),
    [([18, 80], [5, 10, 20, 40]), ([0, 1], []), ([0, 999], [50, 100, 200, 400, 800]), ([-7, 12], [2, 4, 8, 16])],
)
def test_usual_widths(values, widths):
    """At most twenty intervals to begin with, then doubled as long as there is more than one."""
    levels = number_levels(np.array(values, dtype=float), whole=True)
    assert [level.name for level in levels[1:-1]] == [f"width {width}" for width in widths]


@pytest.mark.parametrize("widths", [(5, 12), (10, 10), (0, 5)])
def test_widths_that_would_cross_are_refused(widths):
    """Each width is a multiple of the one before, and above 0."""
    with pytest.raises(ValueError, match="width"):
        number_levels(np.array([1.0, 50.0]), widths, whole=True)


def test_a_label_becomes_coarser():
    """Groups allow their members; a label that is its own group stays as it is."""
    levels = label_levels(coded(["N/u", "N/r", "S/u", None, "X"]), split, joined)
    assert [level.name for level in levels] == ["value", "level 1", "*"]
    assert written(levels[1]) == ["N/*", "N/*", "S/*", None, "X"]
    # of four labels N/* allows one besides its own
    assert levels[1].row_loss().tolist() == pytest.approx([1 / 3, 1 / 3, 0, 0, 0])


def test_a_time_becomes_coarser():
    """Times are floored; a week begins on Monday."""
    times = np.array(["2024-05-01T13:45:10", "2024-05-05T00:00:01", "NaT"], dtype="datetime64[s]")
    levels = time_levels(times, ("hour", "day", "week"))
    assert written(levels[1]) == ["2024-05-01T13:00:00", "2024-05-05T00:00:00", None]
    assert written(levels[3]) == ["2024-04-29T00:00:00", "2024-04-29T00:00:00", None]


@pytest.mark.parametrize("units", [("week", "month"), ("day", "hour"), ("decade",)])
def test_units_that_would_cross_are_refused(units):
    """A month does not consist of weeks, and units ascend."""
    with pytest.raises(ValueError, match="time levels"):
        time_levels(np.array(["2024-05-01"], dtype="datetime64[s]"), units)


def test_levels_that_cross_are_refused():
    """A hierarchy file may put one group's members into two wider groups; that is no hierarchy."""
    fine = label_levels(coded(["a", "a", "b"]), lambda label: (label,), joined)[0]
    crossing = label_levels(coded(["x", "y", "y"]), lambda label: (label,), joined)[0]
    with pytest.raises(ValueError, match="split those of"):
        check_nested("c", [fine, crossing])


def least_loss(table, levels, k, removal):
    """The slow way: every combination of levels, cell by cell."""
    names = list(levels)
    best = None
    for node in product(*(range(len(levels[name])) for name in names)):
        chosen = [levels[name][at] for name, at in zip(names, node, strict=True)]
        cells = list(zip(*(written(level) for level in chosen), strict=True))
        sizes = Counter(cells)
        gone = [sizes[cell] < k for cell in cells]
        if sum(gone) > int(removal * len(table)):
            continue
        losses = list(zip(*(level.row_loss().tolist() for level in chosen), strict=True))
        loss = sum(len(names) if out else sum(row) for out, row in zip(gone, losses, strict=True))
        loss /= len(table) * len(names)
        best = loss if best is None else min(best, loss)
    return best


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(18, 60), st.sampled_from(["N/u", "N/r", "S/u", "S/r", None])), min_size=4, max_size=40
    ),
    st.integers(2, 4),
    st.sampled_from([0.0, 0.1, 0.4]),
)
def test_the_loss_is_the_least_there_is(rows, k, removal):
    """The search finds what trying every combination of levels finds, and its release is k-anonymous."""
    table = people([age for age, _ in rows], [region for _, region in rows])
    levels = hierarchies(table)
    expected = least_loss(table, levels, k, removal)
    mechanism = KAnonymity(k, levels, removal)
    if expected is None:
        with pytest.raises(ValueError, match="even with every column suppressed"):
            mechanism.search(len(table))
        return
    found = mechanism.search(len(table))
    assert found.loss == pytest.approx(expected, abs=1e-12)
    release = mechanism.apply(table, found, np.random.default_rng(0))
    assert len(release) == len(table) - found.removed >= len(table) * (1 - removal)
    columns = release.to_columns()
    sizes = Counter(zip(columns["age"].tolist(), columns["region"].tolist(), strict=True))
    assert all(size >= k for size in sizes.values())


@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize("method", ["full domain", "mondrian"])
def test_k_is_counted_anew(tmp_path, method, k):
    """The smallest class of the written file has k rows, by SQL and by counting its lines."""
    rng = np.random.default_rng(1)
    table = people(rng.integers(18, 80, 500), rng.choice(["N/u", "N/r", "S/u", "S/r"], 500).tolist())
    if method == "mondrian":
        mechanism = Mondrian(k, ("age", "region"), {"region": split}, {"region": joined})
    else:
        mechanism = KAnonymity(k, hierarchies(table))
    path = tmp_path / "released.csv"
    mechanism.protect(table, rng).write(path)
    with path.open(newline="") as file:
        counted = Counter(tuple(line) for line in list(csv.reader(file))[1:])
    assert smallest_class(path, ("age", "region")) == min(counted.values()) >= k


def test_people_keep_their_other_columns():
    """Rows are shuffled, and each keeps its person and the columns that are not generalized."""
    table = people([20, 21, 22, 23], ["N/u"] * 4, ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"])
    release = KAnonymity(2, hierarchies(table)).protect(table, np.random.default_rng(3))
    days = {0: "2024-01-01", 1: "2024-01-02", 2: "2024-01-03", 3: "2024-01-04"}
    assert [str(day)[:10] for day in release.times["when"]] == [days[person] for person in release.people.tolist()]


def test_missing_values_are_a_class_of_their_own():
    """One person without a region among many cannot be hidden among the missing, and is removed."""
    table = people([30] * 9 + [30], ["N/u"] * 9 + [None])
    found = KAnonymity(2, hierarchies(table), 0.1).search(10)
    assert found.removed == 1
    with pytest.raises(ValueError, match="missing values form their own classes"):
        KAnonymity(2, hierarchies(table), 0.05).search(10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda levels: KAnonymity(1, levels), "k is 1; allowed is a whole number from 2"),
        (lambda levels: KAnonymity(2.5, levels), "k is 2.5"),
        (lambda levels: KAnonymity(True, levels), "k is True"),
        (lambda levels: KAnonymity(2, levels, removal=1), "removal is 1"),
        (lambda levels: KAnonymity(2, {}), "there is no column to generalize"),
        (lambda levels: KAnonymity(5, levels).search(4), "k is 5, but the table has 4 rows"),
        (lambda levels: Mondrian(0, ("age",)), "k is 0"),
        (lambda levels: Mondrian(2, ()), "there is no column to generalize"),
    ],
)
def test_nonsense_is_refused(make, message):
    """A k that hides nobody, or that the table cannot reach, is refused."""
    table = people([1, 2, 3, 4], ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=message):
        make(hierarchies(table, (5,)))


def test_mondrian_refuses_a_table_that_is_too_small():
    """Fewer rows than k cannot hide each other."""
    with pytest.raises(ValueError, match="k is 3, but the table has 2 rows"):
        Mondrian(3, ("age",)).protect(people([1, 2], ["a", "b"]), np.random.default_rng(0))


def test_mondrian_by_hand():
    """Eight ages in two towns: the wider column is cut at its median, and classes are written as what they share."""
    table = people([20, 21, 22, 23, 60, 61, 62, 63], ["N/u", "N/r"] * 4)
    release = Mondrian(2, ("age", "region"), {"region": split}, {"region": joined}).protect(
        table, np.random.default_rng(0)
    )
    columns = release.take(np.argsort(release.people)).to_columns()
    # both columns span their whole width: age is cut first, then each half by region, where two and two remain
    assert columns["age"].tolist() == ["20-22", "21-23"] * 2 + ["60-62", "61-63"] * 2
    assert columns["region"].tolist() == ["N/u", "N/r"] * 4
    coarse = Mondrian(4, ("age", "region"), {"region": split}, {"region": joined}).protect(
        table, np.random.default_rng(0)
    )
    assert set(coarse.to_columns()["region"].tolist()) == {"N/*"}


def test_mondrian_without_groups_writes_sets():
    """Labels without a hierarchy are written as the set of them, and a half-missing class as a star."""
    table = people([30, 30, 30, 30], ["b", "a", "a", "b"])
    release = Mondrian(4, ("age", "region")).protect(table, np.random.default_rng(0))
    assert release.to_columns()["region"].tolist() == ["{a, b}"] * 4
    table = people([30, 30, np.nan, 31], ["a"] * 4)
    assert Mondrian(4, ("age",)).protect(table, np.random.default_rng(0)).to_columns()["age"].tolist() == ["*"] * 4


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=2, max_size=60), st.integers(2, 5))
def test_mondrian_cuts_as_far_as_it_may(rows, k):
    """Classes part the rows, have k of them, and no cut below or at the median of a class leaves k on both sides."""
    ranks = np.array(rows, dtype=float)
    if len(ranks) < k:
        return
    classes = cut_into_classes(ranks, k)
    assert sorted(np.concatenate(classes).tolist()) == list(range(len(ranks)))
    for members in classes:
        assert len(members) >= k
        for column in ranks[members].T:
            middle = np.sort(column)[len(column) // 2]
            for left in ((column < middle).sum(), (column <= middle).sum()):
                assert not k <= left <= len(column) - k


def test_a_star_is_the_end():
    """The last level says nothing, and leaves missing values missing."""
    assert written(star_level(np.array([3, -1, 0], dtype=np.int32))) == ["*", None, "*"]
