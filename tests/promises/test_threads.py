"""Audits in several threads of one process neither disturb each other nor leave a trace in it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import cvpl
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.search.machine import one_blas_thread
from cvpl.workflows.made_tables import CONFIG as DEMO

CONFIG = DEMO.replace("attacker: default", "attacker: paper")
BEFORE = 3
"""A number of BLAS threads that neither the limit nor a small machine has by itself."""
PATIENCE = 60


def blas_threads():
    """The numbers of threads of the BLAS libraries that have one for the whole process.

    One on OpenMP, such as that of FAISS, which another test may have loaded, has a number for each thread.
    """
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library.get("threading_layer") != "openmp"
    }


@pytest.fixture
def three_threads():
    import scipy.linalg  # noqa: F401, PLC0415 - its BLAS must be loaded before it is limited

    with threadpool_limits(limits=BEFORE, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads")
    people = Touchpoints(records=600).draw(np.random.default_rng(3))
    people.write(folder / "original.csv")
    Perturbation("medium").protect(people, np.random.default_rng(4)).write(folder / "released.csv")
    (folder / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    return folder / "original.csv", folder / "released.csv", folder / "audit.yaml"


@pytest.mark.usefixtures("three_threads")
def test_the_limit_holds_until_the_last_holder_leaves():
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {BEFORE}


@pytest.mark.usefixtures("three_threads")
def test_two_audits_that_overlap_have_the_figures_of_one_and_leave_the_threads_as_they_were(tables):
    alone = cvpl.audit(*tables).to_json()
    both_began, first_ended = threading.Barrier(2), threading.Event()
    seen = []

    def first():
        try:
            return cvpl.audit(*tables, on_preflight=lambda _: both_began.wait(PATIENCE)).to_json()
        finally:
            first_ended.set()

    def second():
        def listen(phase, share):
            # The attack is over, and the rest of the audit goes on after the other audit has ended.
            if phase == "self-linkage":
                first_ended.wait(PATIENCE)
                seen.append(blas_threads())

        return cvpl.audit(*tables, on_preflight=lambda _: both_began.wait(PATIENCE), progress=listen).to_json()

    with ThreadPoolExecutor(2) as pool:
        found = [future.result() for future in [pool.submit(first), pool.submit(second)]]
    assert found == [alone, alone]
    assert seen == [{1}]
    assert blas_threads() == {BEFORE}


def test_an_approximate_search_puts_back_the_threads_of_faiss(tables):
    pytest.importorskip("faiss")
    config = tables[2].with_name("ann.yaml")
    config.write_text(f"{CONFIG}\nsearch: {{threads: 1, ann: {{above: 30, nprobe: 1}}}}\n", encoding="utf-8")
    # In a process of its own: FAISS must be loaded by the search, when no limit knows of it.
    code = (
        "import sys, cvpl; exact = cvpl.audit(*sys.argv[1:]).search.exact; "
        "import faiss; print(exact, faiss.omp_get_max_threads())"
    )
    arguments = [sys.executable, "-c", code, *map(str, tables[:2]), str(config)]
    environment = os.environ | {"OMP_NUM_THREADS": str(BEFORE)}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.split() == ["False", str(BEFORE)]
