from datetime import datetime
from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvpl.tables.protected_values import Range, Span, is_suppressed, read_number, read_time

SMALLEST, LARGEST = 18.0, 90.0


def below(value):
    return nextafter(value, -inf)


def above(value):
    return nextafter(value, inf)


# spelling: lowest, highest and middle value it allows on whole numbers from 18 to 90
ON_WHOLE_NUMBERS = {
    "34": (34, 34, 34),
    " 34 ": (34, 34, 34),
    "-3.5e1": (-35, -35, -35),
    "30-39": (30, below(40), 35),
    "30 – 39": (30, below(40), 35),
    "30~39": (30, below(40), 35),
    "34-34": (34, below(35), 34.5),
    "-5--1": (-5, below(0), -2.5),
    "-5-9": (-5, below(10), 2.5),
    "30.5-39.5": (30.5, 39.5, 35),  # fractions leave no gap that would belong to the label
    "[30, 40)": (30, below(40), 35),
    "[30, 40[": (30, below(40), 35),
    "[30;40]": (30, 40, 35),
    "]30,40]": (above(30), 40, 35),
    "(30, 40]": (above(30), 40, 35),
    "(30, 40)": (above(30), below(40), 35),
    "]30, 40[": (above(30), below(40), 35),
    "[1, 83[": (1, below(83), 42),
    ">=80": (80, 90, 85),
    "≥ 80": (80, 90, 85),
    "80+": (80, 90, 85),
    ">80": (81, 90, 85.5),
    "[80, inf)": (80, 90, 85),
    "[80, ∞[": (80, 90, 85),
    "(80, inf]": (81, 90, 85.5),
    ">=95": (95, 95, 95),  # nobody in the original is that old: the bound is all that is known
    ">95": (96, 96, 96),
    "<20": (18, below(20), 19),
    "<=20": (18, 20, 19),
    "(-inf, 20]": (18, 20, 19),
    "]-∞, 20[": (18, below(20), 19),
    "(-inf, inf)": (18, 90, 54),
    "<18": (17, below(18), 17.5),
    "<=10": (10, 10, 10),
    "123**": (12300, below(12400), 12350),
    "1*": (10, below(20), 15),
    "{31, 35}": (31, 35, 33),
    "{40,20, 30}": (20, 40, 30),
}

# the same on numbers with fractions, where it differs
ON_FRACTIONS = {
    "30-39": (30, 39, 34.5),
    "34-34": (34, 34, 34),
    "-5--1": (-5, -1, -3),
    ">80": (above(80), 90, 85),
    "(80, inf]": (above(80), 90, 85),
    ">90": (above(90), above(90), above(90)),
    "<18": (below(18), below(18), below(18)),
}

NOT_NUMBERS = [
    "", "*", "abc", "39-30", "[40, 30]", "[30, 30)", "(30, 30]", "30-", "-", "+", "1,000", "3,5", "1e999", "inf", "nan",
    "[30, 40", "30, 40]", "{}", "{a}", "{31, b}", "12:30", "2024-05-01", "**", "1*2", "[inf, 3]", "[3, -inf]", "0x10",
]  # fmt: skip


@pytest.mark.parametrize(("label", "expected"), ON_WHOLE_NUMBERS.items())
def test_a_spelling_on_whole_numbers(label, expected):
    assert read_number(label, whole=True, smallest=SMALLEST, largest=LARGEST) == Range(*expected)


@pytest.mark.parametrize(("label", "expected"), ON_FRACTIONS.items())
def test_a_spelling_on_numbers_with_fractions(label, expected):
    assert read_number(label, whole=False, smallest=SMALLEST, largest=LARGEST) == Range(*expected)


@pytest.mark.parametrize("label", NOT_NUMBERS)
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_no_number_is_not_read_as_one(label, whole):
    assert read_number(label, whole=whole, smallest=SMALLEST, largest=LARGEST) is None


def test_an_open_end_where_the_original_has_no_number_stops_at_the_bound():
    assert read_number(">=80", whole=False, smallest=inf, largest=-inf) == Range(80, 80, 80)
    assert read_number("<=20", whole=False, smallest=inf, largest=-inf) == Range(20, 20, 20)


@given(st.integers(-1000, 1000), st.integers(0, 500), st.booleans())
def test_a_range_holds_the_numbers_it_was_made_from(low, width, whole):
    """Whatever value a tool writes as an interval lies inside what is read, and so does the middle."""
    high = low + width
    for label in (f"{low}-{high}", f"[{low}, {high}]", f"[{low}, {high + 1})", f"]{low - 1}, {high}]"):
        found = read_number(label, whole=whole, smallest=-1000, largest=2000)
        assert found is not None
        assert found.low <= low <= high <= found.high
        assert found.low <= found.middle <= found.high


@given(st.text(max_size=12))
def test_no_text_breaks_the_parsers(label):
    """Every text gives a finite range in order, or None."""
    found = read_number(label, whole=True, smallest=SMALLEST, largest=LARGEST)
    assert found is None or -inf < found.low <= found.middle <= found.high < inf
    span = read_time(label)
    assert span is None or span.first <= span.last


def day(*parts):
    return datetime(*parts)


# spelling: first and last instant it allows
TIMES = {
    "2024": (day(2024, 1, 1), day(2024, 12, 31, 23, 59, 59, 999999)),
    "2024-05": (day(2024, 5, 1), day(2024, 5, 31, 23, 59, 59, 999999)),
    "2024-02": (day(2024, 2, 1), day(2024, 2, 29, 23, 59, 59, 999999)),
    "2023-12": (day(2023, 12, 1), day(2023, 12, 31, 23, 59, 59, 999999)),
    "2024-05-01": (day(2024, 5, 1), day(2024, 5, 1)),
    "2024-05-01 13:45": (day(2024, 5, 1, 13, 45), day(2024, 5, 1, 13, 45)),
    "2024-05-01T13:45:07.25": (day(2024, 5, 1, 13, 45, 7, 250000), day(2024, 5, 1, 13, 45, 7, 250000)),
    "2024-05-01T13:45:07.123456789Z": (day(2024, 5, 1, 13, 45, 7, 123456), day(2024, 5, 1, 13, 45, 7, 123456)),
    "2024-05-01 01:00:00+02:00": (day(2024, 4, 30, 23), day(2024, 4, 30, 23)),
    "[2024-05-01, 2024-06-01)": (day(2024, 5, 1), day(2024, 5, 31, 23, 59, 59, 999999)),
    "[2024-05-01, 2024-06-01[": (day(2024, 5, 1), day(2024, 5, 31, 23, 59, 59, 999999)),
    "]2024-05-01, 2024-06-01]": (day(2024, 5, 1, 0, 0, 0, 1), day(2024, 6, 1)),
    "[2024-05, 2024-06]": (day(2024, 5, 1), day(2024, 6, 30, 23, 59, 59, 999999)),
    "]2024-05, 2024-06]": (day(2024, 6, 1), day(2024, 6, 30, 23, 59, 59, 999999)),
    "2024-05-01 - 2024-05-31": (day(2024, 5, 1), day(2024, 5, 31, 23, 59, 59, 999999)),
    "2023 - 2024": (day(2023, 1, 1), day(2024, 12, 31, 23, 59, 59, 999999)),
}


@pytest.mark.parametrize(("label", "expected"), TIMES.items())
def test_a_spelling_of_a_time(label, expected):
    assert read_time(label) == Span(*expected)


@pytest.mark.parametrize(
    "label",
    [
        "",
        "*",
        "24",
        "2024-13",
        "2024-02-30",
        "2024-05-01 25:00",
        "01.05.2024",
        "2024-05-31 - 2024-05-01",
        "0000",
        "noon",
    ],
)
def test_what_is_no_time_is_not_read_as_one(label):
    assert read_time(label) is None


@pytest.mark.parametrize(("label", "expected"), [("*", True), ("***", True), ("", False), ("*a", False), (" *", False)])
def test_a_suppressed_value_is_stars_and_nothing_else(label, expected):
    assert is_suppressed(label) is expected
