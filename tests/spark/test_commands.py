"""The command in a cluster: what it prints and writes, and how it stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cvpl.workflows.made_tables import CONFIG
from examples import examples_apart
from same_results import tables

PATIENCE = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three tables as Parquet, and a configuration."""
    found = tmp_path_factory.mktemp("command")
    for role, frame in tables(4).items():
        frame.to_parquet(found / f"{role}.parquet")
    (found / "audit.yaml").write_text(CONFIG, encoding="utf-8")
    return found


def command(folder, *more):
    """The call of an audit on this machine's own Spark."""
    files = [str(folder / f"{role}.parquet") for role in ("original", "protected")]
    options = ["--config", str(folder / "audit.yaml"), "--control", str(folder / "control.parquet")]
    spark = ["--engine", "spark", "--master", "local[2]"]
    return [sys.executable, "-m", "cvpl", "audit", *files, *options, *spark, *more]


def started(call, **options):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_PYTHON", None)
    return subprocess.Popen(call, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # noqa: S603 - ours


def test_the_command_writes_the_result_and_the_page(folder, tmp_path):
    process = started(command(folder, "--attackers", "paper", "--out", str(tmp_path / "out")))
    printed, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "can be linked" in printed
    result = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert result["inputs"]["original"]["name"] == "original.parquet" and result["inputs"]["original"]["sha256"] is None
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("sign", "after"), [(signal.SIGINT, 6), (signal.SIGTERM, 6), (signal.SIGTERM, 0.2)][:: examples_apart(2)]
)
def test_a_command_that_is_stopped_ends_its_jobs(folder, tmp_path, sign, after):
    """Exit code 5 and a sentence; nothing is written, and nothing of Spark goes on, even if it had just begun."""
    process = started(command(folder, "--out", str(tmp_path / "out")), start_new_session=True)
    java = wait_for_java(process)
    time.sleep(after)
    assert process.poll() is None
    process.send_signal(sign)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5, said
    assert not (tmp_path / "out").exists()
    deadline = time.monotonic() + PATIENCE
    while running(java) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not running(java)


def wait_for_java(process):
    """The number of the process that runs Spark, once it is there."""
    while process.poll() is None:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                name, rest = (place / "stat").read_text().split(" (", 1)[1].rsplit(") ", 1)
            except OSError:
                continue
            if name == "java" and int(rest.split()[1]) == process.pid:
                return int(place.name)
        time.sleep(0.2)
    raise AssertionError(process.stderr.read())


def running(number):
    """Whether a process goes on; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False
