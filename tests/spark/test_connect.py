"""Spark Connect: the session is a client of a cluster that runs elsewhere, as on shared clusters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from both_engines import same_on_both, written
from cvpl.workflows.made_tables import CONFIG
from examples import examples_apart
from same_results import tables

PATIENCE = 300


@pytest.mark.parametrize("searches", ["shared", "in one task"][:: examples_apart(2)])
def test_audits_through_spark_connect(tmp_path, searches):
    """In a process of its own, since this one may have a session without a server."""
    call = [sys.executable, __file__, str(tmp_path), searches]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run(call, env=environment, text=True, capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603 - ours
    assert ended.returncode == 0, ended.stderr[-2000:]


def audited(folder, shared):
    """Run an audit in a session of a server that is started for it; the result is that of one machine."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - part of an extra

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    try:
        files = written(tables(4), Path(folder))
        frames = {role: session.read.parquet(str(file)) for role, file in files.items()}
        assert ".connect." in type(frames["original"]).__module__
        same_on_both(session, files, yaml.safe_load(CONFIG), frames=frames, shared=shared, attackers=["paper"])
    finally:
        session.stop()


if __name__ == "__main__":
    audited(sys.argv[1], sys.argv[2] == "shared")
