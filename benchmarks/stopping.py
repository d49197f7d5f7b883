"""How long a run goes on after Ctrl-C or SIGTERM, at random moments of each long command.

    python benchmarks/stopping.py [--records 100000] [--moments 20] [--seed 1] [COMMAND ...]

Each command runs once undisturbed. Then it is started again for every moment, and half of the runs get Ctrl-C, as all
processes of a terminal do, the others SIGTERM. A run must end within five seconds, with exit code 5 and a sentence. One
that ends by itself before its moment counts as done. Exits with 1 if a run took longer or had another code.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

LONGEST = 5.0
CVPL = [sys.executable, "-m", "cvpl"]
MANIFEST = """
name: stopping
title: Simulated people
source: simulated
licence: none
original: original.parquet
control: {{file: control.parquet}}
{config}
releases:
  low: {{file: low.csv, mechanism: noise, family: perturbation}}
  high: {{file: high.csv, mechanism: noise, family: perturbation}}
"""


def made(folder: Path, records: int) -> dict[str, list[str]]:
    """The calls of all commands, on tables that are made in a folder."""
    original, control, config = folder / "original.parquet", folder / "control.parquet", folder / "audit.yaml"
    for file, seed in ((original, "1"), (control, "2")):
        simulated = ["simulate", str(file), "--records", str(records), "--seed", seed]
        subprocess.run([*CVPL, *simulated, "--overwrite"], check=True, capture_output=True)
    protect = ["protect", str(original), "--config", str(config), "--method", "perturbation", "--strength"]
    for level in ("low", "high"):
        subprocess.run([*CVPL, *protect, level, "--out", str(folder)], check=True, capture_output=True)
        (folder / f"perturbation_{level}.csv").rename(folder / f"{level}.csv")
    low, high = str(folder / "low.csv"), str(folder / "high.csv")
    (folder / "benchmark.yaml").write_text(MANIFEST.format(config=config.read_text()))
    held = ["--config", str(config), "--control", str(control)]
    return {
        "audit": ["audit", str(original), low, *held],
        "compare": ["compare", str(original), low, high, *held],
        "surface": ["surface", str(original), "--mechanism", "perturbation", *held],
        "benchmark": ["benchmark", str(folder / "benchmark.yaml")],
        "reproduce": ["reproduce", "--quick"],
    }


def stopped(call: list[str], wait: float, number: int) -> tuple[float | None, int, str]:
    """The seconds that a run goes on after a signal, its exit code and its last line; None if it ended before."""
    with subprocess.Popen(
        [*CVPL, *call], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            began = time.perf_counter()
            if number % 2:
                process.send_signal(signal.SIGTERM)
            else:
                os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate()
            return time.perf_counter() - began, process.returncode, " | ".join(said.strip().splitlines()[-2:])
        return None, process.returncode, ""


def main() -> None:
    """Measure and print a table."""
    # A shell ignores Ctrl-C for what runs in its background, and the commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=["audit"])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, failed = random.Random(asked.seed), False  # noqa: S311 - moments, not secrets
    with tempfile.TemporaryDirectory() as folder:
        calls = made(Path(folder), asked.records)
        for name in asked.commands:
            out = Path(folder) / "out"
            began = time.perf_counter()
            subprocess.run([*CVPL, *calls[name], "--out", str(out)], check=True, capture_output=True)
            lasts = time.perf_counter() - began
            print(f"{name}: {lasts:.1f} s undisturbed")
            times, codes = [], Counter()
            for number in range(asked.moments):
                moment = lasts * rng.random()
                place = Path(folder) / f"out_{name}_{number}"
                seconds, code, said = stopped([*calls[name], "--out", str(place)], moment, number)
                codes[code] += 1
                if seconds is None:
                    continue
                times.append(seconds)
                failed = failed or code != 5 or seconds > LONGEST
                print(f"  after {moment:6.1f} s: {seconds:5.2f} s, exit code {code}: {said}", flush=True)
            print(f"{name}: longest {max(times, default=0.0):.2f} s of {len(times)}, exit codes {dict(codes)}\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
