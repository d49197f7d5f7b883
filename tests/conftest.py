"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import socket
from functools import cache

import pytest
import typer.main
import vl_convert

import cvpl.reports.views  # noqa: F401 - results are shown in tests that import no public name
from browser import NO_BROWSER
from cvpl.evaluation import columns
from cvpl.evaluation.inference import models
from examples import TIMES
from few_trees import FEW
from shared_data import NO_DATA

LONGEST = (
    "test_report_pages",
    "test_cli",
    "test_column_store",
    "test_surface",
    "test_planted_cells",
    "test_benchmark",
    "test_inference_audit",
    "test_trial",
    "test_experiments",
    "test_compare",
    "test_proposal",
    "test_real_data",
    "test_compare_pages",
    "test_verdict_bench",
    "test_same_bytes",
    "test_report_print",
    "test_report",
    "test_killed",
    "test_compared_inference",
    "test_hostile_files",
    "test_compare_mechanisms",
    "test_python_calls",
    "test_summary",
    "test_without_configuration",
    "test_verdict_against_oracle",
    "test_against_oracle",
    "test_identifying_columns",
    "test_surface_page",
    "test_benchmark_page",
    "test_planning",
    "test_rarity",
    "test_datasets",
    "test_levers",
    "test_combined",
    "test_ensemble",
    "test_utility",
    "test_quick",
    "test_failing_writes",
    "test_trial_page",
    "test_alignment",
    "test_real_releases",
    "test_preflight",
    "test_all_pages",
    "test_report_markup",
    "test_contradictions",
    "test_reading",
    "test_containment",
    "test_result",
    "test_sheet",
    "test_small_counts",
    "test_trial_statistics",
)
ALL_TREES = (
    "test_inference",
    "test_inference_groups",
    "test_inference_parts",
    "test_planning",
    "test_work",
    "test_progress",
    "test_docs",
    "test_against_oracle",
    "test_combined_against_oracle",
    "test_verdict_against_oracle",
    "test_verdict_bench",
)
"""Files about attribute inference, about what takes time, and with figures from elsewhere: models have all trees."""
FEW_REPLICATES = (
    "test_benchmark",
    "test_combined",
    "test_compare",
    "test_compare_mechanisms",
    "test_compared_inference",
    "test_contradictions",
    "test_ensemble",
    "test_inference_audit",
    "test_levers",
    "test_outputs",
    "test_policy",
    "test_quick",
    "test_result",
    "test_screening",
    "test_small_counts",
    "test_surface",
    "test_without_configuration",
)
"""Files that audit in their own process and not for the spread of a column's share, which takes fifty replicates."""
NO_SKIPS = "CVPL_NO_SKIPS"
"""Set where a browser and the shared data must be there: a test that is skipped for want of one then fails."""


def pytest_configure(config):
    """Each of several test processes stays on a core of its own, so that their threads do not get in each other's way.

    An audit then runs with one thread unless a test asks for more. While tests are collected, nothing becomes garbage.
    """
    gc.disable()
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw") and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker[2:]) % len(cores)]})


def pytest_collection_finish():
    """What was loaded with the tests stays to the end, and is not searched for garbage during every test."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure():
    """At the end everything is let go, or extension modules would complain of what is left."""
    gc.unfreeze()
    gc.collect()


@pytest.fixture(autouse=True, scope="session")
def no_network():
    """A test that connects to another machine fails: the package opens no connection that was not asked for."""
    connect = socket.socket.connect

    def to_this_machine(opened, address):
        if opened.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise ConnectionRefusedError("no test may connect to another machine")
        return connect(opened, address)

    socket.socket.connect = to_this_machine
    yield
    socket.socket.connect = connect


@pytest.fixture(autouse=True, scope="session")
def drawings():
    """The pictures of charts by their specification: the same chart, in pages of many tests, is drawn once.

    A test of the drawing itself empties them first.
    """
    kept: dict[str, str] = {}
    draw = vl_convert.vegalite_to_svg

    def drawn(chart, **settings):
        if settings or not isinstance(chart, str):
            return draw(chart, **settings)
        if chart not in kept:
            kept[chart] = draw(chart)
        return kept[chart]

    vl_convert.vegalite_to_svg = drawn
    yield kept
    vl_convert.vegalite_to_svg = draw


@pytest.fixture(autouse=True, scope="session")
def command_line():
    """The commands and their options are put together once, as in a process of one command, not for each call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True, scope="module")
def few_trees(request):
    """Models have few trees in files where they are not the point; in a full run they have all everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        if TIMES == 1 and request.path.stem not in ALL_TREES:
            for name, number in FEW.items():
                patch.setattr(models, name, number)
        yield


@pytest.fixture(autouse=True, scope="module")
def few_replicates(request):
    """The spread of a column's share comes from few replicates where it is not the point, except in a full run."""
    with pytest.MonkeyPatch.context() as patch:
        if TIMES == 1 and request.path.stem in FEW_REPLICATES:
            patch.setattr(columns, "STABILITY_REPLICATES", 8)
        yield


@pytest.fixture
def no_models(monkeypatch):
    """Attribute inference without models, as where scikit-learn is not installed, for a test of the other attackers."""
    monkeypatch.setattr(models, "available", lambda: False)


def pytest_collection_modifyitems(items):
    """The files that take longest come first, so that no process is left with one of them at the end."""
    place = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A skip for want of a browser or of the shared data is a failure where nothing may be missing."""
    report = yield
    if report.skipped and os.environ.get(NO_SKIPS):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if NO_BROWSER in reason or NO_DATA in reason:
            report.outcome, report.longrepr = "failed", f"{reason}, and {NO_SKIPS} is set"
    return report
