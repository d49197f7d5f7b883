"""How long a newcomer waits: importing the package, and a whole audit of 10,000 x 10,000 records by the command line.

Run by `make bench`. Times are the best and the median of several runs, start of Python included; the machine is named,
and the time of an empty Python and of importing numpy in the same run stand beside them, to compare across machines.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5


def seconds(arguments: list[str]) -> tuple[float, float]:
    """Best and median wall time of a command, after one run that leaves its compiled modules behind."""
    user = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(arguments, check=True, capture_output=True, env=user)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True, env=user)
        times.append(time.perf_counter() - start)
    return min(times), statistics.median(times)


def main() -> None:
    """Measure and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        cvpl = str(Path(sys.executable).parent / "cvpl")
        subprocess.run([cvpl, "demo", "--out", folder, "--records", "10000"], check=True, capture_output=True)
        config = Path(folder) / "audit.yaml"
        config.write_text(config.read_text().replace("attacker: default", "attacker: paper"))
        tables = [str(Path(folder) / name) for name in ("original.csv", "released.csv")]
        audit = [cvpl, "audit", *tables, "--config", str(Path(folder) / "audit.yaml"), "--out", folder, "--overwrite"]
        control = ["--control", str(Path(folder) / "holdout.csv")]
        rows = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import numpy": [sys.executable, "-c", "import numpy"],
            "import cvpl": [sys.executable, "-c", "import cvpl"],
            "cvpl --help": [cvpl, "--help"],
            "cvpl audit, 10,000 x 10,000": audit,
            "cvpl audit, with 10,000 controls": audit + control,
        }
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; {RUNS} runs each\n")
        print("| command | best | median |")
        print("|---|---|---|")
        for name, arguments in rows.items():
            best, median = seconds(arguments)
            print(f"| {name} | {best:.2f} s | {median:.2f} s |")


if __name__ == "__main__":
    main()
