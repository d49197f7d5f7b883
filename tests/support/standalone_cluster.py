"""A Spark cluster of its own on this machine: one master and some workers, started from the PySpark package."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
_PATIENCE = 60


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind((HOST, 0))
        return int(opened.getsockname()[1])


@dataclass
class StandaloneCluster:
    """A running master, and its workers; `cores` and `memory` are those of each worker."""

    folder: Path
    cores: int = 1
    memory: str = "4g"
    port: int = field(default_factory=free_port)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of the master."""
        return f"spark://{HOST}:{self.port}"

    @property
    def workers(self) -> list[subprocess.Popen[bytes]]:
        """The processes of the workers."""
        return self.processes[1:]

    def start(self, workers: int) -> None:
        """Start the master and so many workers, and wait until the master listens."""
        self._run("master", "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(self.port))
        deadline = time.monotonic() + _PATIENCE
        while not _listens(self.port):
            if time.monotonic() > deadline:
                raise TimeoutError("the master of the cluster did not start")
            time.sleep(0.2)
        for number in range(workers):
            place = self.folder / f"worker_{number}"
            options = ["--cores", str(self.cores), "--memory", self.memory, "--work-dir", str(place), "--host", HOST]
            self._run(f"worker {number}", "org.apache.spark.deploy.worker.Worker", self.url, *options)

    def kill(self, number: int) -> None:
        """Kill a worker and its executors at once."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def stop(self) -> None:
        """End all processes."""
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()

    def _run(self, name: str, kind: str, *options: str) -> None:
        import pyspark  # noqa: PLC0415 - part of an extra

        home = Path(pyspark.__file__).parent
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        call = [str(home / "bin" / "spark-class"), kind, "--webui-port", "0", *options]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(call, env=environment, stdout=log, stderr=log, start_new_session=True)  # noqa: S603 - Spark's own script
            )


@contextmanager
def standalone_cluster(
    folder: Path, workers: int = 2, cores: int = 1, memory: str = "4g"
) -> Iterator[StandaloneCluster]:
    """A cluster that ends with the block."""
    (folder / "local").mkdir(parents=True, exist_ok=True)
    cluster = StandaloneCluster(folder, cores, memory)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()


def _listens(port: int) -> bool:
    with socket.socket() as opened:
        opened.settimeout(1)
        return opened.connect_ex((HOST, port)) == 0
