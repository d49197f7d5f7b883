"""What a command loads before it is needed: nothing of Spark, no chart and no report."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATE = ("cvpl.spark", "cvpl.charts", "cvpl.reports", "cvpl.answers", "pyspark", "altair", "vl_convert")
TABLES = ["missing.csv", "missing.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["audit", "--help"],
        ["audit", *TABLES],
        ["audit", *TABLES, "--config", "missing.yaml", "--out", "out"],
        ["report", "missing"],
        ["diff", "missing", "missing"],
    ],
    ids=" ".join,
)
def test_help_and_a_failing_call_load_no_spark_module_no_chart_and_no_report(arguments, tmp_path):
    code = f"import sys; from cvpl.cli.main import run; run({arguments!r}); print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True, text=True)  # noqa: S603 - ours
    loaded = done.stdout.splitlines()[-1].split()
    assert loaded[0] == "LOADED" and "cvpl.cli.main" in loaded
    assert [name for name in loaded if name.startswith(LATE)] == []
