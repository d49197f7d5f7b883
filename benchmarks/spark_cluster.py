"""Audits in a Spark cluster on this machine, beside the same audits in one process: seconds, and peak memory.

    python benchmarks/spark_cluster.py FOLDER RECORDS [--control N] [--attacker default] [--workers 1 2] [--share]

The cluster has one master and as many workers as named, each with so many cores, and is started anew for each number
of workers. Tables are folders of Parquet files. With `--share` every search is shared by all tasks.
With `--no-process` nothing runs in one process.
Memory is the largest that a process of each kind had resident, as the system counts it (VmHWM), and how much of it was
its own and not pages of files, looked at once a second (RssAnon).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import parquet

import cvpl
import tables
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from standalone_cluster import HOST, standalone_cluster

PART = 250_000
KINDS = {
    "driver (Java)": "org.apache.spark.deploy.SparkSubmit",
    "executor (Java)": "CoarseGrainedExecutorBackend",
    "executor (Python)": "pyspark.daemon",
}


def make(folder: Path, records: int, controls: int) -> Path:
    """Originals, a lightly perturbed release and a control, in files of at most 250,000 people each."""
    place = folder / f"spark_{records}_{controls}"
    if (place / "done").exists():
        return place
    rng = np.random.default_rng(records)
    for role in ("original", "protected", "control"):
        (place / role).mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, records, PART)):
        people = Touchpoints(records=min(PART, records - start)).draw(rng)
        released = Perturbation("low").protect(people, rng)
        for role, part in (("original", people), ("protected", released)):
            _write(part, start, place / role / f"{number}.parquet")
    for number, start in enumerate(range(0, controls, PART)):
        others = Touchpoints(records=min(PART, controls - start)).draw(rng)
        _write(others, records + start, place / "control" / f"{number}.parquet")
    (place / "done").touch()
    return place


def _write(people: object, start: int, file: Path) -> None:
    """Write people whose numbers begin with `start`."""
    columns = people.to_columns()
    columns["person_id"] = [f"p{start + number}" for number in np.asarray(people.people)]
    pd.DataFrame(columns).to_parquet(file, index=False)


class PeakMemory(threading.Thread):
    """Watches the processes of this machine, and remembers the largest of each kind."""

    def __init__(self, kinds: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.kinds, self.over = kinds, threading.Event()
        self.peaks = dict.fromkeys(kinds, (0.0, 0.0))

    def run(self) -> None:
        """Look once a second."""
        while not self.over.wait(1.0):
            for process in Path("/proc").iterdir():
                if process.name.isdigit():
                    self._look(process)

    def _look(self, process: Path) -> None:
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            lines = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
            now = [int(lines[name].split()[0]) / 1e6 for name in ("VmHWM", "RssAnon")]
        except (OSError, KeyError):
            return
        for kind, word in self.kinds.items():
            if word in words:
                self.peaks[kind] = tuple(max(pair) for pair in zip(self.peaks[kind], now, strict=True))


def one(place: Path, given: argparse.Namespace) -> None:
    """One audit in this process or by a cluster; prints the seconds of each step and the peak memory as JSON."""
    config, master = place / f"{given.attacker}.yaml", given.master
    config.write_text(tables.CONFIG.replace("attacker: paper", f"attacker: {given.attacker}"), encoding="utf-8")
    files = {role: str(place / role) for role in ("original", "protected", "control")}
    if master is not None:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - only for a cluster

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(master).config("spark.executor.memory", "4g")
        builder = (
            builder.config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "16")
        )
        if given.share:
            builder = builder.config("spark.cvpl.shareSearches", "all")
        builder.getOrCreate().sparkContext.setLogLevel("ERROR")
    else:
        files = {role: _joined(Path(file)) for role, file in files.items()}
    steps: list[tuple[str, float]] = [("start", time.perf_counter())]

    def note(phase: str, share: float | None) -> None:
        name = phase.split(" (", maxsplit=1)[0]
        if name != steps[-1][0]:
            steps.append((name, time.perf_counter()))

    began = time.perf_counter()
    result = cvpl.audit(
        files["original"],
        files["protected"],
        str(config),
        control=files["control"],
        engine=None if master is None else "spark",
        attackers=None if given.attackers is None else given.attackers.split(","),
        memory=given.memory,
        progress=note,
    )
    seconds: dict[str, float] = {}
    for (phase, start), (_, end) in zip(steps, [*steps[1:], ("end", time.perf_counter())], strict=True):
        seconds[phase] = round(seconds.get(phase, 0.0) + end - start, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    found = {"seconds": time.perf_counter() - began, "steps": seconds, "peak": peak, "risk": result.risk.estimate}
    print(json.dumps(found))


def _joined(folder: Path) -> str:
    """The files of a table as one, which a single process reads."""
    whole = folder.with_suffix(".parquet")
    if not whole.exists():
        parts = sorted(folder.glob("*.parquet"), key=lambda file: int(file.stem))
        with parquet.ParquetWriter(whole, parquet.read_schema(parts[0])) as writer:
            for part in parts:
                writer.write_table(parquet.read_table(part))
    return str(whole)


def run(place: Path, given: argparse.Namespace, master: str | None) -> dict[str, object]:
    """One audit in a process of its own."""
    call = [sys.executable, __file__, str(given.folder), str(given.records), "--one", str(place)]
    call += ["--attacker", given.attacker]
    call += [] if given.attackers is None else ["--attackers", given.attackers]
    call += [] if given.memory is None else ["--memory", str(given.memory)]
    call += [] if master is None else ["--master", master]
    call += ["--share"] if given.share else []
    watched = PeakMemory({**KINDS, "driver (Python)": "--master"} if master else {})
    watched.start()
    environment = os.environ | {"SPARK_LOCAL_IP": HOST, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(call, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    watched.over.set()
    return json.loads(done.stdout.splitlines()[-1]) | {
        "peaks": {kind: [round(size, 2) for size in sizes] for kind, sizes in watched.peaks.items()}
    }


def main() -> None:
    """Print a row for one process and for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("records", type=int)
    parser.add_argument("--control", type=int, default=None)
    parser.add_argument("--attacker", default="paper")
    parser.add_argument("--attackers", default=None)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--memory", type=int, default=None)
    parser.add_argument("--share", action="store_true")
    parser.add_argument("--no-process", action="store_true")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        one(given.one, given)
        return
    place = make(given.folder, given.records, given.control or given.records)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| where | seconds | steps | largest process of each kind, GB |\n|---|---|---|---|")
    if not given.no_process:
        found = run(place, given, None)
        print(f"| one process | {found['seconds']:.1f} | {found['steps']} | {found['peak']:.2f} |", flush=True)
    for workers in given.workers:
        with (
            tempfile.TemporaryDirectory(dir=given.folder) as folder,
            standalone_cluster(Path(folder), workers, given.cores, "5g") as cluster,
        ):
            found = run(place, given, cluster.url)
        print(
            f"| {workers} workers of {given.cores} | {found['seconds']:.1f} | {found['steps']} | {found['peaks']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
