"""What protection tools write, read as worked out by hand in tests/fixtures/spellings, by the tool that writes it.

Numbers are read beside originals from 18 to 90, times beside originals from 2000 to noon of the last day of 2024.
"""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from math import inf, nextafter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvpl.tables.meaning.protected_values import (
    SUPPRESSED_WORDS,
    Range,
    Span,
    is_gone,
    is_suppressed,
    read_number,
    read_pair,
    read_time,
    two_ways,
)

SMALLEST, LARGEST = 18.0, 90.0
EARLIEST, LATEST = datetime(2000, 1, 1), datetime(2024, 12, 31, 12)
KINDS = {"whole": [True], "fractions": [False], "any": [True, False]}


def table(name):
    with (Path(__file__).parents[1] / "fixtures" / "spellings" / f"{name}.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return list(csv.DictReader(file))


NUMBERS = [(row, whole) for row in table("numbers") for whole in KINDS[row["originals"]]]
TIMES = table("times")
REFUSED = table("refused")


def number(label, *, whole):
    """A number of a release, as reading has it."""
    found = read_pair(label, whole=whole, smallest=SMALLEST, largest=LARGEST)
    return read_number(label, whole=whole, smallest=SMALLEST, largest=LARGEST) if found is None else found


def time(label):
    return read_time(label, earliest=EARLIEST, latest=LATEST)


def test_the_corpus_is_large_and_says_nothing_twice():
    assert len(table("numbers")) + len(TIMES) >= 150
    assert len(REFUSED) >= 60
    for rows, keys in ((table("numbers"), ("tool", "spelling", "originals")), (REFUSED, ("column", "spelling"))):
        assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows)
    assert len({row["spelling"] for row in TIMES}) == len(TIMES)


@pytest.mark.parametrize(
    ("row", "whole"), NUMBERS, ids=lambda item: item["spelling"] if isinstance(item, dict) else str(item)
)
def test_a_spelling_of_a_number(row, whole):
    low, high = float(row["low"]), float(row["high"])
    expected = Range(
        low if row["low_in"] == "yes" else nextafter(low, inf),
        high if row["high_in"] == "yes" else nextafter(high, -inf),
        pytest.approx(float(row["middle"]), rel=1e-12),
    )
    assert number(row["spelling"], whole=whole) == expected


@pytest.mark.parametrize("row", TIMES, ids=lambda row: row["spelling"])
def test_a_spelling_of_a_time(row):
    assert time(row["spelling"]) == Span(datetime.fromisoformat(row["first"]), datetime.fromisoformat(row["last"]))


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row['column']} {row['spelling']}")
def test_what_is_wrong_or_can_mean_two_things_is_not_read(row):
    label = row["spelling"]
    if row["column"] == "time":
        assert time(label) is None
    else:
        assert number(label, whole=False) is None
        assert row["column"] == "fraction" or number(label, whole=True) is None
    assert not is_gone(label)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("17,25", True),
        ("1,250", True),
        ("12**", True),
        ("05/2024", True),
        ("1/5/2024", True),
        ("39-30", False),
        ("twelve", False),
        ("nan", False),
        ("[30, 40", False),
    ],
)
def test_what_can_mean_two_things_is_distinguished_from_what_means_nothing(label, expected):
    assert two_ways(label) is expected


@pytest.mark.parametrize("label", ["17,25", "17, 25", "17.5,25.5"])
def test_a_pair_of_ends_is_none_in_an_original(label):
    """There it may be a slip of the pen; only a tool writes ranges so."""
    for whole in (True, False):
        assert read_number(label, whole=whole, smallest=SMALLEST, largest=LARGEST) is None


@pytest.mark.parametrize(
    ("label", "ends", "expected"),
    [
        ("12285,1484705", (12285, 1484705), (12285, nextafter(1484706, 0), 748495.5)),
        ("0,4356", (0, 4356), (0, nextafter(4357, 0), 2178.5)),
        ("-5,9", (-5, 9), (-5, nextafter(10, 0), 2.5)),
        ("-5,-1", (-5, 9), (-5, nextafter(0, -inf), -2.5)),
        ("0,100", (0, 100), (0, nextafter(101, 0), 50.5)),
        ("0,4356", (1, 4356), None),
        ("0,4356", (0, 4355), None),
        ("1,250", (0, 5000), None),
        ("0,4356", (inf, -inf), None),
    ],
)
def test_the_ends_of_a_pair_lie_among_the_originals(label, ends, expected):
    found = read_pair(label, whole=True, smallest=ends[0], largest=ends[1])
    assert found == (None if expected is None else Range(*expected))


def test_an_open_end_where_the_original_has_no_value_stops_at_the_bound():
    assert read_number(">=80", whole=False, smallest=inf, largest=-inf) == Range(80, 80, 80)
    assert read_number("<=20", whole=False, smallest=inf, largest=-inf) == Range(20, 20, 20)
    assert read_number(">90", whole=False, smallest=SMALLEST, largest=LARGEST) == Range(*[nextafter(90, inf)] * 3)
    assert read_number("<18", whole=False, smallest=SMALLEST, largest=LARGEST) == Range(*[nextafter(18, -inf)] * 3)
    assert read_time(">=2024-05-01") == Span(datetime(2024, 5, 1), datetime(2024, 5, 1))
    assert read_time("<2024") == Span(*[datetime(2023, 12, 31, 23, 59, 59, 999999)] * 2)


@pytest.mark.parametrize(("label", "expected"), [("*", True), ("***", True), ("", False), ("*a", False), (" *", False)])
def test_stars_and_nothing_else_are_suppression(label, expected):
    assert is_suppressed(label) is expected
    assert is_gone(label) is expected


@pytest.mark.parametrize("word", SUPPRESSED_WORDS)
def test_a_word_for_suppression_is_one_in_a_release_that_the_original_does_not_use_it_in(word):
    assert is_gone(word) and not is_gone(word, {word}) and not is_suppressed(word)
    assert not any(is_gone(other) for other in (word.swapcase(), f" {word}", f"{word}s", ""))


@pytest.mark.parametrize(
    "label", ["1" + "*" * 5000, "9" * 5000 + "*", "9" * 5000, "0." + "1" * 5000 + "*", "[" + "9" * 5000 + ", 1]"]
)
def test_a_label_of_thousands_of_characters_is_no_number_and_no_fault(label):
    assert number(label, whole=True) is None


@given(st.integers(-1000, 1000), st.integers(0, 500), st.booleans())
def test_a_range_holds_the_numbers_it_was_made_from(low, width, whole):
    """Whatever value a tool writes as an interval lies inside what is read, and so does the middle."""
    high = low + width
    labels = [
        f"{low}-{high}", f"{low}~{high}", f"{low}, {high}", f"[{low}-{high}]", f"({low}, {high})", f"{{{high}, {low}}}",
        f"[{low}, {high}]", f"[{low}, {high + 1})", f"[{low}, {high + 1}[", f"]{low - 1}, {high}]", f">={low}",
        f"{low}+",
    ]  # fmt: skip
    for label in labels:
        ends = {"whole": whole, "smallest": -1000, "largest": 2000}
        found = read_pair(label, **ends) or read_number(label, **ends)
        assert found is not None
        assert found.low <= low <= high <= found.high
        assert found.low <= found.middle <= found.high


@given(st.integers(0, 99_999), st.integers(1, 4))
def test_a_masked_number_holds_the_number_it_was_made_from(value, stars):
    """However many of its last digits are stars, unless nothing is left."""
    text = str(value)
    if len(text) > stars:
        found = number(text[:-stars] + "*" * stars, whole=True)
        assert found is not None
        assert found.low <= value <= found.high
        assert found.high - found.low < 10**stars


@given(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)), st.integers(1, 9))
def test_a_masked_day_holds_the_day_it_was_made_from(moment, stars):
    day = moment.date().isoformat()
    found = time(day[:-stars] + "*" * stars)
    assert found is not None
    assert found.first <= datetime.fromisoformat(day) <= found.last


@given(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)), st.timedeltas(timedelta(0), timedelta(days=4000)))
def test_a_span_holds_the_moments_it_was_made_from(start, length):
    """Written to the day, it holds every moment of its first and of its last day."""
    end = start + length
    days = start.date().isoformat(), end.date().isoformat()
    for label in (
        f"{days[0]} - {days[1]}",
        f"[{days[0]}, {days[1]}]",
        f"{days[0]}/{days[1]}",
        f"({days[0]}, {days[1]})",
    ):
        found = time(label)
        assert found is not None
        assert found.first <= start <= end <= found.last


@given(st.text(max_size=12) | st.text("0123456789-–~,.;*[](){}<>=+/ eQWNA", max_size=20))
def test_no_text_breaks_the_parsers(label):
    """Every text gives a finite range in order, or None."""
    for whole in (True, False):
        found = number(label, whole=whole)
        assert found is None or -inf < found.low <= found.middle <= found.high < inf
    span = time(label)
    assert span is None or span.first <= span.last
