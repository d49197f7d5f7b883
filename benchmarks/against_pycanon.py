"""k of k-anonymous releases, as pycanon counts it in an environment of its own, beside the recount of `cvpl protect`.

    python benchmarks/against_pycanon.py FOLDER ENVIRONMENTS

Simulated people of the paper's world, full-domain generalization and Mondrian, every k of the paper; k over age, gender
and region, and with the purchase time too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

from against_peers import environment
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.workflows.made_tables import CONFIG, FAMILIES, Protector

RECORDS = 10_000
KEYS = ("age", "gender", "region")
COUNT = """
import sys
import pandas
from pycanon import anonymity
table = pandas.read_csv(sys.argv[1], dtype=str).fillna("")
print(anonymity.k_anonymity(table, sys.argv[2].split(",")))
"""


def main(folder: Path, environments: Path) -> None:
    """Print a row for each release, and fail where the two disagree or k is not reached."""
    python = environment(environments, "pycanon", ["pycanon"])
    folder.mkdir(parents=True, exist_ok=True)
    people = folder / "people.csv"
    Touchpoints(records=RECORDS).draw(stream(42, "pycanon")).write(people)
    print("| columns | method | k asked | cvpl counts | pycanon counts |\n|---|---|---|---|---|")
    agree = True
    for columns in (KEYS, (*KEYS, "purchase_time")):
        config = {**yaml.safe_load(CONFIG), "protect": {"columns": list(columns)}}
        protector, _ = Protector.read(people, config)
        for method in ("k-anonymity", "mondrian"):
            for k in FAMILIES[method].usual:
                release = protector.release(method, k)
                path, counted = release.write_counted(folder / f"{release.name}.csv")
                call = [str(python), "-c", COUNT, str(path), ",".join(columns)]
                theirs = int(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
                agree &= theirs == counted >= int(k)
                print(f"| {', '.join(columns)} | {method} | {k} | {counted} | {theirs} |", flush=True)
    sys.exit(0 if agree else "the counts differ")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
