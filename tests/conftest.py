"""What holds for all tests."""

from __future__ import annotations

import os

import pytest

from browser import NO_BROWSER
from shared_data import NO_DATA

LONGEST = (
    "test_verdict_bench",
    "test_experiments",
    "test_cli",
    "test_real_data",
    "test_surface",
    "test_compare",
    "test_report_pages",
    "test_alignment",
    "test_compare_pages",
    "test_benchmark",
    "test_preflight",
    "test_column_store",
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
