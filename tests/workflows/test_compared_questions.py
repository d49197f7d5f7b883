"""Formal criteria and singling out of several releases: in a comparison and in a benchmark."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import cvpl
from benchmark_folders import HEAD, write
from classes_of_people import SETTINGS as CLASSES
from classes_of_people import generalized as in_decades
from classes_of_people import people as classes_of_people
from cvpl.reports.page import report_page
from cvpl.reports.terminal import show
from release_tables import EXACT, SETTINGS, audited, made_tables  # noqa: F401 - the fixture `tables`


@pytest.fixture(scope="module")
def compared(tables):
    original, released, control = tables
    releases = {"decades": released, "copy": original}
    policies = [{"figure": "k", "min": 2}, {"figure": "singled_out_rate", "max": 1.0}]
    return cvpl.compare(original, releases, SETTINGS | EXACT | {"policy": policies}, control=control)


def release(result, name):
    return next(item for item in result.releases if item.name == name)


def test_each_release_has_the_criteria_of_its_audit(tables, compared):
    alone = audited(tables, EXACT)
    found = release(compared, "decades")
    assert found.criteria == alone.criteria
    assert found.singled_out == alone.singling_out.rate
    assert release(compared, "copy").criteria.k == 1


def test_the_promise_of_k_is_tested_for_each_release(compared):
    """A copy has k = 1, which promises nothing. Of two releases with k = 20, the one that keeps pay contradicts it."""
    assert release(compared, "copy").one_over_k == "promises_nothing"
    original, control = classes_of_people(1), classes_of_people(2, 1000)
    kept = in_decades(original)
    shuffled = kept.assign(pay=np.random.default_rng(5).permutation(kept.pay))
    found = cvpl.compare(original, {"kept": kept, "shuffled": shuffled}, CLASSES | EXACT, control=control)
    assert {item.criteria.k for item in found.releases} == {20}
    assert release(found, "kept").one_over_k == "contradicted"
    assert release(found, "kept").best_candidate.low > 0.9
    assert release(found, "shuffled").one_over_k == "not_contradicted"
    assert release(found, "shuffled").best_candidate.high < 1 / 20


def test_policies_on_figures_of_the_release_are_judged(tables, compared):
    """The copy has unique people, and so fails k; a largest rate of 1 is met by any release with an upper end."""
    for name in ("decades", "copy"):
        found = {policy.figure: policy for policy in release(compared, name).policies}
        assert found["k"].value == release(compared, name).criteria.k
        assert found["k"].met == (release(compared, name).criteria.k >= 2)
        assert found["singled_out_rate"].value == release(compared, name).singled_out.high


def test_singling_out_can_be_left_out(tables):
    original, released, control = tables
    found = cvpl.compare(original, {"decades": released}, SETTINGS | {"singling_out": False}, control=control)
    assert found.releases[0].singled_out is None
    assert found.releases[0].criteria is not None


def test_the_page_and_the_terminal_show_them(compared):
    screen = io.StringIO()
    show(compared, Console(width=140, file=screen), details=True)
    for output in (report_page(compared), screen.getvalue()):
        assert "Formal criteria and singling out" in output
        assert "best candidate right" in output


@pytest.fixture(scope="module")
def benchmarked(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    for name, table in zip(("original", "decades", "control"), tables, strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)
    content = {
        "name": "people",
        **HEAD,
        "control": {"file": "control.csv"},
        **SETTINGS,
        **EXACT,
        "releases": {"decades": {"file": "decades.csv", "mechanism": "decades", "family": "other"}},
    }
    return cvpl.benchmark([write(folder, content)])


def test_a_row_of_a_benchmark_has_the_criteria_of_its_audit(tables, benchmarked):
    alone = audited(tables, EXACT)
    (row,) = benchmarked.rows
    assert (row.criteria.k, row.criteria.unique) == (alone.criteria.k, alone.criteria.unique)
    assert row.criteria.average_class_risk == alone.criteria.risk.prosecutor_average
    assert row.criteria.least_l == min(item.distinct_l for item in alone.criteria.sensitive)
    assert row.criteria.singled_out == alone.singling_out.rate.estimate
    statuses = [item.status for item in alone.compliance.rows]
    assert row.criteria.contradicted == statuses.count("contradicted")
    assert row.criteria.tested == statuses.count("contradicted") + statuses.count("not_contradicted")


def test_the_leaderboard_shows_them(benchmarked):
    page = report_page(benchmarked)
    assert "Formal criteria and singling out of people" in page
    assert "promises contradicted" in page
