"""A Spark session for all tests of this folder; without PySpark none of them is collected."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def session():
    """A session on this machine."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - part of an extra

    os.environ["PYSPARK_PYTHON"] = sys.executable
    found = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    found.sparkContext.setLogLevel("ERROR")
    yield found
    found.stop()
