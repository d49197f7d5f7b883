"""A cluster of one master and two workers: what is lost on the way changes nothing."""

from __future__ import annotations

import json
import os
import sys

import pytest
import yaml

import cvpl
from both_engines import written
from cvpl.workflows.made_tables import CONFIG
from examples import TIMES
from same_results import differences, tables
from standalone_cluster import HOST, standalone_cluster

ATTACKERS = ["paper", "unblocked", "rarity_reference"] if TIMES > 1 else ["paper"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The tables of an audit as Parquet, by role."""
    files = written(tables(8), tmp_path_factory.mktemp("tables"))
    return {role: str(file) for role, file in files.items()}


@pytest.fixture(scope="module")
def expected(files):
    """The result of one machine."""
    return figures(audited(files["original"], files["protected"], files["control"]))


@pytest.fixture
def cluster(tmp_path):
    """Two workers of one core each, and a session on them in which every search is shared."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - part of an extra

    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()
    os.environ["PYSPARK_PYTHON"], os.environ["SPARK_LOCAL_IP"] = sys.executable, HOST
    with standalone_cluster(tmp_path, memory="1g") as found:
        session = (
            SparkSession.builder.master(found.url)
            .config("spark.executor.memory", "700m")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.cvpl.shareSearches", "all")
            .config("spark.cvpl.rowsPerTask", "150")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        try:
            yield found, session
        finally:
            session.stop()


def audited(original, protected, control, **options):
    config = yaml.safe_load(CONFIG)
    return cvpl.audit(original, protected, config, control=control, attackers=ATTACKERS, **options)


def figures(result):
    found = json.loads(result.to_json().replace(".parquet", ""))
    for table in found["inputs"].values():
        del table["sha256"]
    return found


def test_a_worker_that_is_killed_changes_nothing(cluster, files, expected):
    """One of two workers, with its part of the tables and of what was found, is gone in the middle of the searches."""
    started, _ = cluster
    phases = []

    def kill(phase, share):
        phases.append(phase)
        if phase == "searching" and phases.count(phase) == (len(ATTACKERS) + 1) // 2:
            started.kill(0)

    found = audited(files["original"], files["protected"], files["control"], engine="spark", progress=kill)
    assert started.workers[0].poll() is not None and started.workers[1].poll() is None
    assert differences(figures(found), expected) == []


def test_a_task_that_fails_twice_changes_nothing(cluster, files, expected):
    """Every task that reads the originals fails in its first two attempts."""
    _, session = cluster

    def fail_twice(batches):
        from pyspark import TaskContext  # noqa: PLC0415 - in a task

        if TaskContext.get().attemptNumber() < 2:
            raise RuntimeError("a task that fails")
        yield from batches

    original = session.read.parquet(files["original"])
    failing = original.mapInArrow(fail_twice, original.schema)
    protected, control = (session.read.parquet(files[role]) for role in ("protected", "control"))
    assert differences(figures(audited(failing, protected, control)), expected) == []
