"""Trials of a real synthesizer, from the command line: its stated epsilon beside the bound that the attackers reach.

    python benchmarks/real_synthesizer.py DATA FOLDER ENVIRONMENTS [PEOPLE]

The synthesizer is DataSynthesizer (MIT licence), a Bayesian network with differential privacy (PrivBayes), in an
environment of its own (`peers/data_synthesizer.py`). DATA holds the Adult tables of a published study; the first 800
people of `trn`, or PEOPLE, are tried in nine columns. For each epsilon, and without noise, `cvpl trial` runs 8 rounds
with three attackers. The results are written to FOLDER, one folder each, and are not computed again; an interrupted run
resumes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import duckdb

from against_peers import environment

NUMBERS = ("age", "hours-per-week")
LABELS = ("workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
EPSILONS = (1.0, 10.0, 100.0)
NO_NOISE = 0.0
PEOPLE, ROUNDS = 800, 8
AT = 0.05
"""The false-positive rate at which the power is shown."""
SCRIPT = Path(__file__).parent / "peers" / "data_synthesizer.py"
NEEDS = ["DataSynthesizer", "pandas"]
ATTACKERS = {
    "nearest": {
        "alignment": "release",
        "blocking": "none",
        "projection": "identity",
        "similarity": "euclidean",
        "threshold": "false_rate",
    },
    "rarity": {"alignment": "release", "blocking": "none", "similarity": "rarity"},
    "rarity_reference": {
        "alignment": "release",
        "blocking": "none",
        "similarity": "rarity",
        "evidence": "reference",
    },
}


def prepare(data: Path, folder: Path, people: int) -> tuple[Path, Path]:
    """The table to try, and the configuration of its trials."""
    folder.mkdir(parents=True, exist_ok=True)
    table, config = folder / "people.csv", folder / "audit.yaml"
    columns = ", ".join(f'"{name}"' for name in (*NUMBERS, *LABELS))
    duckdb.connect().execute(
        f"COPY (SELECT {columns} FROM read_csv('{data / 'trn.csv.gz'}') LIMIT {people}) TO '{table}' (HEADER)"
    )
    kinds = dict.fromkeys(NUMBERS, "numeric") | dict.fromkeys(LABELS, "category")
    declared = {name: {"role": "quasi_identifier", "type": kind} for name, kind in kinds.items()}
    # The table is public, so its figures may be exact. YAML reads JSON.
    settings = {"columns": declared, "attackers": ATTACKERS, "seed": 1, "report": {"suppress_below": 1}}
    config.write_text(json.dumps(settings))
    return table, config


def tried(table: Path, config: Path, python: Path, epsilon: float, out: Path) -> dict:
    """The result of one trial by the command line; one that is there already is read."""
    file = out / "trial.json"
    if not file.exists():
        mechanism = f"'{python}' '{SCRIPT}' {{input}} {{output}} {{seed}} {epsilon:g}"
        stated = ["--bound"] if epsilon == NO_NOISE else ["--epsilon", f"{epsilon:g}"]
        called = [sys.executable, "-m", "cvpl", "trial", str(table), "--mechanism", mechanism, *stated]
        called += ["--rounds", str(ROUNDS), "--config", str(config), "--timeout", "600", "--out", str(out)]
        start = time.perf_counter()
        subprocess.run(called, check=True, stdout=subprocess.DEVNULL)
        print(f"    epsilon {epsilon:g}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return json.loads(file.read_text())


def main(data: Path, folder: Path, environments: Path, people: int) -> None:
    """Print a row for each epsilon."""
    python = environment(environments, "DataSynthesizer", NEEDS).absolute()
    folder = folder / f"{people}_people"
    table, config = prepare(data, folder, people)
    print("| stated ε | lower bound on ε | largest power at 5% that ε allows | power at 5%, 95% interval | alarm |")
    print("|---|---|---|---|---|")
    for epsilon in (*EPSILONS, NO_NOISE):
        name = "no_noise" if epsilon == NO_NOISE else f"epsilon_{epsilon:g}"
        found = tried(table, config, python, epsilon, folder / name)
        budget = found["budget"]
        power = next(item for item in found["power"] if item["false_rate"] == AT)
        allowed = next((item["allowed"] for item in budget["allowed"] if item["false_rate"] == AT), None)
        cells = [
            "none: no noise" if epsilon == NO_NOISE else f"{epsilon:g}",
            "-" if budget["lower_bound"] is None else f"{budget['lower_bound']:.2f}",
            "-" if allowed is None else f"{allowed:.1%}",
            f"{power['power']:.1%} ({power['low']:.1%} to {power['high']:.1%})",
            {True: "yes", False: "no", None: "-"}[budget["alarm"]],
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), int(sys.argv[4]) if len(sys.argv) > 4 else PEOPLE)
