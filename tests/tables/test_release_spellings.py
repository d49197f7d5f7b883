"""Spellings that are read in a release only, from files: what is suppressed, pairs of ends, codes with decimals."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from cvpl.errors import InputError
from cvpl.result.publishing import Disclosure
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.meaning import reading as reading_module
from cvpl.tables.meaning.labels import read_hierarchy
from cvpl.tables.pair import read_inputs
from cvpl.tables.source.reading_settings import Reading
from examples import examples_apart
from shared_data import SHARED, needs_data

HIDDEN = "SECRETCELL"


def write(folder, name, cells):
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["x"], *([cell] for cell in cells)])
    return path


def inputs(folder, original, released, kind, control=None, **settings):
    """The tables of one column `x`, written and read."""
    return read_inputs(
        write(folder, "original.csv", original),
        write(folder, "released.csv", released),
        [ColumnSpec("x", "attribute", kind, **settings)],
        control=None if control is None else write(folder, "control.csv", control),
    )


def released(folder, original, cells, kind="category", **settings):
    column = inputs(folder, original, cells, kind, **settings).pair.protected.columns["x"]
    if kind == "category":
        return [None if code < 0 else column.labels[code] for code in column.codes]
    return column


def problem(folder, original, cells, kind, **settings):
    with pytest.raises(InputError) as caught:
        inputs(folder, original, cells, kind, **settings)
    (found,) = caught.value.problems
    return found


@pytest.mark.parametrize("word", ["NA", "NULL", "(null)", "*", "***"])
def test_a_suppressed_number_or_time_is_missing_in_a_release(tmp_path, word):
    assert np.isnan(released(tmp_path, ["1", "2"], ["1", word], "numeric").values).tolist() == [False, True]
    times = released(tmp_path, ["2024-05-01"], ["2024-05-01", word], "datetime")
    assert np.isnat(times.first).tolist() == np.isnat(times.last).tolist() == [False, True]


@pytest.mark.parametrize("table", ["original", "control"])
@pytest.mark.parametrize(("kind", "cell"), [("numeric", "1"), ("datetime", "2024-05-01")])
def test_a_word_for_suppression_is_text_in_every_other_table(tmp_path, table, kind, cell):
    """Originals and controls are not protected: there it is a gap that `reading.missing` must name."""
    cells = {"original": [cell, cell], "control": [cell, cell]}
    cells[table][1] = "NA"
    found = problem(tmp_path, cells["original"], [cell], kind, control=cells["control"])
    assert (found.where, found.row, found.column) == (f"{table}.csv", 2, "x")


@pytest.mark.parametrize("word", ["NA", "NULL", "(null)", "*"])
def test_a_word_for_suppression_is_a_label_where_the_original_has_it(tmp_path, word):
    """NA is Namibia in a column of countries; beside Germany alone it is a gap."""
    assert released(tmp_path, ["DE", word], ["DE", word]) == ["DE", word]
    assert released(tmp_path, ["DE", "DE"], ["DE", word]) == ["DE", None]


def test_a_control_that_has_such_a_label_does_not_make_it_one_in_the_release(tmp_path):
    pair = inputs(tmp_path, ["DE"], ["DE", "NA"], "category", control=["NA"]).pair
    assert pair.protected.columns["x"].codes.tolist() == [0, -1]
    assert pair.control.columns["x"].codes.tolist() == [1]


def test_a_pair_of_ends_is_a_range_beside_whole_originals(tmp_path):
    column = released(tmp_path, ["17", "90"], ["17,25", "30"], "numeric")
    assert column.low.tolist() == [17, 30]
    assert column.high.tolist() == [np.nextafter(26, 0), 30]
    assert column.values.tolist() == [21.5, 30]


@pytest.mark.parametrize(
    ("original", "cells"),
    [
        (["17.5", "90"], ["17", "17,25"]),
        (["18", "90"], ["18", "17,25"]),
        (["17", "90"], ["17", "1,250"]),
        (["1.5"], ["1", "12**"]),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused_without_the_cell(tmp_path, original, cells):
    found = problem(tmp_path, original, cells, "numeric")
    assert (found.where, found.row, found.column, found.count) == ("released.csv", 2, "x", 1)
    assert "ambiguous" in found.what
    assert cells[1] not in str(found)


def test_a_pair_of_ends_is_refused_in_an_original(tmp_path):
    found = problem(tmp_path, ["17", "17,25"], ["17"], "numeric")
    assert (found.where, found.row) == ("original.csv", 2)


def test_a_slashed_date_is_refused_without_the_cell(tmp_path):
    found = problem(tmp_path, ["2024-05-01"], ["2024-05", "05/2024"], "datetime")
    assert (found.where, found.row, found.column) == ("released.csv", 2, "x")
    assert "ambiguous" in found.what and "05/2024" not in str(found)


def test_text_and_what_can_mean_two_things_are_two_problems(tmp_path):
    with pytest.raises(InputError) as caught:
        inputs(tmp_path, ["1.5"], [HIDDEN, "1,250", "1,250"], "numeric")
    assert [(item.row, item.count) for item in caught.value.problems] == [(1, 1), (2, 2)]
    assert HIDDEN not in str(caught.value)


def test_an_open_end_of_a_time_reaches_to_the_last_original(tmp_path):
    original = ["2024-05-01", "2024-07-01 12:00", "2024-06-01"]
    times = released(tmp_path, original, [">=2024-06-01", "<2024-06", "2024-06-01"], "datetime")
    assert [str(item) for item in times.first] == [
        "2024-06-01T00:00:00.000000",
        "2024-05-01T00:00:00.000000",
        "2024-06-01T00:00:00.000000",
    ]
    assert [str(item) for item in times.last] == [
        "2024-07-01T12:00:00.000000",
        "2024-05-31T23:59:59.999999",
        "2024-06-01T00:00:00.000000",
    ]


# what the original has, what the release has, what that means
CODES = [
    (["1", "2"], ["1.0", "2.0", "1"], ["1", "2", "1"]),
    (["1", "2"], ["1.00", "-1.0", "3.0"], ["1", "-1.0", "3.0"]),
    (["-1"], ["-1.0"], ["-1"]),
    (["1.0", "2.0"], ["1", "2", "2.0"], ["1.0", "2.0", "2.0"]),
    (["1", "1.0"], ["1.0", "1"], ["1.0", "1"]),
    (["01", "1"], ["01.0", "1.0", "001.0"], ["01", "1", "001.0"]),
    (["1", "N"], ["1.0", "N", "N.0"], ["1", "N", "N.0"]),
    (["1"], ["1.5", "1.", ".0", "1e0"], ["1.5", "1.", ".0", "1e0"]),
    (["1", "NA"], ["1.0", "NA", "*"], ["1", "NA", None]),
]


@pytest.mark.parametrize(("original", "cells", "expected"), CODES)
def test_a_code_with_decimals_that_are_zero_is_the_whole_number_of_the_original(tmp_path, original, cells, expected):
    assert released(tmp_path, original, cells) == expected


def test_codes_that_were_read_so_are_reported_and_the_original_s_are_left_alone(tmp_path):
    found = inputs(tmp_path, ["1", "2"], ["1.0", "2"], "category", control=["2.0"])
    assert found.pair.original.columns["x"].labels == ("1", "2")
    assert found.pair.control.columns["x"].codes.tolist() == [1]
    text = "1 cell differs from whole numbers of the original only by zero decimals, and is read as that number"
    told = [notice.describe(Disclosure(1)) for notice in found.pair.measured]
    assert told == [f"column 'x' of released.csv: {text}", f"column 'x' of control.csv: {text}"]


def test_a_code_that_could_be_two_labels_of_the_original_is_refused(tmp_path):
    found = problem(tmp_path, ["1", "1.0"], ["1", "1.00", "1.00"], "category")
    assert (found.where, found.row, found.count) == ("released.csv", 2, 2)
    assert "1.00" not in str(found)


def test_a_code_of_the_hierarchy_file_is_known_too(tmp_path):
    parents = {"1": ("9", "1"), "9": ("9",), "1.0": ("9", "1.0")}
    assert released(tmp_path, ["1"], ["9.0", "1.0"], parents=parents) == ["9", "1.0"]


def test_each_distinct_label_is_parsed_once(tmp_path, monkeypatch):
    seen = []
    parse = reading_module.read_number
    monkeypatch.setattr(reading_module, "read_number", lambda label, **ends: seen.append(label) or parse(label, **ends))
    inputs(tmp_path, ["1", "9"], ["[1, 5[", "[5, 9]", "NA", "3"] * 50, "numeric")
    assert seen == ["[1, 5[", "[5, 9]"]


NIST = [
    "adsgan",
    "bayesian_network",
    "mst_eps1",
    "mst_eps10",
    "pacsynth_eps10",
    "patectgan_eps10",
    "pategan_eps10",
    "pram",
    "privbayes_eps1",
    "privbayes_eps10",
    "sdcmicro_k6",
    "sdcmicro_k12",
    "sdv_tvae",
    "subsample40_all",
    "synthpop_cart",
]


def unread(original, protected, numeric, categories, reading, parents=None):
    """The labels of the release that the original lacks, by column, after checking that all numbers are there."""
    specs = [ColumnSpec(name, "attribute", "numeric") for name in numeric]
    specs += [ColumnSpec(name, "attribute", "category", parents=(parents or {}).get(name)) for name in categories]
    pair = read_inputs(original, protected, specs, reading=reading).pair
    found = {}
    for name in categories:
        if name not in pair.protected.columns:
            continue
        ours, theirs = pair.original.columns[name], pair.protected.columns[name]
        strange = set(theirs.codes[theirs.codes >= 0].tolist()) - set(ours.codes.tolist())
        if strange:
            found[name] = {theirs.labels[code] for code in strange}
    return found, pair


@needs_data
@pytest.mark.parametrize("k", [2, 5, 10, 20])
def test_stroke_releases_of_arx_are_read(k):
    """Ages are intervals, stars, or NULL, which ARX makes of what it could not read; nothing needs to be declared."""
    folder = SHARED / "stroke"
    categories = ["gender", "ever_married", "work_type", "Residence_type", "smoking_status", "hypertension"]
    numeric = ["age", "avg_glucose_level", "bmi"]
    strange, pair = unread(
        folder / "stroke.csv", folder / f"stroke_k{k}.csv", numeric, categories, Reading(missing=("", "N/A"))
    )
    assert strange == {}
    with (folder / f"stroke_k{k}.csv").open(encoding="utf-8") as file:
        cells = [row["age"] for row in csv.DictReader(file)]
    ages = pair.protected.columns["age"]
    assert int(ages.known().sum()) == sum(cell.startswith("[") for cell in cells)
    at = cells.index("[1, 83[" if k > 2 else "[33, 65[")
    assert (ages.low[at], ages.values[at]) == ((1, 42) if k > 2 else (33, 49))


@needs_data
def test_the_adult_release_of_anjana_is_read():
    folder = SHARED / "adult"
    names = ["education", "marital-status", "occupation", "native-country", "workclass"]
    parents = {name: read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in names}
    strange, pair = unread(
        folder / "adult.csv",
        folder / "adult_k10_anjana.csv",
        ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"],
        [*names, "relationship", "sex", "race"],
        Reading(strip=True),
        parents,
    )
    assert strange == {}
    ages = pair.protected.columns["age"]
    assert set((np.ceil(ages.high) - ages.low).tolist()) == {5.0}


@needs_data
@pytest.mark.parametrize("name", NIST[:: examples_apart(3)])
def test_nist_releases_hold_no_label_that_the_original_lacks(name):
    """Not even those that were written as floats, for which 1.0 is 1."""
    folder = SHARED / "nist_ma"
    numeric = ["AGEP", "PINCP", "POVPIP", "DENSITY"] if name == "subsample40_all" else ["AGEP"]
    categories = ["SEX", "MSP", "RAC1P", "OWN_RENT", "PINCP_DECILE", "EDU", "HOUSING_TYPE", "DVET", "DEYE"]
    reading = Reading(missing=("", "N")) if "POVPIP" in numeric else Reading()
    strange, pair = unread(folder / "ma2019.csv", folder / f"{name}.csv", numeric, categories, reading)
    assert strange == {}
    assert pair.protected.columns["AGEP"].plain
