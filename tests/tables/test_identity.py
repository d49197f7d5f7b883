import numpy as np
import pandas as pd
import pytest

from cvpl.errors import InputError
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.pair import read_inputs
from cvpl.tables.source.reading_settings import Reading

SPECS = [ColumnSpec("x", "attribute", "category")]
SHARED_ID = IdentityKeys("id", "id")


def inputs(tmp_path, original, protected, identity, **settings):
    """Two CSV files read with these keys."""
    for name, text in (("o.csv", original), ("p.csv", protected)):
        (tmp_path / name).write_text(text)
    return read_inputs(tmp_path / "o.csv", tmp_path / "p.csv", SPECS, identity=identity, **settings)


def pairs(found):
    return list(
        zip(found.evaluation.matches.original.tolist(), found.evaluation.matches.protected.tolist(), strict=True)
    )


# name: original, protected, keys, (original row, protected row) counted from 0
MATCHES = {
    "a shared id": ("id,x\na,1\nb,2\nc,3\n", "id,x\nc,1\na,1\n", SHARED_ID, [(0, 1), (2, 0)]),
    "ids are text": ("id,x\n007,1\n7,2\n", "id,x\n7,1\n", SHARED_ID, [(1, 0)]),
    "many to many": ("id,x\na,1\na,2\nb,3\n", "id,x\na,1\na,1\n", SHARED_ID, [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "a missing id matches nothing": ("id,x\n,1\na,2\n", "id,x\n,1\na,1\n", SHARED_ID, [(1, 1)]),
    "two names": ("me,x\na,1\nb,2\n", "you,x\nb,1\n", IdentityKeys("me", "you"), [(1, 0)]),
    "a row number": ("x\n1\n2\n3\n", "index,x\n2,1\n0,1\n", IdentityKeys("row_number", "index"), [(0, 1), (2, 0)]),
    "both by position": ("x\n1\n2\n", "x\n5\n6\n", IdentityKeys("row_number", "row_number"), [(0, 0), (1, 1)]),
    "padded row numbers": ("x\n1\n2\n3\n", "i,x\n2.0,1\n01,1\n", IdentityKeys("row_number", "i"), [(1, 1), (2, 0)]),
    "no row number": ("x\n1\n2\n", "i,x\n0.5,1\n-1,1\nq,1\n,1\n7,1\n", IdentityKeys("row_number", "i"), []),
    "a column called rowid": ("rowid,x\nb,1\na,2\n", "rowid,x\na,1\n", IdentityKeys("rowid", "rowid"), [(1, 0)]),
    "positions beside a column called rowid": (
        "rowid,x\n9,1\n9,2\n",
        "rowid,i,x\n5,1,1\n",
        IdentityKeys("row_number", "i"),
        [(1, 0)],
    ),
    "a column called row_number": (
        "x\n1\n2\n3\n",
        "row_number,x\n2,1\n1,1\n",
        IdentityKeys("row_number", "row_number"),
        [(1, 1), (2, 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MATCHES)
def test_matches(tmp_path, name):
    original, protected, keys, expected = MATCHES[name]
    assert pairs(inputs(tmp_path, original, protected, keys)) == expected


def test_a_column_called_row_number_is_pointed_out(tmp_path):
    original, protected, keys, _ = MATCHES["a column called row_number"]
    notices = inputs(tmp_path, original, protected, keys).pair.notices
    assert [notice for notice in notices if "'row_number' of p.csv" in notice]


def test_positions_after_quoted_line_ends(tmp_path):
    """A record that spans lines is one row."""
    found = inputs(tmp_path, 'x\n"a\nb\nc"\n2\n', "i,x\n1,2\n", IdentityKeys("row_number", "i"))
    assert pairs(found) == [(1, 0)]


def test_a_listed_spelling_of_missing_is_no_id(tmp_path):
    text = "id,x\n?,1\na,2\n"
    assert pairs(inputs(tmp_path, text, text, SHARED_ID, reading=Reading(missing=("", "?")))) == [(1, 1)]
    assert pairs(inputs(tmp_path, text, text, SHARED_ID)) == [(0, 0), (1, 1)]


def test_an_id_of_floats_meets_an_id_of_text(tmp_path):
    """A dataframe turns whole ids with a gap into floats; 7.0 there is "7" in a file."""
    (tmp_path / "o.csv").write_text("id,x\n7,1\n8,1\n")
    release = pd.DataFrame({"id": [8.0, None, 7.0], "x": ["1", "1", "1"]})
    found = read_inputs(tmp_path / "o.csv", release, SPECS, identity=SHARED_ID)
    assert pairs(found) == [(0, 2), (1, 0)]


@pytest.mark.parametrize(
    ("keys", "scenario"),
    [
        (SHARED_ID, "controlled"),
        (IdentityKeys("id", "id", complete=False), "partial"),
        (IdentityKeys("id", "id", simulated=True), "simulation"),
    ],
)
def test_the_scenario_and_completeness(tmp_path, keys, scenario):
    text = "id,x\na,1\n"
    matches = inputs(tmp_path, text, text, keys).evaluation.matches
    assert (matches.scenario, matches.complete) == (scenario, keys.complete)


def test_an_identity_that_names_groups_is_refused(tmp_path):
    """100 records of one household on both sides make 10,000 pairs; 20 for each of the 200 records is the most."""
    text = "id,x\n" + "home,1\n" * 100
    with pytest.raises(InputError) as caught:
        inputs(tmp_path, text, text, SHARED_ID)
    (problem,) = caught.value.problems
    assert (problem.where, problem.column) == ("p.csv", "id")
    assert "home" not in str(problem)


def test_a_huge_group_is_refused_without_listing_its_pairs(tmp_path):
    """Ten to the tenth pairs are counted, not made."""
    text = "id,x\n" + "home,1\n" * 100_000
    with pytest.raises(InputError, match="names groups"):
        inputs(tmp_path, text, text, SHARED_ID)


def test_as_many_pairs_as_are_allowed_pass(tmp_path):
    text = "id,x\n" + "home,1\n" * 40
    assert len(inputs(tmp_path, text, text, SHARED_ID).evaluation.matches.original) == 1600  # 20 * (40 + 40)


@pytest.mark.parametrize(
    ("original", "protected", "absent"),
    [
        ("id,x\na,1\n", "x\n1\n", ["p.csv"]),
        ("x\n1\n", "id,x\na,1\n", ["o.csv"]),
        ("x\n1\n", "x\n1\n", ["o.csv", "p.csv"]),
    ],
)
def test_without_the_id_column_matches_are_unknown_and_said_to_be(tmp_path, original, protected, absent):
    found = inputs(tmp_path, original, protected, SHARED_ID, declared=("id", "x"))
    assert found.evaluation.matches is None
    parts = [f"column 'id', which identifies people, is absent from {name}: matches are unknown" for name in absent]
    assert list(found.pair.notices) == parts


def test_no_identity_no_matches(tmp_path):
    assert inputs(tmp_path, "x\n1\n", "x\n1\n", None).evaluation.matches is None


def test_ids_without_anybody_in_common_are_known_to_have_no_match(tmp_path):
    matches = inputs(tmp_path, "id,x\na,1\n", "id,x\nb,1\n", SHARED_ID).evaluation.matches
    assert matches.original.dtype == np.int64 and not len(matches.original)
