"""Releases that hide people: those that once comforted, small, against an oracle that knows the change."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("blinder_bench")
        sys.modules.pop("blinder_bench", None)


def line_of(bench, name, kind, planted):
    mechanism = next(one for one in bench.MECHANISMS if one.name == name)
    return bench.run(bench.Cell(mechanism, kind, 300, planted))


def test_the_design_is_fixed_and_has_every_kind_of_release(bench):
    cells = bench.design()
    assert len(cells) == len({cell.key for cell in cells}) == 490
    assert {cell.people for cell in cells} == {300, 1_000, 3_000}
    assert {cell.planted for cell in cells} == {0, 0.03, 0.10, 0.25, 1}
    assert len({cell.mechanism.name for cell in cells}) == 36


@pytest.mark.parametrize(
    ("name", "kind", "planted"),
    [
        ("units", "continuous", 1.0),
        ("logged", "continuous", 1.0),
        ("mirrored", "continuous", 1.0),
        ("ranked", "continuous", 1.0),
        ("shifted", "mixed", 1.0),
        ("smote", "continuous", 1.0),
        ("averaged", "continuous", 1.0),
        ("copula", "continuous", 1.0),
        ("redacted", "text", 1.0),
        ("hashed", "mixed", 1.0),
    ],
)
def test_people_who_are_hidden_are_linked_or_the_gate_stays_closed(bench, name, kind, planted):
    line = line_of(bench, name, kind, planted)
    assert line["oracle"] >= bench.LINKABLE
    assert not line["met"]
    assert line["verdict"] == ("undetermined" if name == "hashed" else "linkable")
    assert line["risk"][2] >= line["oracle"] - bench.BELOW


@pytest.mark.parametrize("name", ["units", "mirrored"])
def test_strangers_through_the_same_change_are_not_linked(bench, name):
    assert line_of(bench, name, "continuous", 0.0)["verdict"] != "linkable"


def test_a_healthy_release_of_strangers_is_told(bench):
    assert line_of(bench, "noise", "mixed", 0.0)["verdict"] == "indistinguishable_from_zero"
