"""What holds for all tests."""

from __future__ import annotations

import os
import socket

import pytest

from browser import NO_BROWSER
from shared_data import NO_DATA

LONGEST = (
    "test_experiments",
    "test_cli",
    "test_real_data",
    "test_trial",
    "test_surface",
    "test_compare",
    "test_report_pages",
    "test_alignment",
    "test_compare_pages",
    "test_benchmark",
    "test_verdict_bench",
    "test_preflight",
    "test_benchmark_page",
    "test_column_store",
    "test_surface_page",
    "test_proposal",
    "test_reading",
    "test_planning",
    "test_real_releases",
    "test_verdict_against_oracle",
    "test_against_oracle",
    "test_report_markup",
    "test_identifying_columns",
    "test_python_calls",
    "test_datasets",
    "test_policy",
    "test_search_ways",
    "test_other_pages_markup",
    "test_utility",
    "test_report",
    "test_without_configuration",
    "test_rarity",
    "test_contradictions",
    "test_properties",
    "test_protecting",
    "test_result",
    "test_baselines",
    "test_levers",
    "test_subgroups",
    "test_fellegi_sunter",
    "test_ensemble",
    "test_simulation_distributions",
)
NO_SKIPS = "CVPL_NO_SKIPS"
"""Set where a browser and the shared data must be there: a test that is skipped for want of one then fails."""


def pytest_configure(config):
    """Each of several test processes stays on a core of its own, so that their threads do not get in each other's way.

    An audit then runs with one thread unless a test asks for more.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker.startswith("gw") and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(worker[2:]) % len(cores)]})


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
