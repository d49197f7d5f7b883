"""Rows that belong together: households, accounts, people with several rows."""

from __future__ import annotations

import numpy as np
import pytest

import cvpl
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.evaluation_only import IdentityKeys, joined_codes
from cvpl.tables.pair import read_inputs

SPECS = (ColumnSpec("age", "attribute", "numeric"),)


def read(tmp_path, original, control=None, **settings):
    """Groups of the given lines (home, account, person, age); the release has one row."""
    for name, lines in (("o", original), ("p", ["h,a,p,1"]), ("c", control)):
        if lines is not None:
            (tmp_path / f"{name}.csv").write_text("\n".join(["home,account,person,age", *lines]) + "\n")
    held_back = None if control is None else tmp_path / "c.csv"
    found = read_inputs(tmp_path / "o.csv", tmp_path / "p.csv", SPECS, control=held_back, **settings)
    return found.evaluation.groups.codes


def test_equal_values_make_a_group_across_tables(tmp_path):
    found = read(tmp_path, ["x,,1,1", "y,,2,2", "x,,3,3"], ["y,,4,4", "z,,5,5"], groups=["home"])
    assert {table: codes.tolist() for table, codes in found.items()} == {"original": [0, 1, 0], "control": [1, 2]}


def test_a_missing_value_is_a_group_of_its_own(tmp_path):
    found = read(tmp_path, [",,1,1", ",,2,2", "x,,3,3", "x,,4,4"], groups=["home"])
    assert found["original"].tolist() == [0, 1, 2, 2]


def test_groups_of_several_columns_are_joined(tmp_path):
    """Rows 0 and 1 share a home, 1 and 2 an account: all three belong together."""
    found = read(tmp_path, ["x,a,1,1", "x,b,2,2", "y,b,3,3", "z,c,4,4"], groups=["home", "account"])
    assert found["original"].tolist() == [0, 0, 0, 1]


def test_the_rows_of_one_person_belong_together(tmp_path):
    keys = IdentityKeys("person", "person")
    assert read(tmp_path, [",,7,1", ",,8,2", ",,7,3"], identity=keys)["original"].tolist() == [0, 1, 0]


def test_people_of_the_control_who_are_numbered_like_originals_are_others(tmp_path):
    keys = IdentityKeys("person", "person")
    assert read(tmp_path, [",,1,1", ",,2,2"], [",,1,3", ",,2,4"], identity=keys) is None
    found = read(tmp_path, [",,1,1", ",,1,2"], [",,1,3", ",,1,4"], identity=keys)
    assert {table: codes.tolist() for table, codes in found.items()} == {"original": [0, 0], "control": [1, 1]}


def test_without_anything_that_binds_there_are_no_groups(tmp_path):
    keys = IdentityKeys("person", "person")
    assert read(tmp_path, ["x,,1,1", "y,,2,2"], identity=keys, groups=["home"]) is None
    assert read(tmp_path, ["x,,1,1", "x,,2,2"]) is None


def test_a_group_column_that_no_table_has_binds_nothing(tmp_path):
    assert read(tmp_path, ["x,,1,1", "x,,2,2"], groups=["ship"]) is None


def test_a_long_chain_is_one_group():
    """Record i shares one code with i - 1 and another with i + 1."""
    place = np.arange(1001)
    assert joined_codes([place // 2, (place + 1) // 2]).max() == 0
    assert joined_codes([place // 2, place // 2]).max() == 500


@pytest.mark.parametrize("role", ["group", "ignore"])
def test_households_that_stand_or_fall_together_widen_the_interval(tmp_path, role):
    """100 households of 5 alike rows, half of them released: the rate is as uncertain as that of 100 people."""
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(100), 5)
    place = rng.normal(size=(100, 3))[home] + 0.01 * rng.normal(size=(500, 3))
    kept = home < 50
    for name, rows in (("original", np.full(500, True)), ("released", kept)):
        lines = [f"{h},{a},{b},{c}" for h, (a, b, c) in zip(home[rows], place[rows], strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["home,a,b,c", *lines]) + "\n")
    columns = {"home": {"role": role}} | {name: {"role": "attribute", "type": "numeric"} for name in "abc"}
    attacker = {"blocking": "none", "projection": "identity"}
    config = {"columns": columns, "attacker": attacker, "threshold": 0.999}
    found = cvpl.audit(tmp_path / "original.csv", tmp_path / "released.csv", config).linkage_rate
    width = found.high - found.low
    assert found.method == ("groups" if role == "group" else "people")
    assert (width > 0.17) == (role == "group")
